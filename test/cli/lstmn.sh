#!/bin/sh
# lstmn.sh ATTEND: an LSTMN with every verb: training with either fusion, resuming, translating, scoring, aligning, showing, quantising; and as a language model.
. "$(dirname "$0")/cases.sh"
cd "$folder" || exit 1

# sequences of letters and their reversals
awk 'BEGIN { srand(1); for (i = 0; i < 800; i++) { s = ""; t = ""; n = 1 + int(rand() * 4);
    for (j = 0; j < n; j++) { w = substr("abcdef", 1 + int(rand() * 6), 1); s = s (j ? " " : "") w; t = w (j ? " " : "") t }
    print s "\t" t } }' >pairs.tsv
head -100 pairs.tsv >test.tsv
cut -f1 test.tsv >test.in
cut -f2 test.tsv >test.out
data=pairs.tsv
train() { # MODEL OPTIONS...
    model=$1
    shift
    "$attend" train --train "$data" --model "$model" --architecture lstmn --tokens word --hidden 48 --embedding 24 --dropout 0 --batch-tokens 200 \
        --learning-rate 0.005 --valid-every 50 --quiet --no-check "$@"
}
right() { # MODEL OPTIONS...: how many of a hundred
    model=$1
    shift
    "$attend" translate --model "$model" "$@" <test.in | paste - test.out | awk -F'\t' '$1 == $2' | wc -l
}

for fusion in shallow deep; do
    # ---- training; the model does not depend on threads or interruptions ----
    train $fusion --fusion $fusion --updates 500 --threads 2 || fail "$fusion: training failed"
    got=$(right $fusion)
    [ "$got" -ge 90 ] || fail "$fusion: $got of 100 are right"
    train same --fusion $fusion --updates 100 --threads 1 --fresh
    train same --fusion $fusion --updates 500 --threads 3
    same "$fusion: models trained in one run and resumed with other threads" $fusion same

    # ---- every verb ----
    "$attend" translate --model $fusion --beam 1 <test.in >greedy
    "$attend" translate --model $fusion --beam 1 --batch-tokens 3 --threads 2 <test.in >alone
    same "$fusion: translations of a line in a batch and alone" greedy alone
    "$attend" evaluate --model $fusion --input test.tsv >/dev/null || fail "$fusion: evaluate failed"
    is "$fusion: lines of scores" 100 "$("$attend" score --model $fusion --input test.tsv --quiet | wc -l)"
    is "$fusion: lines of links" 100 "$("$attend" align --model $fusion --input test.tsv | wc -l)"
    "$attend" show --model $fusion 'a b c' >/dev/null || fail "$fusion: show failed"
    expect 0 'lstmn' info $fusion
    "$attend" convert --model $fusion --output small --precision int8 || fail "$fusion: convert failed"
    got=$(right small)
    [ "$got" -ge 88 ] || fail "$fusion: with int8, $got of 100 are right"
done

# ---- several layers, another score, a span; invalid combinations ----
train layers --layers 2 --decoder-layers 1 --span 3 --attention bilinear --updates 20 || fail 'training with several layers failed'
right layers >/dev/null
verb=train expect 2 "belong to fusion 'shallow'" --train pairs.tsv --model x --architecture lstmn --fusion deep --selection sparsemax --updates 1

# ---- a language model ----
data=test.in
train lines --task language-model --span 3 --updates 200 || fail 'training of a language model failed'
"$attend" evaluate --model lines --input test.in >/dev/null || fail 'evaluate failed for a language model'
is 'continued lines' 100 "$("$attend" translate --model lines --seed 1 <test.in | wc -l)"

exit $failed
