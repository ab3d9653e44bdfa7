#!/bin/sh
# unknown.sh ATTEND JSON_LINES: what training did not have is reported: by translate (a warning for each run, JSON), show, the page and check; the
# confidence of a translation; --lowercase, which is kept in the model.
. "$(dirname "$0")/cases.sh"
json_lines=$2
cd "$folder" || exit 1

# words to letters in capitals: no x, and no capitals on the source side
awk 'BEGIN { srand(2); for (i = 0; i < 400; i++) { s = ""; t = ""; n = 2 + int(rand() * 4);
    for (j = 0; j < n; j++) { w = substr("abcde", 1 + int(rand() * 5), 1); s = s w; t = t (j ? " " : "") toupper(w) }
    print s "\t" t } }' >words.tsv
# sentences of known words, with capitals at their beginning
awk 'BEGIN { srand(3); split("dog cat bird man", a, " "); split("runs sits sings", b, " "); for (i = 0; i < 300; i++) {
    s = "The " a[1 + int(rand() * 4)] " " b[1 + int(rand() * 3)] " ."; print s "\t" toupper(s) } }' >sentences.tsv
small="--hidden 32 --embedding 16 --dropout 0 --batch-tokens 200 --learning-rate 0.005 --threads 2"

"$attend" train --train words.tsv --model words $small --updates 150 --valid-metric word-error 2>log || fail "training failed: $(cat log)"

# scores are named for the task, tokens are tokens, bytes are explained
grep -q 'valid word error [0-9.]* % (best [0-9.]* %)' log || fail "no word error in $(cat log)"
grep -q '^vocabulary  source: 264 tokens: 5 characters, 256 bytes that spell other characters, 3 special$' log || fail "the vocabulary: $(grep -A1 ^vocab log)"
grep -q '^            target: 8 tokens: 5 symbols, 3 special$' log || fail "the vocabulary of the target: $(grep -A1 ^vocab log)"
grep -q '^rate        learning rate 0.005; falls to [0-9.e-]* until update 150$' log || fail "no learning rate in $(cat log)"
grep -q '^best model  word error [0-9.]* %, phoneme error [0-9.]* % on [0-9]* validation words, by beam search$' log || fail "no scores at the end: $(tail -15 log)"
is 'the last line of training' "            $attend show --model words" "$(tail -1 log | sed 's/ [a-e]*$//')"
[ "$(grep -c '^next        ' log)" = 1 ] || fail "no next command: $(tail -3 log)"
eval "$(sed -n 's/^next        //p' log)" >printed 2>&1 || fail "the next command fails: $(cat printed)"

grep -q 'valid word error .*  rate [0-9.e-]*  [0-9]* tokens/s' log || fail "a rate that falls is not shown: $(grep valid log)"
expect 0 '8 tokens: 5 symbols, 3 special' info words
"$attend" check --train words.tsv | grep -q '^    target: [0-9]* symbols, ' || fail 'check calls phonemes words'
"$attend" check --train sentences.tsv | grep -q '^    target: [0-9]* words, ' || fail 'check calls words symbols'

# what the metric means: wrong lines where lines are words, wrong words in sentences; other names are what they say
valid() { sed -n 's/.*valid \([a-z ]*\) [0-9].*/\1/p' "$1" | tail -1; }
is 'the metric of words' 'word error' "$(valid log)"
awk -F '\t' 'NR < 60' words.tsv >valid.tsv
for metric in word-error exact phoneme-error; do
    "$attend" train --train words.tsv --valid valid.tsv --model m-$metric $small --updates 60 --valid-metric $metric 2>log-$metric
done
score() { sed -n 's/.*"valid_score": \([0-9.]*\).*/\1/p' "m-$1.log.jsonl" | tail -1; }
is 'word error and exact match add up to 100' 1 "$(awk -v a="$(score word-error)" -v b="$(score exact)" 'BEGIN { print(a + b > 99.99 && a + b < 100.01) }')"
is 'the phoneme error is smaller than the word error' 1 "$(awk -v a="$(score word-error)" -v b="$(score phoneme-error)" 'BEGIN { print(b < a) }')"
is 'the name of the phoneme error' 'phoneme error' "$(valid log-phoneme-error)"
expect 2 'is not one of perplexity|bleu|chrf|token-accuracy|word-error|exact|phoneme-error|character-error|wer|cer' train --train words.tsv --model m --valid-metric blue

# the worst examples: at most three, each with what was expected and what came out
"$attend" train --train words.tsv --valid valid.tsv --model bad $small --updates 5 2>log
is 'worst examples' '1 3 3' "$(grep -c '^worst       [a-e]*$' log) $(grep -c '^  expected  [A-E ]*$' log) $(grep -c '^  got       ' log)"
expect 0 'done: quiet' train --train words.tsv --valid none --model quiet $small --updates 5
case $printed in *"next        $attend translate --model quiet WORD"*) ;; *) fail "without validation: $printed" ;; esac
"$attend" train --train words.tsv --model silent $small --updates 5 --quiet 2>log
[ -s log ] && fail "--quiet prints $(cat log)"

# translate: one warning with counts; JSON; confidence
printf 'abc\nxaXa\ncab\nxe\n' >lines
"$attend" translate --model words --input lines >out 2>err
is 'the number of lines' 4 "$(wc -l <out)"
is 'the warning' "attend translate: warning: the training data did not have these characters: 'x' (2 times), 'X'; 2 of 4 lines have some" "$(cat err)"
expect 0 "characters: ' '
  its sources were single words: give one word on each line" translate --model words 'abc cab'
"$attend" translate --model words --input lines --quiet >/dev/null 2>err
[ -s err ] && fail "--quiet prints $(cat err)"
"$attend" translate --model words --json <lines >json 2>/dev/null
is "the number of objects" 4 "$("$json_lines" confidence unknown <json)"
is 'unknown characters in JSON' '[]["x", "X"][]["x"]' "$(sed 's/.*"unknown": \(\[[^]]*\]\).*/\1/' json | tr -d '\n')"
# exp(log_probability / (tokens + 1)); the tokens of JSON have the end token
awk '{ p = $0; sub(/.*"log_probability": /, "", p); c = $0; sub(/.*"confidence": /, "", c); t = $0; sub(/.*"target": \[/, "", t); sub(/\].*/, "", t)
    n = split(t, x, ", "); e = exp((p + 0) / n) - (c + 0); if (e > 0.0001 || e < -0.0001 || c + 0 <= 0 || c + 0 > 1) bad = 1 } END { exit bad }' json ||
    fail "confidence: $(cat json)"
"$attend" translate --model words --confidence abc >out
grep -q '^[A-E ]* ||| 0\.[0-9]\{4\}$' out || fail "confidence: $(cat out)"
"$attend" translate --model words --confidence --n-best 2 --alignment hard abc >out
grep -q '^0 ||| [A-E ]* ||| logp=-[0-9.]* confidence=0\.[0-9]\{4\} ||| -[0-9.]* ||| [-0-9 ]*$' out || fail "confidence of a list: $(cat out)"
expect 2 '--confidence, which apply to a line' translate --model words --confidence --split-sentences abc

# show marks it in each form
NO_COLOR=1 "$attend" show --model words axb >out
grep -q 'x⁇' out && grep -q '⁇ not in the training data' out || fail "show: $(cat out)"
"$attend" show --model words --format json axb >json
grep -q '"unknown": \["x"\]' json && grep -q '"text": "<0x78>", "id": 123, "word": 1, "unknown": true' json || grep -q '"text": "x"[^}]*"unknown": true' json || fail "show --format json: $(cat json)"
"$attend" show --model words --output map.svg axb && grep -q '⁇' map.svg || fail 'the mark is not in the picture'
"$attend" show --model words --output map.html axb && grep -q '"sourceUnknown":\[1\]' map.html || fail 'the mark is not on the page'
NO_COLOR=1 "$attend" show --model words ab >out
grep -q '⁇' out && fail "a mark without a reason: $(cat out)"

# sentences: words that were never seen, whatever their case and punctuation
"$attend" train --train sentences.tsv --model en $small --updates 150 2>log || fail "training failed: $(cat log)"
grep -q '^best model  BLEU [0-9.]*, chrF2 [0-9.]* on [0-9]* validation sentences' log || fail "no scores at the end: $(tail -15 log)"
printf 'the dog sings .\nThe CAT, runs!\nThe wombat sings .\n' | "$attend" translate --model en >out 2>err
grep -q "did not have these words: 'wombat'; 1 of 3 lines have some" err || fail "the warning: $(cat err)"
grep -q "characters: .*'!'" err || fail "the warning about characters: $(cat err)"
printf 'a dog\n' | "$attend" translate --model en 2>&1 >/dev/null | grep -q "words: 'a'" || fail 'a word is not reported'
"$attend" train --train sentences.tsv --model byword --tokens word $small --updates 20 --quiet
printf 'The dog\nthe wombat\n' | "$attend" translate --model byword 2>err >/dev/null
is 'the warning of a vocabulary' "attend translate: warning: the vocabulary of the model does not have these words: 'the', 'wombat'; 1 of 2 lines have some" "$(cat err)"
"$attend" train --train words.tsv --model tuned --init-from en --updates 5 --learning-rate 0.001 --quiet --valid none || fail 'fine-tuning failed'
printf 'The dog\n' | "$attend" translate --model tuned 2>&1 >/dev/null | grep -q 'words' && fail 'fine-tuning forgets the words of the first training'

# a language model reports the words of the beginning of a line
cut -f1 sentences.tsv >text
"$attend" train --task language-model --train text --model lm $small --updates 20 2>log || fail "training a language model failed: $(cat log)"
grep -q '^best model  perplexity [0-9.]* on the validation lines$' log || fail "no perplexity at the end: $(tail -3 log)"
echo 'The wombat' | "$attend" translate --model lm --seed 1 2>&1 >/dev/null | grep -q "words: 'wombat'" || fail 'a language model does not report a word'

# --lowercase: kept in the model, applied by every verb
"$attend" train --train sentences.tsv --model both --lowercase both $small --updates 200 2>log || fail "training failed: $(cat log)"
grep -q 'special; lower case$' log || fail "the case is not printed: $(cat log)"
expect 0 'texts are lower-cased' info both
expect 0 '"lowercase": "both"' info both --json
for text in 'The dog runs .' 'THE DOG RUNS .' 'the dog runs .'; do "$attend" translate --model both "$text"; done >out 2>err
is 'translations of three cases' 1 "$(sort -u out | wc -l)"
[ -s err ] && fail "capitals are unknown: $(cat err)"
grep -q '[A-Z]' out && fail "capitals in $(cat out)"
is 'scores of two cases' 1 "$(printf 'The dog runs .\tTHE DOG RUNS .\nthe DOG runs .\tthe dog runs .\n' >two.tsv; "$attend" score --model both --input two.tsv | sort -u | wc -l)"
expect 0 'both writes lower case (--lowercase both); scores ignore case' evaluate --model both --input sentences.tsv --metric exact
expect 0 'case:lc' evaluate --model both --input sentences.tsv --metric exact
NO_COLOR=1 "$attend" show --model both 'THE DOG RUNS .' >out 2>&1
grep -q '⁇' out && fail "show does not lower-case: $(cat out)"
grep -q '[a-z]' out || fail "show: $(cat out)"
is 'links of two cases' 1 "$("$attend" align --model both --input two.tsv | sort -u | wc -l)"
"$attend" train --train sentences.tsv --model source --lowercase source $small --updates 200 --quiet
"$attend" translate --model source 'THE DOG RUNS .' 2>err >/dev/null
[ -s err ] && fail "capitals are unknown: $(cat err)"
printf 'The dog runs .\tTHE DOG RUNS .\nthe DOG runs .\tTHE DOG RUNS .\nthe dog runs .\tthe dog runs .\n' >three.tsv
is 'scores by a model that lower-cases sources' '2 different' "$("$attend" score --model source --input three.tsv | sort -u | wc -l) different"
expect 0 '"lowercase": "source"' info source --json
expect 2 "lowercase 'both', and now it is 'none'" train --train sentences.tsv --model both $small --updates 210
expect 2 'use --lowercase both' train --train sentences.tsv --model x --shared-vocab --lowercase source $small --updates 1
expect 2 'a language model is trained on lines: use both' train --task language-model --train text --model x --lowercase source $small --updates 1
expect 2 '--lowercase has no effect with --init-from' train --train words.tsv --model x --init-from en --lowercase both --updates 1
expect 2 "is not one of none|source|both" train --train words.tsv --model x --lowercase target
# in compare, --lowercase with a value is the option of training; alone it is the old name of --ignore-case
expect 0 'note: --lowercase is now --ignore-case' compare --train sentences.tsv --valid two.tsv --vary attention=dot --output c $small --updates 5 --lowercase --metric bleu
case $printed in *case:lc*) ;; *) fail "compare --lowercase does not ignore case: $printed" ;; esac
expect 0 'lowercase=both' compare --train sentences.tsv --valid two.tsv --vary lowercase=none,both --output d $small --updates 5 --metric bleu
case $printed in *case:lc*) fail "compare --vary lowercase ignores case: $printed" ;; esac

# check says what will be unknown, also in the pairs that training holds out; a stream is read once
awk 'BEGIN { for (i = 0; i < 200; i++) print "w" i "x\tp q" }' >held.tsv
expect 0 'held out from the training files' check --train held.tsv
expect 0 '"held_out":true' check --train held.tsv --json
expect 0 'training: 200 pairs' check --train - <held.tsv
expect 0 'training: 200 pairs' check --train held.tsv --valid none
expect 0 '"held_out":false' check --train held.tsv --quick --json
printf 'The wombat sings .\tTHE WOMBAT SINGS .\nthe dog runs \302\241\tTHE DOG RUNS .\n' >other.tsv
"$attend" check --train sentences.tsv --valid other.tsv >out
grep -q '^information: validation lines with words that the training data does not have: 2$' out || fail "check: $(cat out)"
grep -q 'other.tsv:1: "wombat" in "The wombat sings ."' out || fail "check: $(cat out)"
grep -q 'other.tsv:2: "¡" (U+00A1) in "the dog runs ¡"' out || fail "check: $(cat out)"
expect 0 '"name":"validation-character"' check --train sentences.tsv --valid other.tsv --json
expect 0 'Nothing here prevents training' check --train words.tsv --valid valid.tsv
case $printed in *'does not have'*) fail "nothing is unknown: $printed" ;; esac
exit $failed
