#!/bin/bash
# memory.sh ATTEND PEAK_MEMORY: memory does not grow with the number of lines, whatever is kept of them; --memory holds for every verb; what would take more
# is left out with its number.
. "$(dirname "$0")/cases.sh"
peak_memory=$2
cd "$folder" || exit 1
exec </dev/null
limit=300

awk 'BEGIN { srand(1); for (i = 0; i < 200; i++) { s = ""; t = ""; n = 1 + int(rand() * 5);
    for (j = 0; j < n; j++) { w = substr("abcdefgh", 1 + int(rand() * 8), 1); s = s (j ? " " : "") w; t = w (j ? " " : "") t }
    print s "\t" t } }' >pairs.tsv
awk 'BEGIN { srand(3); for (i = 0; i < 40; i++) { s = ""; t = "";
    for (j = 0; j < 900; j++) { w = substr("abcdefgh", 1 + int(rand() * 8), 1); s = s (j ? " " : "") w; t = w (j ? " " : "") t }
    print s "\t" t } }' >long.tsv
cut -f 1 pairs.tsv >short
head -20 long.tsv | cut -f 1 >long
head -16 long.tsv >some.tsv
head -4 long >four
cat short four >mixed
train() { # MODEL OPTIONS...
    model=$1
    shift
    "$attend" train --train pairs.tsv --model "$model" --hidden 16 --tokens word --batch-tokens 100 --updates 1 --threads 2 --quiet --no-check "$@" || exit 1
}
train m --embedding 8
train back --embedding 8 --seed 2
train layers --architecture transformer --heads 4 --layers 2

peak() { # MAX_KB ARGUMENTS...: the command succeeds within this memory; output in `out`, messages in `messages`
    max=$1
    shift
    timeout $limit "$peak_memory" "$attend" "$@" >out 2>messages || fail "attend $*: $(cat messages)"
    used=$(tail -1 messages)
    [ "$used" -le "$max" ] || fail "attend $*: $used kB instead of $max"
}

# ---- memory does not grow with the number of lines: 20 translations of 1800 words with their weights are 130 MB, 40 maps 130 MB and more ----
many='--length-penalty 10 --beam 2 --threads 1'
# shellcheck disable=SC2086
{
    peak 100000 translate --model m --input long --alignment hard $many
    is 'lines' 20 "$(wc -l <out)"
    [ "$(wc -c <out)" -gt 200000 ] || fail 'the translations are too short for this test'
    peak 100000 translate --model m --input long --json --replace-unknown $many --max-length 900
}
peak 110000 align --model m --input long.tsv --threads 1
is 'lines of links' 40 "$(wc -l <out)"
peak 180000 align --model m --reverse-model back --input long.tsv --threads 1
peak 200000 align --model layers --input some.tsv --threads 1
peak 120000 align --model m --input long.tsv --threads 1 --evaluate-maps
head -6 long.tsv | awk -F '\t' '{ for (i = 1; i <= 2; i++) { n = split($i, w, " ") / 10; for (j = 1; j <= n; j++) printf "%s%s", w[j], j < n ? " " : i < 2 ? "\t" : "\n" } }' >tenth.tsv
peak 110000 convert --model m --shortlist tenth.tsv --output listed --threads 1 --quiet
peak 60000 score --model m --input long.tsv --threads 1 --quiet

# ---- a line of 16 MiB is left out before it is encoded: the tokens would take 400 MB and more ----
"$attend" train --train pairs.tsv --model pieces --hidden 16 --embedding 8 --tokens bpe --batch-tokens 100 --updates 1 --quiet --no-check || exit 1
awk 'BEGIN { print "a b"; s = "abcdefghabcdefgh"; while (length(s) < 16777216) s = s s; print s; print "c" }' >wide
peak 120000 translate --model pieces --input wide --threads 1
is 'lines' 3 "$(wc -l <out)"
grep -q 'line 2 is not translated: it is too long' messages || fail "no warning: $(cat messages)"
peak 120000 show --model pieces --input wide --threads 1
paste wide wide >wide.tsv
peak 160000 align --model pieces --input wide.tsv --threads 1
is 'lines of links' 3 "$(wc -l <out)"

# ---- links that a line repeats: each is as many links between letters as both words have ----
awk 'BEGIN { for (i = 0; i < 90; i++) { s = s "a"; t = t "b" } for (i = 0; i < 2; i++) print s "\t" t > "one-word.tsv"
    for (i = 0; i < 100000; i++) printf "0-0 " > "repeated.links"; print "\n0-0" > "repeated.links" }'
peak 120000 train --train one-word.tsv --valid none --tokens char --model guided --hidden 8 --embedding 8 --updates 1 --threads 1 --quiet --no-check \
    --guided-alignment repeated.links

# ---- --memory: about this much is used, and the results are the same ----
for verb in translate score evaluate align show convert compare train tune check demo serve; do
    [ $verb = serve ] && ! "$attend" help serve >/dev/null 2>&1 && continue
    case $("$attend" $verb --help-all) in *--memory\ SIZE*) ;; *) fail "attend $verb has no --memory" ;; esac
    expect 2 'not a size (such as' --memory lots
done
verb=
"$attend" translate --model m --input mixed --alignment soft --beam 2 >all 2>/dev/null
peak 90000 translate --model m --input mixed --alignment soft --beam 2 --memory 80M --threads 2
same 'translations with --memory' all out
"$attend" align --model layers --input some.tsv >all
peak 150000 align --model layers --input some.tsv --memory 140M --threads 2
same 'links with --memory' all out
expect 2 'this model takes at least 25M, and the memory limit is 10M' translate --model m --memory 10M
expect 2 'and the memory limit is 9k' score --model m --input pairs.tsv --memory 9k
expect 2 'takes at least' align --model m --input pairs.tsv --memory 1M
expect 2 'takes at least' align --model m --input pairs.tsv --memory 1M --evaluate-maps
expect 1 'take more than half of the memory limit' convert --model m --output n --shortlist pairs.tsv --memory 4k
expect 2 'quantising the model takes at least 17M, and the memory limit is 1k' convert --model m --output n --precision int8 --memory 1k
expect 2 'the average takes at least 17M, and the memory limit is 16M' convert --average m m --output n --memory 16M
[ ! -e n ] || fail 'convert wrote a model beyond its memory limit'
# a model of 26 MB within the stated limit
"$attend" train --train pairs.tsv --model large --hidden 1000 --embedding 64 --tokens word --batch-tokens 100 --updates 1 --threads 2 --quiet --no-check || exit 1
for options in '--model large --precision int8' '--average large large'; do
    # shellcheck disable=SC2086
    stated=$("$attend" convert $options --output n --memory 1M 2>&1 | sed 's/.*takes at least \([0-9]*\)M.*/\1/')
    # shellcheck disable=SC2086
    peak $(((stated + 8) * 1024)) convert $options --output n --memory "${stated}M"
done
expect 2 'takes at least' show --model m --memory 1M 'a b'
expect 2 'training this model takes at least' demo --pairs 300 --updates 1 --output demo --memory 1M --quiet
stated=$("$attend" demo --pairs 300 --updates 1 --output demo --memory 1M --quiet 2>&1 | sed 's/.*takes at least \([0-9]*\)M.*/\1/')
peak $(((stated + 8) * 1024)) demo --pairs 300 --updates 1 --output demo --memory "${stated}M" --quiet --threads 2
expect 2 'takes at least' evaluate --model m --input pairs.tsv --memory 1M
expect 3 'the lines take more than 5 MiB of memory' evaluate --hypothesis <(exec yes) --reference short --memory 41M
expect 0 '' translate --model m --input short --memory 0
expect 1 'different lines and their words, by which duplicates are found, take more than the memory limit' \
    check --task language-model --memory 10M --train <(exec seq 1 100000000)
expect 0 'training: 200 pairs' check --train pairs.tsv --valid none --memory 10M
awk 'BEGIN { srand(4); for (i = 0; i < 20000; i++) { for (j = 0; j < 16; j++) printf "%d%s", 1000000 * rand(), j == 7 ? "\t" : j < 15 ? " " : "\n" } }' >words.tsv
timeout $limit "$peak_memory" "$attend" align --input words.tsv --memory 60M --threads 1 >out 2>messages
is 'the exit status of an aligner beyond the memory limit' 1 $?
grep -q 'of the word aligner take more than the memory limit' messages || fail "no message: $(cat messages)"
[ "$(tail -1 messages)" -le 75000 ] || fail "an aligner within 60 MB takes $(tail -1 messages) kB"

# ---- what takes more is left out, with its number; the other lines are not affected ----
printf 'a b\n%s\nc d\n' "$(head -1 long)" >three
"$attend" translate --model m --input three --alignment hard | sed '2s/.*/ |||/' >all
"$attend" translate --model m --input three --alignment hard --memory 40M >out 2>messages
same 'lines, of which one is left out,' all out
grep -q 'line 2 is not translated: it would take more memory than the limit allows' messages || fail "no warning: $(cat messages)"
# a pair of 10,001 and 10,001 words takes more than 100 million steps of attention
awk 'BEGIN { print "a b\tb a"; for (i = 0; i < 20001; i++) printf "a%s", i == 10000 ? "\t" : i == 20000 ? "\n" : " "; print "c d\td c" }' >square.tsv
expect 0 'pair 2 is not scored: its attention would take more than 100 million steps' score --model m --input square.tsv
expect 0 'pair 2 is not aligned: its attention would take more than 100 million steps' align --model m --input square.tsv
cat pairs.tsv square.tsv >with-square.tsv
wide=(--tokens word --hidden 8 --embedding 8 --batch-tokens 100 --updates 1 --threads 1 --no-check --max-length 20000 --valid none)
peak 60000 train --train with-square.tsv --model square "${wide[@]}"
grep -q 'with-square.tsv:202 is left out: its attention takes more than 100 million steps' messages || fail "no warning: $(cat messages)"
# measuring stays within the limit, too
{ cat pairs.tsv; sed -n 2p square.tsv | cut -c 1-17999,20002-38001; } >long-pair.tsv
timeout $limit "$peak_memory" "$attend" train --train long-pair.tsv --model square2 "${wide[@]}" --memory 60M 2>messages
is 'the exit status of training beyond the memory limit' 2 $?
[ "$(tail -1 messages)" -le 70000 ] || fail "training within 60 MB takes $(tail -1 messages) kB"
printf 'a b\tb a\n%s\nc d\td c\n' "$(head -1 long.tsv)" >three.tsv
"$attend" score --model layers --input three.tsv --memory 40M >out 2>messages || fail 'score fails'
is 'scores' 'nan' "$(sed -n 2p out)"
is 'numbers' 2 "$(grep -c '^-' out)"
grep -q 'pair 2 is not scored: it would take more memory' messages || fail "no warning: $(cat messages)"
# a score without one of the lines would be wrong: what a metric refuses is refused before it is translated
awk 'BEGIN { print "a b\tb a"; printf "a\t"; for (i = 0; i < 40000; i++) printf "a "; print "a" }' >far.tsv
expect 3 'far.tsv:2: the line has 40001 words; the maximum of TER is 32768' evaluate --model m --input far.tsv --output translated
[ -e translated ] && fail 'lines are translated that cannot be scored'
expect 3 'far.tsv:2: the line has 40001 words' compare --train pairs.tsv --test far.tsv --metric ter --output far --vary hidden=8 --updates 1
[ -e far/hidden=8/model ] && fail 'a model is trained for lines that cannot be scored'
awk 'BEGIN { print "a b\tb a"; for (i = 0; i < 1000000; i++) printf "a "; printf "a\t"; for (i = 0; i < 1000000; i++) printf "a "; print "a"; print "c d\td c" }' >million.tsv
awk 'BEGIN { print "a b\tb a"; s = "abcdefgh"; while (length(s) < 17 * 1048576) s = s s; print s "\tb"; print "c d\td c" }' >wide.tsv
for file in million wide; do
    "$attend" align --model m --input $file.tsv >out 2>messages || fail "align fails for $file: $(cat messages)"
    is "lines of $file" 3 "$(wc -l <out)"
    is "the second line of $file" '' "$(sed -n 2p out)"
    [ -n "$(sed -n 1p out)" ] && [ -n "$(sed -n 3p out)" ] || fail "$file: other lines are affected"
    grep -q 'pair 2 is not aligned' messages || fail "$file: no warning: $(cat messages)"
    expect 0 'pair 2 is left out' convert --model m --shortlist $file.tsv --output listed
    expect 0 '2 pairs aligned' convert --model m --shortlist $file.tsv --output listed
    expect 0 'AER' align --model m --input $file.tsv --evaluate-maps
done
expect 0 'pair 2 is not scored: a line has more than 16 MiB' score --model m --input wide.tsv
expect 0 'is not shown: the line has more than 16 MiB' show --model m --input wide.tsv
for format in html json; do
    expect 0 'three.tsv:2 is not shown: its attention maps would take more memory than the limit allows' \
        show --model layers --input three.tsv --output page.$format --memory 30M
    [ "$(grep -c '"line": *[13]' page.$format)" = 2 ] || [ $format = html ] || fail "other lines are not shown: $(cat page.$format)"
done
exit $failed
