#!/bin/sh
# compute.sh ATTEND: --compute: training, resuming, translating, scoring, aligning and showing in bf16 and bf16x3.
. "$(dirname "$0")/cases.sh"
cd "$folder" || exit 1

# sequences of letters and their reversals
awk 'BEGIN { srand(1); for (i = 0; i < 300; i++) { s = ""; t = ""; n = 1 + int(rand() * 4);
    for (j = 0; j < n; j++) { w = substr("abcde", 1 + int(rand() * 5), 1); s = s (j ? " " : "") w; t = w (j ? " " : "") t }
    print s "\t" t } }' >pairs.tsv
head -20 pairs.tsv >valid.tsv
cut -f1 valid.tsv >valid.src
with="--train pairs.tsv --valid valid.tsv --tokens word --hidden 32 --embedding 16 --dropout 0 --batch-tokens 400 --learning-rate 0.005"

# shellcheck disable=SC2086
train() { # MODEL OPTIONS...
    model=$1
    shift
    "$attend" train $with --model "$model" --quiet "$@" || fail "attend train --model $model $*: exit status $?"
}
loss() { # MODEL: of the last validation
    sed -n 's/.*"valid_loss": \([0-9.]*\).*/\1/p' "$1.log.jsonl" | tail -1
}

train fp32 --updates 60 --valid-every 30 --threads 1
for p in bf16x3 bf16; do
    for threads in 1 2 3; do train $p.$threads --compute $p --updates 60 --valid-every 30 --threads $threads; done
    same "$p: models of 1 and 2 threads" $p.1 $p.2
    same "$p: models of 1 and 3 threads" $p.1 $p.3
    cmp -s $p.1 fp32 && fail "$p: the model is that of fp32"
    grep -q "\"compute\": \"$p\"" $p.1.log.jsonl || fail "$p: the log does not say it"
    awk -v a="$(loss fp32)" -v b="$(loss $p.1)" 'BEGIN { d = a - b; exit !(a > 0 && b > 0 && d < 0.1 && d > -0.1) }' ||
        fail "$p: loss $(loss $p.1), and $(loss fp32) in fp32"

    # interrupted training ends in the same bytes; another precision is refused
    train $p.parts --compute $p --updates 25 --valid-every 30 --save-every 5 --threads 2
    # shellcheck disable=SC2086
    expect 2 "compute '$p', and now it is 'fp32'" train $with --model $p.parts --updates 60 --valid-every 30
    train $p.parts --compute $p --updates 60 --valid-every 30 --save-every 5 --threads 2
    same "$p: models with and without interruption" $p.1 $p.parts

    "$attend" translate --model $p.1 --input valid.src --compute $p --quiet --threads 1 >one || fail "$p: attend translate: exit status $?"
    "$attend" translate --model $p.1 --input valid.src --compute $p --quiet --threads 3 --batch-tokens 1 >three
    same "$p: translations" one three
    "$attend" score --model $p.1 --input valid.tsv --compute $p --quiet --threads 1 >one || fail "$p: attend score: exit status $?"
    "$attend" score --model $p.1 --input valid.tsv --compute $p --quiet --threads 2 >two
    "$attend" score --model $p.1 --input valid.tsv --quiet >other
    same "$p: scores" one two
    for reading in "align --input valid.tsv --alignment soft --tokens" "show --input valid.tsv --format json"; do
        # shellcheck disable=SC2086
        "$attend" $reading --model $p.1 --compute $p --quiet --threads 1 >maps.one || fail "$p: attend $reading: exit status $?"
        # shellcheck disable=SC2086
        "$attend" $reading --model $p.1 --compute $p --quiet --threads 3 >maps.three
        # shellcheck disable=SC2086
        "$attend" $reading --model $p.1 --quiet >maps.other
        same "$p: attend $reading" maps.one maps.three
        [ $p = bf16 ] && cmp -s maps.one maps.other && fail "$p: attend $reading computes in fp32"
    done
    score='s/.*"score": \([^,]*\),.*/\1/p' # the search of show is that of translate
    is "$p: scores of translations" "$("$attend" show --model $p.1 --input valid.src --compute $p --quiet --format json | sed -n "$score")" \
        "$("$attend" translate --model $p.1 --input valid.src --compute $p --quiet --json | sed -n "$score")"
    paste one other | awk '{ d = $1 - $2; if (d > 0.2 || d < -0.2) exit 1 }' || fail "$p: scores differ too much from those in fp32"
done
# shellcheck disable=SC2086
expect 2 "compute 'fp32', and now it is 'bf16'" train $with --model fp32 --updates 61 --valid-every 30 --compute bf16
# shellcheck disable=SC2086
expect 2 "did you mean 'bf16x3'?" train $with --model n --compute bf16x2

# what selects a map and what translates for show get the precision: tf32 is refused on the CPU
expect 2 'tf32 is a format of GPUs' align --model fp32 --input valid.tsv --compute tf32
expect 2 'tf32 is a format of GPUs' align --model fp32 --input valid.tsv --compute tf32 --evaluate-maps
expect 2 'tf32 is a format of GPUs' align --reverse-model fp32 --input valid.tsv --compute tf32
expect 2 'tf32 is a format of GPUs' show --model fp32 --compute tf32 'a b'
expect 2 'tf32 is a format of GPUs' show --model fp32 --compute tf32 'a b' --target 'b a'
expect 2 '--compute requires --model' align --input valid.tsv --compute bf16

# where it is slow, that is said; results are of the same precision
ATTEND_KERNEL=plain expect 0 'products in bf16 are not faster than in fp32' translate --model bf16.1 --input valid.src --compute bf16
ATTEND_KERNEL=plain expect 0 'products in bf16x3 are not faster than in fp32' score --model bf16.1 --input valid.tsv --compute bf16x3
ATTEND_KERNEL=plain expect 0 'attend align: products in bf16 are not faster' align --model bf16.1 --input valid.tsv --compute bf16
ATTEND_KERNEL=plain expect 0 'attend show: products in bf16 are not faster' show --model bf16.1 'a b' --compute bf16
# shellcheck disable=SC2086
ATTEND_KERNEL=plain expect 0 'products in bf16 are not faster than in fp32' train $with --model slow --compute bf16 --updates 2
ATTEND_KERNEL=plain expect 0 '  bf16         slower than fp32' info --cpu
exit $failed
