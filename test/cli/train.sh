#!/bin/sh
# train.sh ATTEND: attend train, translate, evaluate and check: exit codes, messages, signals, bad data.
. "$(dirname "$0")/cases.sh"
cd "$folder" || exit 1

# sequences of letters and their reversals
awk 'BEGIN { srand(1); for (i = 0; i < 300; i++) { s = ""; t = ""; n = 1 + int(rand() * 4);
    for (j = 0; j < n; j++) { w = substr("abcde", 1 + int(rand() * 5), 1); s = s (j ? " " : "") w; t = w (j ? " " : "") t }
    print s "\t" t } }' >pairs.tsv
head -20 pairs.tsv >valid.tsv
cut -f1 pairs.tsv >pairs.src
cut -f2 pairs.tsv >pairs.tgt
small="--tokens word --hidden 32 --embedding 16 --dropout 0 --batch-tokens 100 --learning-rate 0.005 --threads 2"

# usage
expect 2 '--train PAIRS is required' train --model m
expect 2 '--model FILE is required' train --train pairs.tsv
expect 2 "--model is given twice, the second time with 'n'" train --train pairs.tsv --model m --model n
expect 2 'did you mean --hidden?' train --train pairs.tsv --model m --hiden 3
expect 2 "did you mean 'additive'?" train --train pairs.tsv --model m --attention aditive
expect 2 'an integer' train --train pairs.tsv --model m --epochs 1.5
expect 2 'a size' train --train pairs.tsv --model m --memory lots
expect 2 "context 'after'" train --train pairs.tsv --model m --input-feeding --epochs 1
expect 0 'model options (docs/models.md)' train --help

# training, resuming with more updates, and refusing other options
expect 0 'done: m' train --train pairs.tsv --valid valid.tsv --model m $small --updates 150 --valid-metric exact --valid-every 50
expect 0 'resuming from update 150' train --train pairs.tsv --valid valid.tsv --model m $small --updates 160 --valid-metric exact --valid-every 50
expect 2 "hidden '32', and now it is '33'" train --train pairs.tsv --valid valid.tsv --model m $small --hidden 33 --updates 150
[ -s m.svg ] && [ -s m.log.jsonl ] || { echo "no plot or log"; failed=1; }
expect 0 'cell                 gru' info m

# the average of the last models, if it is better; running the command again changes nothing
expect 2 'average-last is 1; it must be 0 or from 2 to 1000' train --train pairs.tsv --valid valid.tsv --model a $small --updates 40 --average-last 1
expect 0 'the average of the last 3 models: perplexity' train --train pairs.tsv --valid valid.tsv --model a $small --learning-rate 0.1 --updates 41 \
    --save-every 10 --valid-every 20 --average-last 3
[ "$(echo a.update-*)" = 'a.update-30 a.update-40 a.update-41' ] || { echo "kept: $(echo a.update-*)"; failed=1; }
cp a a.before
expect 0 'the average of the last 3 models: perplexity' train --train pairs.tsv --valid valid.tsv --model a $small --learning-rate 0.1 --updates 41 \
    --save-every 10 --valid-every 20 --average-last 3
cmp -s a a.before || { echo "running a finished training again changed the model"; failed=1; }
echo another text >a.update-40
expect 2 'a.update-40 exists and is not a model' train --train pairs.tsv --valid valid.tsv --model a $small --learning-rate 0.1 \
    --updates 41 --save-every 10 --valid-every 20 --average-last 3
head -c 1000 a.update-30 >a.update-40
expect 4 'remove that file and run again to average without it' train --train pairs.tsv --valid valid.tsv --model a $small --learning-rate 0.1 \
    --updates 41 --save-every 10 --valid-every 20 --average-last 3
rm a.update-40
expect 0 'a.update-40 does not exist' train --train pairs.tsv --valid valid.tsv --model a $small --learning-rate 0.1 --updates 41 --save-every 10 \
    --valid-every 20 --average-last 3

# validation pairs that are held out: the default, a percentage, none; resuming keeps the parts
expect 0 '; validation 17 pairs, held out' train --train pairs.tsv --model held $small --updates 20
expect 0 'pairs, held out' train --train pairs.tsv --model held $small --updates 30
head -1 held.log.jsonl | grep -q '"held_out": true' || fail "the log does not say that pairs are held out: $(head -1 held.log.jsonl)"
expect 2 "held-out '0.1', and now it is '0'" train --train pairs.tsv --valid none --model held $small --updates 40
expect 0 'pairs, held out' train --train pairs.tsv --valid 20% --model fifth $small --updates 20
expect 0 'resuming from update 20' train --train pairs.tsv --model fifth $small --updates 21
is 'the pairs of 10% and of the default' "$("$attend" train --train pairs.tsv --valid 10% --model tenth $small --updates 1 2>&1 | grep '^data')" \
    "$("$attend" train --train pairs.tsv --model default $small --updates 1 2>&1 | grep '^data')"
expect 0 'data        300 pairs, ' train --train pairs.tsv --valid none --model whole $small --updates 20
expect 0 'resuming from update 20' train --train pairs.tsv --model whole $small --updates 21
case $printed in *validation*) fail "validation without validation pairs: $printed" ;; esac
head -10 pairs.tsv >few.tsv
expect 0 'validation  none: a tenth of the pairs is fewer than 5' train --train few.tsv --model few $small --updates 5
expect 2 'no such file; for 10 % of the training pairs write 10%' train --train pairs.tsv --valid 10 --model no
expect 2 "unexpected argument 'pairs.tsv'; give pairs with --train" train pairs.tsv --model no
for wrong in 0% 100% 101% -5%; do expect 2 'is not between 0% and 100%' train --train pairs.tsv --valid=$wrong --model no; done
expect 2 'cannot be combined with files' train --train pairs.tsv --valid 10% valid.tsv --model no
expect 2 'leaves none for validation' train --train few.tsv --valid 0.001% --model no
printf 'valid 20%%\n' >part
expect 0 'resuming from update 21' train --train pairs.tsv --config part --model fifth $small --updates 22
expect 0 'Nothing here prevents training' check --train pairs.tsv --valid 10%

# two files, gzip, a configuration file and standard input give the same data
gzip -c pairs.src >pairs.src.gz
printf 'tokens word # a comment\nhidden = 32\nembedding 16\ndropout 0\nbatch-tokens 100\nlearning-rate 0.005\n' >settings
expect 0 'done' train --train pairs.src.gz pairs.tgt --model two --config settings --updates 20
expect 0 'done' train --train pairs.tsv --model one $small --updates 20
"$attend" train --train - --model three $small --updates 20 --quiet <pairs.tsv || { echo "standard input"; failed=1; }
cmp -s one two && cmp -s one three || { echo "the model depends on how the data is given"; failed=1; }
expect 2 'hidden' train --train pairs.tsv --model x --config /dev/null --hidden 0

# one output line per input line
echo 'x-y' >gold.wrong
printf 'a b\n\n \nb c d\n\377\376\na\n' >lines
"$attend" translate --model m --quiet <lines >out || { echo "translate failed"; failed=1; }
[ "$(wc -l <out)" = 6 ] || { echo "6 lines in, $(wc -l <out) out"; failed=1; }
expect 0 'line 5 is not translated: it is not UTF-8' translate --model m --input lines
expect 0 '0 ||| ' translate --model m --input lines --n-best 3
expect 2 'is larger than --beam' translate --model m --n-best 9
expect 4 'plain text' translate --model pairs.tsv
expect 5 'none' translate --model none
expect 4 'source.vocabulary' translate --model "$2"
expect 0 'bleu' evaluate --hypothesis out --reference out --metric bleu
expect 3 'numbers of lines must be equal' evaluate --hypothesis out --reference pairs.src

# scores and links of reversed letters
printf 'a b c\tc b a\nd\td\n\tx\n' >three.tsv
expect 0 'a side is empty' score --model m --input three.tsv
expect 0 '"perplexity"' score --model m --input three.tsv --json --per-token
expect 0 '2-0 1-1 0-2' align --model m --input three.tsv
expect 0 '"weights": [[' align --model m --input three.tsv --alignment soft
printf '2-0 1-1 0-2\n0-0\n\n' >gold
expect 0 'AER 0.0000' align --model m --input three.tsv --gold gold
printf '1 3 1 S\n1 2 2 S\n1 1 3 P\n2 1 1 S\n' >gold.numbers
expect 0 'AER 0.0000' align --model m --input three.tsv --gold gold.numbers
expect 3 'gold.wrong:1' align --model m --input three.tsv --gold gold.wrong
expect 2 'PAIRS is required' align --model m

# bad data
: >empty.tsv
head -299 pairs.tgt >short.tgt
printf 'a\tb\n\tb\n' >side.tsv
printf 'a b\n' >notab.tsv
printf 'a\tb\tc\n' >tabs.tsv
printf 'a\t\377\n' >bytes.tsv
printf 'a\tb\0c\n' >nul.tsv
printf '\357\273\277a b\tb a\r\nb\tb' >windows.tsv
gzip -c pairs.tsv | head -c 300 >cut.tsv.gz
expect 3 '300' check --train pairs.src short.tgt
expect 3 '299' train --train pairs.src short.tgt --model bad --epochs 1
expect 3 'empty.tsv' check --train empty.tsv
expect 3 'notab.tsv:1' check --train notab.tsv
expect 3 'notab.tsv:1' train --train notab.tsv --model bad --epochs 1
expect 3 'tabs.tsv:1' check --train tabs.tsv
expect 3 'For lemma, form and features, write' check --train tabs.tsv
expect 3 'bytes.tsv:1' check --train bytes.tsv
expect 3 'bytes.tsv:1' train --train bytes.tsv --model bad --epochs 1
expect 3 'nul.tsv:1' check --train nul.tsv
expect 0 'side.tsv:2' check --train side.tsv
expect 0 'Nothing here prevents training' check --train windows.tsv
expect 3 'cut.tsv.gz' check --train cut.tsv.gz
expect 5 'none.tsv' check --train none.tsv
expect 0 '"findings"' check --train side.tsv --json
expect 0 'validation' check --train pairs.tsv --valid valid.tsv
[ -e bad ] && { echo "bad data gave a model"; failed=1; }

# signals
for signal in INT TERM; do
    "$attend" train --train pairs.tsv --model stopped$signal $small --valid none --updates 1000000 --quiet &
    child=$!
    sleep 1
    kill -s $signal $child
    wait $child
    got=$?
    wanted=$([ $signal = INT ] && echo 130 || echo 143)
    [ "$got" = "$wanted" ] || { echo "SIG$signal: exit status $got instead of $wanted"; failed=1; }
    expect 0 'parameters' info stopped$signal.checkpoint
done
exit $failed
