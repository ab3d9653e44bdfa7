#!/bin/sh
# transformer.sh ATTEND: a Transformer with every verb: training, resuming, translating, scoring, aligning, showing, quantising; and the limit on sentence length.
. "$(dirname "$0")/cases.sh"
cd "$folder" || exit 1

# sequences of letters and their reversals
awk 'BEGIN { srand(1); for (i = 0; i < 800; i++) { s = ""; t = ""; n = 1 + int(rand() * 5);
    for (j = 0; j < n; j++) { w = substr("abcdefgh", 1 + int(rand() * 8), 1); s = s (j ? " " : "") w; t = w (j ? " " : "") t }
    print s "\t" t } }' >pairs.tsv
head -100 pairs.tsv >test.tsv
cut -f1 test.tsv >test.in
cut -f2 test.tsv >test.out
train() { # MODEL OPTIONS...
    model=$1
    shift
    "$attend" train --train pairs.tsv --model "$model" --architecture transformer --tokens word --hidden 32 --layers 2 --dropout 0 \
        --batch-tokens 200 --learning-rate 0.005 --warmup 50 --valid-every 50 --quiet --no-check "$@"
}
right() { # MODEL OPTIONS...: how many of a hundred
    model=$1
    shift
    "$attend" translate --model "$model" "$@" <test.in | paste - test.out | awk -F'\t' '$1 == $2' | wc -l
}

# ---- training with all variants of its parts; the model does not depend on threads or interruptions ----
train one --updates 400 --threads 2 || fail 'training failed'
got=$(right one)
[ "$got" -ge 95 ] || fail "$got of 100 are right"
train same --updates 150 --threads 1
train same --updates 400 --threads 3
same 'models trained at once and in two runs on other threads' one same
for parts in '--norm post' '--positions learned --feed-forward gelu' '--positions rotary --feed-forward gated --decoder-layers 1 --tie-embeddings'; do
    # shellcheck disable=SC2086
    train other $parts --updates 500 --threads 2 --fresh || fail "$parts: training failed"
    got=$(right other)
    [ "$got" -ge 90 ] || fail "$parts: $got of 100 are right"
done

# ---- every verb ----
"$attend" translate --model one --beam 1 <test.in >greedy
"$attend" translate --model one --beam 1 --batch-tokens 3 --threads 2 <test.in >alone
same 'translations of a line in a batch and alone' greedy alone
"$attend" evaluate --model one --input test.tsv >/dev/null || fail 'evaluate failed'
is 'lines of scores' 100 "$("$attend" score --model one --input test.tsv --quiet | wc -l)"
is 'lines of links' 100 "$("$attend" align --model one --input test.tsv | wc -l)"
for map in '--layer 0 --head 3' '--layer 1' ''; do
    # shellcheck disable=SC2086
    "$attend" show --model one $map 'a b c' >/dev/null || fail "show $map"
done
verb=show expect 2 '' --model one --layer 2 'a b c'
expect 0 'transformer' info one
"$attend" info one | grep -q '  cell \|  bidirectional ' && fail 'info prints fields without effect'

# fields without effect are refused, unless the value is the one in use anyway
for option in '--cell lstm' '--attention none' '--attention additive' '--start copy' '--readout plain' '--span 3' '--fusion deep'; do
    # shellcheck disable=SC2086
    verb=train expect 2 "${option% *} belongs to architecture '" --train pairs.tsv --model x --architecture transformer --updates 1 $option
done
verb=train expect 2 "--norm belongs to architecture 'transformer', but this model is 'rnn'" --train pairs.tsv --model x --norm post
[ -e x ] && fail 'a refused training wrote a model'
verb=train expect 0 '' --train pairs.tsv --model x --architecture transformer --updates 1 --quiet --hidden 8 --heads 2 --layers 1 \
    --bidirectional no --attention scaled-dot --attention-dropout 0
"$attend" convert --model one --output small --precision int8 || fail 'convert failed'
got=$(right small)
[ "$got" -ge 93 ] || fail "with int8, $got of 100 are right"

# ---- learned positions limit the length ----
train short --positions learned --max-positions 4 --updates 20 || fail 'longer pairs are not skipped'
for i in 1 2 3 4 5 6; do printf 'a b\tb c a\n'; done >even.tsv # all have the maximum length
verb=train expect 0 done --train even.tsv --model even --architecture transformer --tokens word --hidden 8 --heads 2 --layers 1 --positions learned \
    --max-positions 4 --updates 2 --no-check
printf 'a b c\na b c d\na\n' >lines
"$attend" translate --model short <lines >out 2>messages
is 'lines' 3 "$(wc -l <out)"
grep -q 'line 2.*too long for the model' messages || fail "a line that is too long: $(cat messages)"
[ "$("$attend" translate --model short --length-ratio 50 <lines 2>/dev/null | awk '{ if (NF > m) m = NF } END { print m }')" -le 3 ] ||
    fail 'a translation is longer than max-positions'
printf 'a\tb\na b c d\tb\na\tb a c d\n' >long.tsv
"$attend" score --model short --input long.tsv >out 2>messages
grep -q 'more tokens than the model has positions' messages out || fail "a pair that is too long is scored: $(cat messages out)"
verb=train expect 2 'can make a sentence longer than' --train pairs.tsv --model x --architecture transformer --tokens bpe --positions learned --bpe-dropout 0.1 --updates 1

exit $failed
