#!/bin/sh
# ensemble.sh ATTEND [KILLS]: attend train --ensemble: one model file with several members, and every verb that reads it.
. "$(dirname "$0")/cases.sh"
kills=${2:-3}
cd "$folder" || exit 1

awk 'BEGIN { srand(1); for (i = 0; i < 300; i++) { s = ""; t = ""; n = 1 + int(rand() * 4);
    for (j = 0; j < n; j++) { k = 1 + int(rand() * 9); s = s (j ? " " : "") substr("abcdefghi", k, 1); t = t (j ? " " : "") substr("ABCDEFGHI", k, 1) }
    print s "\t" t } }' >pairs.tsv
cut -f1 pairs.tsv | head -20 >lines
options="--train pairs.tsv --valid pairs.tsv --tokens word --hidden 24 --embedding 24 --dropout 0.1 --learning-rate 0.01 --valid-every 20 --updates 80 --no-check --threads 2"

"$attend" train $options --model m --ensemble 3 >log 2>&1 || fail "training fails: $(cat log)"
grep -q 'member      3 of 3, seed 3' log || fail 'the members are not announced'
grep -q 'done: m, an ensemble of 3 models' log || fail 'the ensemble is not announced'
[ -e m.checkpoint ] && fail 'the ensemble has a checkpoint of its own'

# ---- the members are those of three trainings ----

for seed in 1 2 3; do
    "$attend" train $options --model apart-$seed --seed $seed --quiet || failed=1
    same "member $seed and a training with its seed" m.members/$seed apart-$seed
done
expect 0 'm: an ensemble of 3 models, each with' info m
expect 0 '"members": 3' info m --json
expect 0 '"members": 1' info apart-1 --json

# ---- every verb ----

apart='--model apart-1 --model apart-2 --model apart-3'
"$attend" translate --model m --json <lines >together || failed=1
"$attend" translate $apart --json <lines >separate || failed=1
same 'translations of the ensemble and of three models' together separate
"$attend" translate --model apart-1 --json <lines >single || failed=1
cmp -s single together && fail 'the ensemble translates as its first member does'
"$attend" translate --model m --json --threads 1 --batch-tokens 5 <lines >alone || failed=1
same 'translations in any batch' together alone
"$attend" translate --model m --n-best 1 <lines >hypotheses || failed=1

# the score of a translation is the log-probability that the search found
paste lines hypotheses >translated.tsv
"$attend" score --model m --input translated.tsv --quiet >scores || failed=1
"$attend" translate --model m --json <lines | sed -n 's/.*"log_probability": \([-0-9.e]*\).*/\1/p' >found
[ "$(wc -l <found)" = 20 ] || fail 'the translations have no log-probability'
paste scores found | awk '{ d = $1 - $2; if (d > 1e-3 || d < -1e-3) { print "log-probability " $1 " by score, " $2 " by translate"; bad = 1 } } END { exit bad }' || failed=1

"$attend" align --model m --input pairs.tsv >links || failed=1
[ "$(wc -l <links)" = 300 ] || fail 'align prints another number of lines'
expect 0 'a   b   c' show --model m 'a b c' --target 'A B C'
expect 0 '</svg>' show --model m 'a b c' --target 'A B C' --format svg
expect 0 'exact' evaluate --model m --input pairs.tsv --metric exact
"$attend" evaluate --model m --input pairs.tsv --metric exact >evaluated || failed=1

# show: weights and probabilities are means over the members
for x in m apart-1 apart-2 apart-3; do
    "$attend" show --model $x 'a b c' --target 'A B C' --format json >$x.json || failed=1
    for member in probability rest; do # one number a line
        sed "s/.*\"$member\": \[\([^]]*\)\].*/\1/" $x.json | tr ',' '\n' >$x.$member
    done
done
for member in probability rest; do
    paste m.$member apart-1.$member apart-2.$member apart-3.$member |
        awk -v of="$member" '{ d = $1 - ($2 + $3 + $4) / 3; if (d > 2e-5 || d < -2e-5) { print of " is not a mean: " $0; bad = 1 } } END { exit bad || NR < 3 }' || failed=1
done

expect 0 '' convert --model m --output m8 --precision int8
expect 0 'an ensemble of 3 models, each with' info m8
[ "$(wc -c <m8)" -lt "$(wc -c <m)" ] || fail 'the quantised ensemble is not smaller'
"$attend" translate --model m8 <lines >there || failed=1
"$attend" translate --model m --precision int8 <lines >here || failed=1
same 'int8 in the file and when loaded' there here
expect 2 'm is an ensemble' convert --average m apart-1 --output x
expect 2 'm is an ensemble, which cannot use a shortlist' convert --model m --output x --shortlist pairs.tsv
expect 2 'm is an ensemble and cannot be trained' train --train pairs.tsv --valid pairs.tsv --init-from m --model x --no-check
expect 2 '--log' train $options --model x --ensemble 2 --log x.jsonl
expect 2 'ensemble' train $options --model x --ensemble 65
[ -e x ] && fail 'a refused command wrote a file'

# ---- running again, more members, other files ----

cp m first
"$attend" train $options --model m --ensemble 3 --quiet || failed=1
same 'an ensemble that is complete' m first
"$attend" train $options --model m --ensemble 4 --quiet || failed=1
expect 0 'an ensemble of 4 models' info m
same 'a member that is complete' m.members/1 apart-1
"$attend" train $options --model m --ensemble 3 --fresh --quiet || failed=1
same 'an ensemble from scratch' m first
[ -e m.members/4 ] && fail '--fresh leaves a member of the earlier training'
expect 2 'hidden' train $options --hidden 32 --model m --ensemble 3
cp apart-1 single
expect 2 'single exists and is not from this training' train $options --model single --ensemble 2
same 'a model that is not replaced' single apart-1
expect 2 'is the checkpoint of the training of a single model' train $options --model apart-1 --ensemble 2 --fresh
expect 2 'exists' train $options --model m # an ensemble is not replaced by a training without --ensemble

# ---- killed at any moment ----

i=0
while [ "$i" -lt "$kills" ]; do
    i=$((i + 1))
    rm -rf k k.members
    tries=0
    until timeout -s KILL "0.$((1 + (i * 3 + tries * 2) % 9))" "$attend" train $options --model k --ensemble 3 --quiet 2>/dev/null; do
        tries=$((tries + 1))
        [ "$tries" -lt 20 ] || { sleep 2; "$attend" train $options --model k --ensemble 3 --quiet || failed=1; break; }
    done
    same "an ensemble that was killed $tries times" k first
done
exit $failed
