#!/bin/bash
# demo.sh ATTEND: attend demo with few updates: its output and files, usage errors, unusable directories, SIGINT.
. "$(dirname "$0")/cases.sh"
cd "$folder" || exit 1
exec </dev/null
limit=300

# ---- a short run ----
"$attend" demo --pairs 300 --updates 4 --output short --threads 2 >out 2>messages || fail "the demo failed: $(cat messages)"
for words in 'exact match' 'attention ' 'AER' 'short/model' 'train --train pairs.tsv'; do
    grep -q "$words" out || fail "the output lacks '$words': $(cat out)"
done
[ "$(grep -c '@ 1$' out)" -gt 3 ] || fail "no maps were shown: $(cat out)"
grep -q 'attention.html' out && grep -q '</html>' short/attention.html || fail "there is no page"
grep -q 'update' messages || fail 'no progress was printed'
[ "$(wc -l <short/train.tsv)" = 300 ] && [ "$(wc -l <short/test.tsv)" = 500 ] || fail 'wrong number of pairs'
cut -f1 short/train.tsv | sort -u >a && cut -f1 short/valid.tsv short/test.tsv | sort -u >b
[ -z "$(comm -12 a b)" ] || fail 'held-out sources are among the training ones'

# the other verbs give the same results
grep -q '^short/model: cross-attention' out || fail 'the maps have no caption'
printf 'I do not see him .\n' | "$attend" translate --model short/model >/dev/null || fail 'the model does not translate'
printed=$("$attend" align --model short/model --input short/test.tsv --gold short/test.links) || fail "the gold links: $printed"
exact=$("$attend" evaluate --model short/model --input short/test.tsv --metric exact | grep -o '[0-9.]*' | head -1)
grep -q "exact match ${exact%0*}" out || fail "evaluate gives $exact: $(grep exact out)"

# the result depends on the seed, not on threads or earlier runs
"$attend" demo --pairs 300 --updates 4 --output again --threads 1 --quiet >out2 2>messages2 || fail 'the demo failed on one thread'
[ -s messages2 ] && fail "output with --quiet: $(cat messages2)"
cmp -s short/model again/model || fail 'the model depends on the number of threads'
sed 's/again/short/g' out2 | cmp -s - out || fail 'the results depend on the number of threads'
expect 0 'again/model' demo --pairs 300 --updates 2 --output again --seed 2 --attention dot
cmp -s short/train.tsv again/train.tsv && fail 'another seed gives the same pairs'
"$attend" info again/model | grep -q dot || fail '--attention has no effect'
grep -q 'docs/demo.md compares the scores' out && fail 'the default score is compared with itself'
expect 0 'docs/demo.md compares the scores' demo --pairs 300 --updates 2 --output again --attention bilinear --quiet
"$attend" info again/model | grep -qE 'heads +8' || fail 'bilinear attention does not have 8 heads'
expect 0 'exact match' demo --pairs 300 --updates 2 --output none --attention none --quiet

# ---- pairs only ----
expect 0 'pairs/train.tsv' demo --write-pairs pairs --pairs 200
[ -e pairs/model ] && fail '--write-pairs trained'
"$attend" check --train pairs/train.tsv --valid pairs/valid.tsv >printed 2>&1 || fail "check finds faults in the pairs: $(cat printed)"

# ---- files that cannot be written keep their content ----
cp pairs/train.tsv before
(ulimit -f 200 && "$attend" demo --write-pairs pairs --pairs 20000) >printed 2>&1
is 'the exit status of pairs beyond the file size limit' 5 $?
grep -q 'cannot write pairs/train.tsv' printed || fail "pairs beyond the file size limit: $(cat printed)"
same 'the pairs before a failed demo and after it' before pairs/train.tsv
echo old >translations
(ulimit -f 1 && "$attend" evaluate --model short/model --input short/test.tsv --output translations) >/dev/null 2>&1
is 'the exit status of translations beyond the file size limit' 5 $?
is 'a file that evaluate cannot replace' old "$(cat translations)"
ls -a . pairs | grep -q 'tmp$' && fail "a failed write left a temporary file: $(ls -a . pairs)"

# ---- files that are not from a demo ----
mkdir own && echo mine >own/valid.tsv
expect 2 'own/valid.tsv is not from a demo' demo --output own --pairs 100
expect 2 'own/valid.tsv is not from a demo' demo --write-pairs own --pairs 100
[ "$(cat own/valid.tsv)" = mine ] && [ "$(ls own)" = valid.tsv ] || fail 'the demo overwrote files that are not its own'
echo 0-0 >own/test.links # links of another corpus
expect 2 'own/valid.tsv is not from a demo' demo --output own --pairs 100
rm own/valid.tsv
expect 2 'own/test.links is not from a demo' demo --output own --pairs 100
[ "$(cat own/test.links)" = 0-0 ] && [ "$(ls own)" = test.links ] || fail 'the demo overwrote links that are not its own'

# ---- a model that is not from a demo stays, also in the directory of a demo ----
printf 'a b\tb a\nb c\tc b\nc a\ta c\nb b\tb b\n' >few.tsv
expect 0 'done' train --train few.tsv --valid none --model m --updates 1 --tokens word --hidden 8 --embedding 8 --no-check
for name in model model.checkpoint model.single; do
    cp -r short kept && cp m "kept/$name"
    [ $name = model.checkpoint ] && cp m.checkpoint kept/$name
    cp "kept/$name" before
    expect 2 "kept/$name is not from a demo" demo --output kept --pairs 300 --updates 2
    same 'a model that is not from a demo' before "kept/$name"
    rm -r kept
done
# of the user, from the pairs of a demo
expect 0 'done' train --train short/train.tsv --valid none --model w --updates 1 --tokens word --hidden 8 --embedding 8
cp -r short kept && cp w kept/model
expect 2 'kept/model is not from a demo' demo --output kept --pairs 300 --updates 2
cp short/model kept/model && echo mine >kept/attention.html
expect 2 'kept/attention.html exists and is not an HTML page' demo --output kept --pairs 300 --updates 2
is 'a page of the user' mine "$(cat kept/attention.html)"

# ---- the suggested commands work as printed ----
"$attend" demo --pairs 300 --updates 2 --output "it's here" --quiet >out || fail 'a directory name with a quote and a space'
grep "^  .*--model 'it" out >try
[ "$(wc -l <try)" = 3 ] || fail "expected three commands: $(cat out)"
sh -e ./try >printed 2>&1 || fail "a suggested command fails: $(cat printed)"

# ---- errors ----
expect 2 'did you mean' demo --attention additiv
expect 2 "unexpected argument 'words'" demo words
expect 2 'integer from 100' demo --pairs 3
expect 2 'did you mean --pairs' demo --pair 300
expect 5 'cannot create directory no/such' demo --output no/such --pairs 100
touch file
expect 5 'cannot write file/test.links' demo --output file --pairs 100
if [ "$(id -u)" != 0 ]; then
    mkdir closed && chmod a-w closed
    expect 5 'cannot write closed/test.links' demo --output closed --pairs 100
fi
mkdir full && ln -s /dev/full full/train.tsv && touch full/test.links
expect 5 'cannot write full/train.tsv' demo --output full --pairs 100
ls attend-demo >/dev/null 2>&1 && fail 'a failed demo created attend-demo'

# ---- SIGINT ----
rm -f messages # the messages of the earlier run also contain 'update 1'
"$attend" demo --pairs 2000 --output stopped --threads 1 >out 2>messages &
demo=$!
for _ in $(seq 600); do
    grep -q 'update 1 ' messages && break
    sleep 0.1
done
kill -INT $demo
wait $demo
code=$?
[ $code = 130 ] && grep -q 'stopped' messages || fail "SIGINT: exit status $code: $(cat messages)"
ls stopped/.*.tmp >/dev/null 2>&1 && fail 'temporary files were left'
exit $failed
