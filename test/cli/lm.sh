#!/bin/sh
# lm.sh ATTEND JSON_LINES: language models: lines from several files, perplexity, continuation of lines, usage errors.
. "$(dirname "$0")/cases.sh"
json=$2
cd "$folder" || exit 1

# lines in which b follows a, c follows b and so on, mostly
awk 'BEGIN { srand(1); for (i = 0; i < 400; i++) { n = 1 + int(rand() * 6); c = int(rand() * 5); s = "";
    for (j = 0; j < n; j++) { s = s (j ? " " : "") substr("abcde", c + 1, 1); c = rand() < 0.8 ? (c + 1) % 5 : int(rand() * 5) }
    print s } }' >all.txt
head -300 all.txt >train.txt
tail -100 all.txt >valid.txt
head -150 train.txt >first.txt
tail -150 train.txt | gzip -c >second.txt.gz
paste train.txt train.txt >pairs.tsv
lm="--task language-model"
small="--tokens word --cell lstm --hidden 24 --embedding 16 --dropout 0 --batch-tokens 150 --learning-rate 0.01 --threads 2"

# training, resuming, info
expect 0 'data        300 lines, ' train $lm --train train.txt --valid valid.txt --model m $small --updates 120 --valid-every 40
case $printed in *"vocabulary  8"*"valid perplexity"*"done: m"*) ;; *) fail "output of train: $printed" ;; esac
case $printed in *pairs*) fail "train mentions pairs: $printed" ;; esac
expect 0 'resuming from update 120' train $lm --train train.txt --valid valid.txt --model m $small --updates 130 --valid-every 40
expect 0 'a language model, ' info m
expect 0 'task                 language-model' info m
expect 0 '"task": "language-model"' info m --json

# several files, gzip, standard input and a configuration file give the same lines
expect 0 done train $lm --train train.txt --model one $small --updates 20
expect 0 done train $lm --train first.txt second.txt.gz --model two $small --updates 20
expect 0 done train $lm --train first.txt --train second.txt.gz --model three $small --updates 20
"$attend" train $lm --train - --model four $small --updates 20 --quiet <train.txt || fail "standard input"
printf 'train first.txt second.txt.gz\ntask language-model\n' >settings
expect 0 done train --config settings --model five $small --updates 20
for other in two three four five; do same "one and $other" one $other; done
head -100 train.txt >a.txt && sed -n 101,200p train.txt >b.txt && tail -100 train.txt >c.txt
expect 0 done train $lm --train a.txt b.txt c.txt --model six $small --updates 20 # an odd number of files
same "one and six" one six

# other architectures
expect 0 'done: attends' train $lm --train train.txt --valid valid.txt --model attends --architecture transformer --tokens char --hidden 16 \
    --heads 2 --layers 1 --dropout 0 --batch-tokens 150 --learning-rate 0.005 --updates 60 --valid-every 30
expect 0 'per token' score --model attends --input valid.txt
printf 'a b\n\n' | "$attend" translate --model attends --seed 2 --quiet >drawn || fail "a transformer does not continue lines"
is "a transformer's lines" 2 "$(wc -l <drawn)"
head -1 drawn | grep -q '^a b' || fail "the line continued by a transformer: $(head -1 drawn)"
for option in "--alignment hard" --replace-unknown; do
    expect 2 'a language model' translate --model attends $option --input a.txt
done
expect 2 'it has no source to align with' align --model attends --input pairs.tsv
expect 0 'decoder self-attention' show --model attends 'a b'
expect 2 "belongs to architecture 'transformer', but this model is 'rnn'" train $lm --train train.txt --model bad --norm post
expect 2 'has no effect for a language model' train $lm --train train.txt --model bad --window-size 3

expect 0 'done: past' train $lm --train train.txt --valid valid.txt --model past --architecture lstmn $small --updates 30 --valid-every 30
expect 0 'per token' score --model past --input valid.txt
printf 'a b\n\n' | "$attend" translate --model past --seed 2 --quiet | head -1 | grep -q '^a b' || fail "an lstmn does not continue lines"

# sizes chosen from the amount of data
expect 0 'chosen      for 300 lines of text, ' train $lm --train train.txt --valid none --model sized --updates 1 --tokens char
case $printed in *"label-smoothing 0"*) ;; *) fail "sizes: $printed" ;; esac

# a TAB is text; empty lines are skipped and counted
printf 'a\tb c\n\n \nb c\td\n' >tabs.txt
expect 0 'data        2 lines (2 skipped' train $lm --train tabs.txt --model tabs --tokens char --hidden 8 --embedding 8 --updates 2
expect 0 'empty lines: 2' check $lm --train tabs.txt
expect 0 'lines with a TAB: 2' check $lm --train tabs.txt
expect 0 'training: 300 lines' check $lm --train train.txt --valid valid.txt
expect 0 'text: ' check $lm --train train.txt
expect 0 '"lines":300' check $lm --train train.txt --valid none --json
expect 3 'bytes.txt:2' check $lm --train "$(printf 'a\nb\377\n' >bytes.txt; echo bytes.txt)"
expect 3 'bytes.txt:2' train $lm --train bytes.txt --model bad --epochs 1

# pairs instead of lines, and lines instead of pairs
expect 2 'pairs.tsv is a file of pairs' train $lm --train pairs.tsv --model bad --epochs 1
expect 2 'pairs.tsv is a file of pairs' check $lm --train train.txt --valid pairs.tsv
expect 3 'monolingual lines are for the task language-model' train --train train.txt --model bad --epochs 1
expect 3 'monolingual lines are for the task language-model' train --train train.txt --model bad --epochs 1 --no-check
expect 2 'monolingual lines are for the task language-model' train --train a.txt b.txt c.txt --model bad --epochs 1
expect 2 'pairs.tsv is a file of pairs' score --model m --input pairs.tsv

# options that need a source or translations
expect 2 'makes none: use perplexity' train $lm --train train.txt --valid valid.txt --model bad --valid-metric bleu --epochs 1
for option in "--attention dot" "--context after" --bidirectional --shared-vocab; do
    expect 2 "${option% *} has no effect for a language model" train $lm --train train.txt --model bad --epochs 1 $option
done
for option in "--source-tokens char" "--target-vocab-size 9"; do
    expect 2 'a language model is trained on lines' train $lm --train train.txt --model bad --epochs 1 $option
done
expect 2 'a language model is trained on lines' train $lm --train train.txt --model bad --epochs 1 --preset g2p
expect 2 'it has no source to align with' align --model m --input pairs.tsv
expect 2 'is a language model and has no source' convert --model m --output x --shortlist pairs.tsv
expect 2 'm has no attention: there is nothing to show' show --model m 'a b'
for option in "--prefix a.txt" "--alignment hard" --shortlist --replace-unknown "--length-ratio 2" "--coverage-penalty 1"; do
    expect 2 'a language model' translate --model m $option --input a.txt
done
[ -e bad ] && fail "bad data made a model"

# scores: the perplexity per token, word, character and byte, counting line ends, agrees with the sum of the log-probabilities
"$attend" score --model m --input valid.txt >scores 2>summary || fail "score failed"
is "lines scored" 100 "$(wc -l <scores)"
by_hand() { # UNITS: exp(-sum / units)
    awk -v n="$1" '{ s += $1 } END { printf "%.3f", exp(-s / n) }' scores
}
units=$(($(wc -w <valid.txt) + 100))
bytes=$(wc -c <valid.txt) # a line feed is an end
printed=$(sed 's/.*perplexity \([0-9.]*\) per token, \([0-9.]*\) per word, \([0-9.]*\) per character, \([0-9.]*\) per byte.*/\1 \2 \3 \4/' summary |
    awk '{ printf "%.3f %.3f %.3f %.3f", $1, $2, $3, $4 }')
is "perplexity" "$(by_hand $units) $(by_hand $units) $(by_hand "$bytes") $(by_hand "$bytes")" "$printed"
awk -v p="$(by_hand $units)" 'BEGIN { exit !(p < 4.5) }' || fail "the perplexity is too high: $printed"
grep -q "100 lines, $units tokens (line ends included)" summary || fail "summary: $(cat summary)"
"$attend" score --model m --input valid.txt --json --per-token >scores.json 2>/dev/null || fail "score --json failed"
"$json" <scores.json >count || fail "score --json: not JSON"
tail -1 scores.json | grep -q '"word_perplexity": ' || fail "score --json: $(tail -1 scores.json)"
"$attend" score --model m --input a.txt b.txt 2>/dev/null | wc -l | grep -q '^ *200$' || fail "expected 200 lines of two files"
"$attend" score --model m --input valid.txt --threads 1 2>/dev/null | cmp -s - scores || fail "threads change scores"
printf 'a b\n\n\377\nz a\n' >odd.txt
expect 0 'line 2 is not scored: it is empty' score --model m --input odd.txt
case $printed in *"1 unknown tokens; 2 lines not scored"*) ;; *) fail "odd lines: $printed" ;; esac
expect 0 'per character' evaluate --model m --input valid.txt
is "evaluate" "$(by_hand $units)" "$(echo "$printed" | awk '/^perplexity/ { printf "%.3f", $2 }')"
"$attend" evaluate --model m --input valid.txt --json | "$json" >count || fail "evaluate --json: not JSON"
expect 2 'evaluated by perplexity' evaluate --model m --input valid.txt --metric bleu
expect 2 'a language model' evaluate --model m --source a.txt --reference a.txt

# continuation: one output line per input line, which it begins with; the result depends on the seed, not on threads
printf 'a b\n\nzebra a\n\377\nc\n' >begin
"$attend" translate --model m --seed 3 --quiet <begin >drawn || fail "translate failed"
is "lines" 5 "$(wc -l <drawn)"
sed -n 1p drawn | grep -q '^a b' && sed -n 3p drawn | grep -q '^zebra a' && sed -n 5p drawn | grep -q '^c' || fail "continued lines: $(cat drawn)"
"$attend" translate --model m --seed 3 --threads 1 --quiet <begin | cmp -s - drawn || fail "the samples depend on the number of threads"
"$attend" translate --model m --model m --seed 3 --quiet <begin | cmp -s - drawn || fail "an ensemble of a model with itself differs from the model"
"$attend" translate --model m --seed 4 --quiet <begin | cmp -s - drawn && fail "another seed gives the same samples"
"$attend" translate --model m --seed 3 --sample --quiet <begin | cmp -s - drawn || fail "sampling is not the default"
expect 0 'line 4 is not translated: it is not UTF-8' translate --model m --input begin
"$attend" translate --model m --beam 3 --quiet <begin >searched || fail "a beam"
"$attend" translate --model m --beam 3 --seed 4 --quiet <begin 2>printed && fail "a seed for a search"
grep -q -- '--seed requires --sample' printed || fail "a seed for a search: $(cat printed)"
expect 0 '0 ||| a b' translate --model m --n-best 3 --input begin --top-k 2 --temperature 0.5
"$attend" translate --model m --json --seed 3 --quiet <begin >drawn.json || fail "translate --json failed"
"$json" <drawn.json >count || fail "translate --json: not JSON"
whole=$(sed -n 1p drawn) && grep -q "\"text\": \"$whole\", \"continuation\": \"${whole#a b}\"" drawn.json || fail "JSON: $(head -1 drawn.json)"
awk 'BEGIN { for (i = 0; i < 300; i++) printf "a "; print "" }' >long
max=$(echo 'a b' | "$attend" translate --model m --length-extra 3 --n-best 100 --seed 1 |
    awk -F' [|][|][|] ' '{ n = split($2, w, " "); if (n > max) max = n } END { print max }')
is "words of a line of 2 with --length-extra 3" 5 "$max"
"$attend" translate --model m --length-extra 7 --input long | awk '{ exit !(NF >= 300 && NF <= 307) }' || fail "length-extra"
"$attend" translate --model m --max-length 4 --n-best 20 --input begin --quiet | awk -F' [|][|][|] ' 'split($2, w, " ") > 4 { exit 1 }' || fail "max-length"
"$attend" convert --model m --output m8 --precision int8 || fail "convert failed"
expect 0 'per token' score --model m8 --input valid.txt
expect 2 'cannot contain both a language model' translate --model m --model "$("$attend" train --train pairs.tsv --model t $small --updates 1 --quiet && echo t)" --input begin
exit $failed
