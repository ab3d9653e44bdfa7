#!/bin/sh
# tune.sh ATTEND JSON_LINES: attend tune: candidates, rounds, resuming, and the command it prints. How many candidates and updates fit into a time depends on the
# machine; what is tested does not.
. "$(dirname "$0")/cases.sh"
json_lines=$2
cd "$folder" || exit 1

awk 'BEGIN { srand(1); for (i = 0; i < 300; i++) { s = ""; t = ""; n = 1 + int(rand() * 4);
    for (j = 0; j < n; j++) { k = 1 + int(rand() * 9); s = s (j ? " " : "") substr("abcdefghi", k, 1); t = t (j ? " " : "") substr("ABCDEFGHI", k, 1) }
    print s "\t" t } }' >pairs.tsv
options="--train pairs.tsv --tokens word --embedding 16 --hidden 16 --valid-every 5 --no-check --threads 1"

expect 2 '--train PAIRS is required' tune --time 5s
expect 2 '--time TIME is required' tune --train pairs.tsv
for wrong in 5 m -5s 5s3 1d 0s '' 1e99h; do
    expect 2 "--time '$wrong' is not a time" tune --train pairs.tsv --time="$wrong"
done
expect 2 'language models' tune --train pairs.tsv --time 5s --task language-model
expect 2 'no validation pairs' tune --train pairs.tsv --valid none --time 5s
expect 5 'cannot read none.tsv' tune --train none.tsv --time 5s
expect 5 'cannot read none.tsv' compare --train none.tsv --vary hidden=8,16
[ -e tuning ] && fail 'a refused command made the directory'

# ---- a search ----

"$attend" tune $options --time 2s --output a >a.out 2>a.err || fail "tune fails: $(cat a.err)"
grep -q '^defaults ' a.out || fail "the table has no line for the defaults: $(cat a.out)"
grep -q '^best: ' a.out || fail 'the best candidate is not named'
grep -q '^round 1 of 3, at most' a.err || fail 'the rounds are not announced'
grep -q -- '--test' a.out && fail 'the table speaks of an option that tune does not have'
[ "$(ls a | wc -l)" -ge 2 ] || fail 'there is only one candidate'
ls a | grep -q 'hidden=' && fail 'an option that was given is searched'

# the command works, with the options that were given and those of the best candidate
command=$(sed -n "s|^  $attend train|train|p" a.out) # with the name by which the user runs the program
case $command in *'--hidden 16'*) ;; *) fail "the command lacks an option that was given: $command" ;; esac
best=$(sed -n 's/^best: //p' a.out)
for difference in $best; do
    [ "$difference" = defaults ] && continue
    case $command in *"--${difference%%=*} ${difference#*=}"*) ;; *) fail "the command lacks $difference: $command" ;; esac
done
eval "\"\$attend\" $command --updates 3 --no-check --quiet" || fail "the command fails: $command"
[ -s m ] || fail 'the command writes no model'

# a candidate is trained as attend train does: the options of its model are those of the command
folder_of_best=$(printf %s "$best" | tr ' ' '_')
"$attend" info "a/$folder_of_best/model" | sed 1d | grep -v 'aligns by' >tuned
"$attend" info m | sed 1d | grep -v 'aligns by' >trained
same 'the configuration of the best candidate and of its command' tuned trained

# ---- the same command again: nothing is trained ----

"$attend" tune $options --time 2s --output a >again.out 2>again.err || failed=1
grep -q '^round' again.err && fail 'a search that is done trains again'
same 'the results of a search that is done' a.out again.out
"$attend" tune $options --time 2s --output a --json --quiet >a.json || failed=1
"$json_lines" <a.json >/dev/null || fail 'the JSON object is not valid'
grep -q '"command": \["attend", "train", "--train", "pairs.tsv", "--model", "m"' a.json || fail "the JSON object has no command: $(cat a.json)"

# more time goes on where the search ended
cat a/*/rounds >rounds.before
used=$(awk -F '\t' '/^spent/ { s += $2 } END { printf "%d", s + 1 }' rounds.before) # on a slow machine more than the limit
"$attend" tune $options --time $((2 * used + 2))s --output a --quiet >/dev/null || failed=1
[ "$(cat a/*/rounds | wc -l)" -gt "$(wc -l <rounds.before)" ] || fail 'more time changes nothing'

# ---- candidates depend on the seed alone ----

names() { # the names of all candidates, also of those for which there was no time
    sed 's/.*"candidates": //' | tr '{' '\n' | sed -n 's/.*"name": "\([^"]*\)".*/\1/p'
}
names <a.json >a.names
[ "$(wc -l <a.names)" = 36 ] || fail "there are $(wc -l <a.names) candidates instead of 36"
"$attend" tune $options --time 1s --candidates 9 --output b --quiet --json | names >b.names || failed=1
head -9 a.names | cmp -s - b.names || fail "the same seed gives other candidates: $(cat b.names)"
"$attend" tune $options --time 1s --output c --seed 7 --quiet --json | names >c.names || failed=1
cmp -s a.names c.names && fail 'another seed gives the same candidates'
expect 2 'was made with seed' tune $options --time 1s --output c --seed 8
expect 0 'best: ' tune $options --time 1s --output c --seed 8 --fresh

# ---- killed at any moment ----

"$attend" tune $options --time 2s --output k --quiet >/dev/null 2>&1 &
kill $! 2>/dev/null
wait $! 2>/dev/null
i=0
while [ $i -lt 6 ]; do
    i=$((i + 1))
    cat k/*/rounds 2>/dev/null | wc -l >lines.before
    timeout -s KILL "0.$((3 + i))" "$attend" tune $options --time 2s --output k --quiet >/dev/null 2>&1
    [ "$(cat k/*/rounds 2>/dev/null | wc -l)" -ge "$(cat lines.before)" ] || fail 'a killed search loses a round'
done
timeout -s INT 1 "$attend" tune $options --time 2s --output k >/dev/null 2>k.err
status=$?
[ $status = 124 ] || [ $status = 0 ] || fail "a stopped search: exit status $status"
expect 0 'best: ' tune $options --time 2s --output k
exit $failed
