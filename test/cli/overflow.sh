#!/bin/bash
# overflow.sh ATTEND SCALE_WEIGHTS: a model whose computation overflows: no verb prints inf or nan as a result.
. "$(dirname "$0")/cases.sh"
cd "$folder" || exit 1
exec </dev/null
limit=100
awk 'BEGIN { srand(2); for (i = 0; i < 300; i++) { s = ""; t = ""; n = 2 + int(rand() * 4);
    for (j = 0; j < n; j++) { w = substr("abcde", 1 + int(rand() * 5), 1); s = s (j ? " " : "") w; t = w (j ? " " : "") t }
    print s "\t" t } }' >pairs.tsv
cut -f2 pairs.tsv >lines.txt

small=(--tokens word --hidden 16 --embedding 8 --batch-tokens 100 --threads 1 --quiet --updates 40)
"$attend" train --train pairs.tsv --model good.m "${small[@]}" || fail 'training'
"$attend" train --task language-model --train lines.txt --model good.lm "${small[@]}" || fail 'training a language model'
"$2" good.m 3e38 m && "$2" good.lm 3e38 lm || fail 'no models with huge weights' # all finite, but not what is computed with them

finite() { # CODE ARGUMENTS...: no number that is none on standard output, except the documented nan of a pair without a score
    expected=$1
    shift
    timeout "$limit" "$attend" "$@" >printed 2>messages
    code=$?
    [ "$code" = "$expected" ] || fail "attend $*: exit status $code instead of $expected: $(head -3 messages)"
    grep -Eqi '(^|[^a-z])-?(inf|nan)' messages && fail "attend $*: $(head -3 messages)"
    grep -Eqi '(^|[^a-z])-?inf|-nan|nan .' printed && fail "attend $*: $(grep -Ei 'inf|nan' printed | head -3)"
}
for model in m:pairs.tsv lm:lines.txt; do
    input=${model#*:} model=${model%:*}
    for form in '' --per-token --json; do
        # shellcheck disable=SC2086
        finite 4 score --model $model --input $input $form
        grep -qF "$model: the model's probabilities are not finite for" messages || fail "score $form does not name the model: $(head -3 messages)"
        grep -Eq "(pair|line) [0-9]+ is not scored: the model's probabilities for it are not finite" messages || fail "score $form names no line: $(head -3 messages)"
    done
    is "lines of score --model $model --json" "$(($(wc -l <$input) + 1))" "$(wc -l <printed)"
done
named() { # MODEL: the message names the model and says what to do
    grep -qF "$1: the model's probabilities are not finite for" messages || fail "no message names $1: $(tail -1 messages)"
    grep -qF 'train it again with a lower learning rate' messages || fail "nothing says what to do: $(tail -1 messages)"
}
finite 4 evaluate --model lm --input lines.txt && named lm
finite 4 evaluate --model lm --input lines.txt --json && named lm
finite 4 evaluate --model m --input pairs.tsv && named m
finite 4 translate --model m --input lines.txt --n-best 2 && named m
finite 4 translate --model m --input lines.txt --json && named m
finite 4 translate --model m --input lines.txt --quiet --split-sentences && named m
finite 4 translate --model good.m --model m --input lines.txt --sample && named 'good.m, m'
finite 4 translate --model lm --input lines.txt && named lm
finite 4 align --model good.m --reverse-model m --input pairs.tsv && named m
printf '\n' | "$attend" translate --model m >printed 2>messages || fail "an empty line: $(cat messages)"
finite 4 align --model m --input pairs.tsv && named m
grep -qF "is not aligned: the model's probabilities for it are not finite" messages || fail "align: $(head -3 messages)"
finite 3 show --model m --input pairs.tsv
grep -qF 'is not shown: the model computes non-finite probabilities' messages || fail "show: $(head -3 messages)"

# a line without a score is no perplexity
printf '\n\n' >empty.txt
finite 0 evaluate --model good.lm --input empty.txt
grep -Eq '^perplexity +-  per token' printed || fail "the perplexity of nothing: $(cat printed)"
exit $failed
