#!/bin/sh
# convert.sh ATTEND: attend convert: quantised models, shortlists and averages.
. "$(dirname "$0")/cases.sh"
cd "$folder" || exit 1

# sequences of letters, reversed in capitals
awk 'BEGIN { srand(1); for (i = 0; i < 600; i++) { s = ""; t = ""; n = 1 + int(rand() * 5);
    for (j = 0; j < n; j++) { k = 1 + int(rand() * 12); s = s (j ? " " : "") substr("abcdefghijkl", k, 1); t = substr("ABCDEFGHIJKL", k, 1) (j ? " " : "") t }
    print s "\t" t } }' >pairs.tsv
cut -f1 pairs.tsv | head -100 >lines
train() { # MODEL OPTIONS...
    model=$1
    shift
    "$attend" train --train pairs.tsv --model "$model" --tokens word --hidden 48 --embedding 24 --dropout 0 --batch-tokens 200 --learning-rate 0.005 \
        --threads 2 --quiet --no-check "$@" || exit 1
}
train m --updates 900
train bare --attention none --readout plain --updates 5

expect 2 '--model FILE is required' convert --output x
expect 2 '--output is given twice' convert --model m --output x --output y --precision int8
expect 2 '--output FILE is required' convert --model m
expect 2 'nothing to do' convert --model m --output x
expect 2 'precision' convert --model m --output x --precision int7
expect 2 'unexpected argument' convert --model m --output x --precision int8 y
expect 5 'nowhere' convert --model nowhere --output x --precision int8
expect 4 'pairs.tsv' convert --model pairs.tsv --output x --precision int8
expect 5 'no/x' convert --model m --output no/x --precision int8
cp pairs.tsv kept.tsv
expect 2 '--output kept.tsv is also the input of --shortlist' convert --model m --output kept.tsv --shortlist kept.tsv
same 'pairs that would be overwritten' pairs.tsv kept.tsv
expect 0 '600 pairs aligned' convert --model bare --output bare.fast --shortlist pairs.tsv # attention is not needed
expect 5 'none.tsv' convert --model m --output x --shortlist none.tsv
[ -e x ] && echo "a failed conversion wrote a file" && failed=1

"$attend" translate --model m --threads 1 <lines >full || failed=1
for p in bf16 int8; do
    expect 0 '' convert --model m --output m.$p --precision $p
    expect 0 "$p" info m.$p
    expect 0 "\"precision\": \"$p\"" info m.$p --json
    "$attend" translate --model m.$p <lines >there || failed=1
    "$attend" translate --model m --precision $p --threads 3 --batch-tokens 7 <lines >here || failed=1
    same "$p in the file and when loaded" there here
    [ "$(cat there full | sort | uniq -c | awk '$1 % 2' | wc -l)" -le 4 ] || { echo "$p: too far from the original"; failed=1; }
    [ "$(wc -c <m.$p)" -lt "$(wc -c <m)" ] || { echo "$p is not smaller"; failed=1; }
done
expect 2 'quantise the original' convert --model m.int8 --output x --precision bf16
expect 2 'quantise the original' translate --model m.int8 --precision fp32 </dev/null
expect 0 '' score --model m.int8 --input pairs.tsv

expect 2 'no shortlist' translate --model m --shortlist <lines
expect 0 '600 pairs aligned' convert --model m --output m.fast --precision int8 --shortlist pairs.tsv --frequent 2 --per-token 3
expect 0 'with a shortlist' info m.fast
"$attend" convert --model m --output m.fast1 --precision int8 --shortlist pairs.tsv --frequent 2 --per-token 3 --threads 1 --quiet || failed=1
same 'shortlists on any number of threads' m.fast m.fast1
"$attend" translate --model m.fast --shortlist --threads 1 --batch-tokens 5 <lines >alone || failed=1
"$attend" translate --model m.fast --shortlist --threads 2 --batch-tokens 500 <lines >together || failed=1
same 'a shortlist in any batch' alone together
same 'with a shortlist and without' alone full
for wrong in '--sample' '--no-repeat 2' '--beam 33' '--prefix lines' '--model m'; do
    # shellcheck disable=SC2086
    expect 2 '--shortlist requires a single model' translate --model m.fast --shortlist $wrong <lines
done

# the average of several models
train k --updates 30 --save-every 10 --keep 3
train other --updates 5 --hidden 40
sed 's/[a-f]/x/g' pairs.tsv >fewer.tsv
"$attend" train --train fewer.tsv --model fewer --tokens word --hidden 48 --embedding 24 --updates 2 --quiet --no-check || failed=1
expect 0 '' convert --average k.update-10 k.update-20 k.update-30 --output mean
expect 0 '' convert --output mean2 --average k.update-30 k.update-10 k.update-20
same 'means in any order' mean mean2
"$attend" convert --average k.update-30 k.update-30 --output same || failed=1
same 'a model and its mean with itself' same k.update-30
cmp -s mean k.update-20 && fail 'an average equals one of its models'
expect 0 'fp32' info mean
expect 0 '' convert --average k.update-* --output mean.int8 --precision int8 --shortlist pairs.tsv --quiet
expect 0 'int8, with a shortlist' info mean.int8
expect 0 '' convert --average k.checkpoint k.update-20 --output mean2 # the training state is ignored
(ulimit -f 8 && "$attend" convert --average k.update-10 k.update-20 --output grown) >printed 2>&1
is 'the end of a mean that may not grow' 5 $?
grep -q 'no file was created' printed || fail "an average beyond the file size limit: $(cat printed)"
ls -a | grep -q grown && fail 'a failed average left a file'
expect 2 'at least two models' convert --average k --output x
expect 2 'leave out --model' convert --average k k --model k --output x
expect 2 '--output FILE is required' convert --average k k
expect 2 "other has hidden '40', and k has '48'" convert --average k other --output x
expect 2 "fewer has " convert --average k fewer --output x
expect 2 'is quantised' convert --average k mean.int8 --output x
expect 5 'nowhere' convert --average k nowhere --output x
expect 4 'pairs.tsv' convert --average k pairs.tsv --output x
[ -e x ] && fail 'a failed conversion wrote a file'
exit $failed
