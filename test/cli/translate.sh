#!/bin/sh
# translate.sh ATTEND JSON_LINES INTERACTIVE: attend translate: every option, usage errors, formats, and one output line per input line.
json=$2 interactive=$3
. "$(dirname "$0")/cases.sh"
cd "$folder" || exit 1

# sequences of letters and their reversals; two models with the same vocabulary, one with another, one with BPE, one without attention
awk 'BEGIN { srand(1); for (i = 0; i < 400; i++) { s = ""; t = ""; n = 1 + int(rand() * 5);
    for (j = 0; j < n; j++) { w = substr("abcdefgh", 1 + int(rand() * 8), 1); s = s (j ? " " : "") w; t = w (j ? " " : "") t }
    print s "\t" t } }' >pairs.tsv
train() { # MODEL OPTIONS...
    model=$1
    shift
    "$attend" train --train pairs.tsv --model "$model" --hidden 32 --embedding 16 --dropout 0 --batch-tokens 100 --learning-rate 0.005 \
        --threads 2 --quiet --no-check "$@" || exit 1
}
train one --tokens word --vocab-size 9 --updates 400 --seed 1
train two --tokens word --vocab-size 9 --updates 400 --seed 2
train more --tokens word --updates 10
train bpe --tokens bpe --vocab-size 300 --updates 200
train bare --tokens word --vocab-size 9 --attention none --readout plain --updates 10

printf 'd e h\n\n \nb d zebra\n\377\376\nd\n' >lines
export LC_ALL=C

# usage errors
: >nothing
expect 2 '--model FILE is required' translate <nothing
expect 2 "unexpected argument 'words'; quote the sentence" translate --model one some words <nothing
expect 2 'give a sentence or --input FILE, not both' translate --model one --input lines words
expect 2 'give a sentence or --prefix FILE, not both' translate --model one --prefix lines words
expect 2 'did you mean --sample?' translate --model one --sampel <nothing
for option in beam length-penalty coverage-penalty; do
    expect 2 "--$option applies to search" translate --model one --sample --$option 2 <nothing
done
expect 2 '--temperature requires --sample' translate --model one --temperature 1 <nothing
expect 2 '--top-k requires --sample' translate --model one --top-k 1 <nothing
expect 2 '--top-p requires --sample' translate --model one --top-p 1 <nothing
expect 2 '--seed requires --sample' translate --model one --seed 1 <nothing
expect 2 'not a number from' translate --model one --sample --temperature 0 <nothing
expect 2 'not a number from' translate --model one --sample --top-p 1.5 <nothing
expect 2 'an integer' translate --model one --sample --top-k 0 <nothing
expect 2 'an integer' translate --model one --sample --seed -1 <nothing
expect 2 'an integer' translate --model one --no-repeat-ngram 0 <nothing
expect 2 'an integer' translate --model one --max-length x <nothing
expect 2 'is larger than --beam' translate --model one --n-best 9 <nothing
expect 2 '--dictionary requires --replace-unknown' translate --model one --dictionary lines <nothing
expect 2 "did you mean 'soft'?" translate --model one --alignment sofd <nothing
expect 2 'standard input is given 2 times (--prefix, --input)' translate --model one --prefix - <nothing
expect 2 '--alignment requires attention, but bare has none' translate --model bare --alignment hard <nothing
expect 2 'needs attention' translate --model bare --replace-unknown <nothing
expect 2 'coverage penalty needs a model with cross-attention' translate --model bare --coverage-penalty 1 <lines
expect 2 'model 2 differs from model 1 in source.vocabulary: line 10' translate --model one --model more <nothing
expect 2 'model 3 differs from model 1 in source.tokenizer' translate --model one --model two --model bpe <nothing
expect 4 'pairs.tsv' translate --model one --model pairs.tsv <nothing
expect 5 'none' translate --model one --dictionary none --replace-unknown <nothing
expect 5 'none' translate --model one --prefix none <nothing
expect 5 'none' translate --model one --input none
expect 3 'lines:1' translate --model one --dictionary lines --replace-unknown <nothing
expect 0 'docs/translate.md' translate --help

# lines of several sentences
awk 'BEGIN { split("A b .|B c .|C d ?|D e !", s, "|"); split("b a .|c b .|d c ?|e d !", t, "|"); for (i = 0; i < 400; i++) print s[1 + i % 4] "\t" t[1 + i % 4] }' >spoken.tsv
"$attend" train --train spoken.tsv --model spoken --tokens word --hidden 32 --embedding 16 --dropout 0 --batch-tokens 100 --learning-rate 0.005 --valid none \
    --updates 150 --threads 2 --quiet --no-check || exit 1
printf 'A b . B c .  C d ? D e !\n\nD e !\n\377 . A\n' >paragraphs
"$attend" translate --model spoken --split-sentences --input paragraphs >split 2>said
printf 'b a . c b . d c ? e d !\n\ne d !\n\n' | cmp -s - split || fail "sentences: $(cat split)"
grep -q 'line 4: a sentence is not translated: ' said || fail "no warning about a sentence: $(cat said)"
[ "$("$attend" translate --model spoken 'A b . B c . C d ? D e !')" = "$(head -1 split)" ] && fail 'the model translates a paragraph as well, so that splitting is not tested'
awk 'BEGIN { for (i = 0; i < 6000; i++) printf "%s ", i % 2 ? "A b ." : "D e !"; print ""; for (i = 0; i < 5000; i++) print "D e !" }' >many
is "a line of many sentences" "5001 33000" "$("$attend" translate --model spoken --split-sentences --beam 1 <many | awk '{ n += NF } END { print NR, n }')"
for option in --json '--prefix lines' '--n-best 2' '--alignment hard'; do
    expect 2 '--split-sentences cannot be combined' translate --model spoken --split-sentences $option --input paragraphs
done

is 'a sentence as an argument' "$(echo 'd e h' | "$attend" translate --model one)" "$("$attend" translate --model one 'd e h')"
is 'a sentence, and standard input that is not read' "$(echo 'd e h' | "$attend" translate --model one --json)" "$("$attend" translate --model one --json 'd e h' <lines)"
is 'an empty sentence' '' "$("$attend" translate --model one '')"
expect 0 "'lines' is translated as text; --input lines translates the file" translate --model one lines
is 'no lines' '' "$("$attend" translate --model one <nothing)"

# lines
"$attend" translate --model one <lines >out 2>printed || fail "translate failed"
is 'lines' 6 "$(wc -l <out | tr -d ' ')"
is 'the first' 'h e d' "$(head -1 out)"
is 'empty lines' '' "$(sed -n '2,3p;5p' out | tr -d '\n')"
is 'the unknown' '<unk> d b' "$(sed -n 4p out)"
is 'a warning' 'attend translate: line 5 is not translated: it is not UTF-8; its translation is an empty line' "$(head -1 printed)"
is 'the warning about all lines' "attend translate: warning: the vocabulary of the model does not have these words: 'zebra'; 1 of 6 lines have some" "$(sed 1d printed)"
is 'quiet' '' "$("$attend" translate --model one --quiet <lines 2>&1 >/dev/null)"
# outputs that are inputs
cp one kept && cp lines kept.lines && ln -s kept kept.link
expect 2 '--output kept is also the input of --model and would be overwritten' translate --model kept --input lines --output kept
expect 2 '--output kept.link is also the input of --model' translate --model kept --input lines --output kept.link
expect 2 '--output ./kept.lines is also the input of --input' translate --model one --input kept.lines --output ./kept.lines
expect 2 '--output kept.lines is also the input of --prefix' translate --model one --input lines --prefix kept.lines --output kept.lines
same 'a model given as output' one kept
same 'input given as output' lines kept.lines
expect 5 'cannot write /dev/full' translate --model one --input lines --output /dev/full
expect 0 'line 1 is not translated: it is too long: it has more than 2 tokens (--max-input-length)' translate --model one --max-input-length 2 --input lines
# evaluate names the file and the line, also where sources occur several times and in several files
printf 'a\tx\na\ty\na b a b a b\tz\n' >first.tsv && printf 'a\tx\n\nb a b a b a\tz\n' | grep . >second.tsv
for place in first.tsv:3 second.tsv:2; do
    expect 0 "$place is not translated: it is too long: it has more than 2 tokens (--max-input-length)" \
        evaluate --model one --max-input-length 2 --input first.tsv --input second.tsv
done
printf 'a\na b a b a b\n' >sources && printf 'x\ny\n' >targets
expect 0 'sources:2 is not translated: it is too long' evaluate --model one --max-input-length 2 --source sources --reference targets
"$attend" translate --model one --quiet --input lines --output elsewhere && cmp -s out elsewhere || fail '--output differs'
for threads in 1 2 3; do
    for tokens in 1 7 10000; do
        "$attend" translate --model one --quiet --threads $threads --batch-tokens $tokens <lines | cmp -s - out || fail "threads $threads, batches of $tokens differ"
    done
done
is 'max-length' 'h' "$(head -1 lines | "$attend" translate --model one --max-length 1)"

# single lines through a pipe: the second line is written after the first translation is read
mkfifo ask || exit 1
"$attend" translate --model one <ask >answers 2>/dev/null &
child=$!
exec 9>ask
echo 'd e' >&9
waited=0
while [ ! -s answers ] && [ $waited -lt 300 ]; do
    sleep 0.1
    waited=$((waited + 1))
done
is 'a translation before the end of the input' 'e d' "$(cat answers)"
exec 9>&-
wait $child || fail 'a closed pipe is a failure'

"$interactive" "$attend" translate --model one || fail 'lines are not answered at once'
"$interactive" "$attend" translate --model one --alignment soft --threads 1 || fail 'lines are not answered at once by one thread'

"$interactive" --pairs "$attend" score --model one --input - --quiet 2>/dev/null || fail 'pairs are not scored at once'
"$interactive" --pairs "$attend" align --model one --input - || fail 'pairs are not aligned at once'
"$attend" align --input pairs.tsv --save aligner >/dev/null || fail 'no aligner'
"$interactive" --pairs "$attend" align --aligner aligner --input - || fail 'pairs are not aligned at once by an aligner'

# ensembles
is 'an ensemble of one model with itself' "$(cat out)" "$("$attend" translate --model one --model one --model=one --quiet <lines)"
is 'two models' "$(head -1 out)" "$(head -1 lines | "$attend" translate --model one --model two)"

# sampling
draw() {
    "$attend" translate --model one --quiet --sample "$@" <lines
}
is 'the same seed' "$(draw --temperature 3 --seed 5 --threads 1)" "$(draw --temperature 3 --seed 5 --threads 3 --batch-tokens 1)"
[ "$(draw --temperature 3 --seed 5)" = "$(draw --temperature 3 --seed 6)" ] && fail 'another seed gives the same samples'
is 'top-k 1' "$("$attend" translate --model one --quiet --beam 1 <lines)" "$(draw --top-k 1)"
is 'temperature near 0' "$("$attend" translate --model one --quiet --beam 1 <lines)" "$(draw --temperature 0.000001)"
is 'top-p near 0' "$("$attend" translate --model one --quiet --beam 1 <lines)" "$(draw --top-p 0.000001)"
is 'as many samples' 21 "$(draw --n-best 6 --temperature 2 | wc -l | tr -d ' ')"
is 'the first of several samples' "$(draw --temperature 2 | head -1)" "$(draw --n-best 6 --temperature 2 | head -1 | awk -F ' [|][|][|] ' '{ print $2 }')"

# prefixes
printf 'b\n\n\na a yak\n\n\n' >prefixes
"$attend" translate --model one --quiet --prefix prefixes <lines >led || fail 'prefixes fail'
case $(head -1 led) in b*) ;; *) fail "it begins with '$(head -1 led)'" ;; esac
case $(sed -n 4p led) in 'a a yak'*) ;; *) fail "it begins with '$(sed -n 4p led)'" ;; esac
is 'no prefix' "$(sed -n 6p out)" "$(sed -n 6p led)"
awk '{ print NR == 1 ? "h e" : "" }' lines >own
"$attend" translate --model one --quiet --beam 1 --prefix own <lines | cmp -s - out || fail 'the prefix of a translation changes it'
head -3 prefixes >few
"$attend" translate --model one --quiet --prefix few <lines >led 2>printed
is 'a missing prefix' 3 $?
is 'lines with a prefix' 3 "$(wc -l <led | tr -d ' ')"
grep -q 'few has fewer lines than standard input.*3 lines are translated' printed || fail "a missing prefix: $(cat printed)"
echo >>prefixes
expect 3 'prefixes has more lines than lines' translate --model one --quiet --input lines --prefix prefixes

# repeated n-grams, unknown words
is 'no repeat' 1 "$(echo 'd d d d' | "$attend" translate --model one --no-repeat-ngram 2 | grep -c -v 'd d.*d d')"
is 'a replaced unknown word' 'zebra d b' "$("$attend" translate --model one --quiet --replace-unknown <lines | sed -n 4p)"
printf 'zebra\tStreifen pferd\nyak\tx\n' >dictionary
is 'by the dictionary' 'Streifen pferd d b' "$("$attend" translate --model one --quiet --replace-unknown --dictionary dictionary <lines | sed -n 4p)"
expect 0 '--replace-unknown has no effect' translate --model bpe --replace-unknown --input lines

# formats
is 'links' 'h e d ||| 2-0 1-1 0-2' "$("$attend" translate --model one --quiet --alignment hard <lines | head -1)"
is 'no links' ' |||' "$("$attend" translate --model one --quiet --alignment hard <lines | sed -n 2p)"
is 'weights' '4 4' "$("$attend" translate --model one --quiet --alignment soft <lines | head -1 | awk -F ' [|][|][|] ' '{ n = split($2, r, " "); print n, split(r[1], w, ",") }')"
is 'a list' '0 ||| h e d ||| logp=' "$("$attend" translate --model one --quiet --n-best 3 <lines | head -1 | cut -c 1-21)"
is 'a list with links' '2-0 1-1 0-2' "$("$attend" translate --model one --quiet --n-best 3 --alignment hard <lines | head -1 | awk -F ' [|][|][|] ' '{ print $5 }')"
for model in one bpe bare; do
    for options in '' '--n-best 3' '--sample --n-best 2' '--alignment soft'; do
        [ $model = bare ] && [ "$options" = '--alignment soft' ] && continue
        # shellcheck disable=SC2086
        "$attend" translate --model $model --quiet --json $options <lines >objects || fail "--json $options failed"
        is "objects of $model $options" 6 "$("$json" line text <objects)"
        sed 5d objects >good
        members='line text score log_probability source target'
        [ -n "$(echo "$options" | grep n-best)" ] && members="$members n_best"
        # shellcheck disable=SC2086
        is "members of $model $options" 5 "$("$json" $members <good)"
        is 'a fault' '{"line": 5, "text": "", "fault": "it is not UTF-8"}' "$(sed -n 5p objects)"
    done
done
is 'an object' '{"line": 1, "text": "h e d", "score": ' "$("$attend" translate --model one --json <lines 2>/dev/null | head -1 | cut -c 1-38)"
"$attend" translate --model one --json --alignment soft <lines 2>/dev/null | head -1 | "$json" alignment weights >/dev/null || fail 'no weights in an object'
printf '\001\t"\\ \302\205 d\n' | "$attend" translate --model bpe --json | "$json" text >/dev/null || fail 'an object with control characters'
expect 0 '"n_best": [{"text": ' translate --model one --json --n-best 2 --input lines

# errors of standard output are reported
if [ -c /dev/full ]; then
    "$attend" translate --model one --quiet <lines >/dev/full 2>printed
    is 'a full disk' 5 $?
fi
exit $failed
