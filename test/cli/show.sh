#!/bin/sh
# show.sh ATTEND JSON_LINES: attend show as a user meets it: every option and format, what does not go together, lines that cannot be shown, terminals and pipes.
json=$2
. "$(dirname "$0")/cases.sh"
cd "$folder" || exit 1
unset NO_COLOR COLORTERM COLUMNS
export LC_ALL=C

# sequences of letters, said backwards; two heads, and a model without attention
awk 'BEGIN { srand(1); for (i = 0; i < 400; i++) { s = ""; t = ""; n = 1 + int(rand() * 5);
    for (j = 0; j < n; j++) { w = substr("abcdefgh", 1 + int(rand() * 8), 1); s = s (j ? " " : "") w; t = w (j ? " " : "") t }
    print s "\t" t } }' >pairs.tsv
train() { # MODEL OPTIONS..
    model=$1
    shift
    "$attend" train --train pairs.tsv --model "$model" --hidden 32 --embedding 16 --dropout 0 --batch-tokens 100 --learning-rate 0.005 \
        --threads 2 --quiet --no-check "$@" || exit 1
}
train one --tokens word --updates 400 --seed 1
train two --tokens bpe --vocab-size 300 --heads 2 --updates 20
train layered --tokens word --architecture transformer --heads 2 --layers 2 --embedding 32 --updates 20
cut -f 1 pairs.tsv >lines.txt
"$attend" train --task language-model --train lines.txt --model lines.model --tokens word --hidden 16 --updates 5 --threads 2 --quiet --no-check || exit 1
train bare --tokens word --attention none --readout plain --updates 10

# usage
expect 2 '--model FILE is missing' show 'd e'
expect 2 'a sentence is missing' show --model one
expect 2 'one sentence too many' show --model one d e
expect 2 'not both' show --model one 'd e' --input pairs.tsv
expect 2 '--target is for one sentence' show --model one --input pairs.tsv --target d
expect 2 'here they are given' show --model one 'd e' --target 'e d' --beam 3
expect 2 'here they are given' show --model one --input pairs.tsv --hypothesis 2
expect 2 'more than --beam 5 finds' show --model one 'd e' --hypothesis 6
expect 2 "did you mean 'svg'?" show --model one 'd e' --format svgg
expect 2 '--output map-%d.svg' show --model one --input pairs.tsv --format svg
expect 2 '--output map-%d.png' show --model one --input pairs.tsv --output map.png
expect 2 'a whole number' show --model one 'd e' --width 5
expect 2 'there is no head 1' show --model one 'd e' --head 1
expect 2 'there is no layer 1' show --model one 'd e' --layer 1
expect 2 'bare has no attention' show --model bare 'd e'
expect 2 'lines.model is a language model' show --model lines.model 'd e'
expect 4 'pairs.tsv' show --model pairs.tsv 'd e'
expect 5 'none' show --model none 'd e'
expect 5 'none' show --model one --input none
expect 0 'docs/show.md' show --help

# sentences that cannot be shown
expect 3 'empty' show --model one ''
expect 3 'empty' show --model one '  '
expect 3 'empty' show --model one 'd e' --target ''
expect 3 'UTF-8' show --model one "$(printf 'd \377')"
expect 3 'UTF-8' show --model one 'd e' --target "$(printf 'd \377')"
expect 3 'room for 1000 pieces' show --model one "$(awk 'BEGIN { for (i = 0; i < 1001; i++) printf "d " }')"
expect 3 'has 1001 pieces' show --model one d --target "$(awk 'BEGIN { for (i = 0; i < 1001; i++) printf "d " }')"
expect 3 'room for 400 words' show --model one d --format svg --target "$(awk 'BEGIN { for (i = 0; i < 401; i++) printf "d " }')"

# the terminal: what looks at what, without colours in a pipe
"$attend" show --model one 'd e h' >out || fail 'show fails'
is 'the words across' 'd e h' "$(sed -n 3p out | awk '{ print $1, $2, $3 }')"
is 'the words down' 'h e d' "$(sed -n 4,6p out | awk '{ printf "%s%s", (NR > 1 ? " " : ""), $1 }')"
is 'h looks at the last' '@@@' "$(sed -n 4p out | awk '{ print $NF }' | tr '*#%' '@@@')"
is 'd looks at the first' '@@@' "$(sed -n 6p out | awk '{ print $3 }' | tr '*#%' '@@@')"
grep -q "$(printf '\033')" out && fail 'colours in a pipe'
grep -q '^log p -' out || fail 'no remarks'
is 'the same when it is forced' "$(cat out)" "$("$attend" show --model one 'd e h' --target 'h e d')"
is 'ends are pieces' 2 "$("$attend" show --model one 'd e h' --pieces | grep -c '</s>')"
"$attend" show --model one 'd e h' --target 'a a a' | grep -q '^a 0.0' || fail 'an improbable target'
[ "$("$attend" show --model one 'd e h' --hypothesis 2)" = "$(cat out)" ] && fail 'the second hypothesis is the first'
[ "$("$attend" show --model two 'd e h' --target 'd' --head 0)" = "$("$attend" show --model two 'd e h' --target 'd' --head 1)" ] && fail 'two heads are the same'
"$attend" show --model two 'd e h' --target 'd' | grep -q 'mean of 2 heads' || fail 'no mean of heads'
is 'layers and heads' '"layers": 2, "heads": 2, "layer": 1, "head": 0' \
    "$("$attend" show --model layered 'd e h' --target 'd' --layer 1 --head 0 --format json | grep -o '"layers.*"head": [0-9]*')"
"$attend" show --model layered 'd e h' --target 'd' --layer 1 | grep -q 'layer 1, mean of 2 heads' || fail 'no layer'
[ "$("$attend" show --model layered 'd e h' --target 'd' --layer 0)" = "$("$attend" show --model layered 'd e h' --target 'd' --layer 1)" ] && fail 'two layers are the same'
expect 2 'there is no layer 2' show --model layered 'd e' --layer 2
is 'a narrow one has bands' 2 "$("$attend" show --model one 'd e h a b c' --width 24 | grep -c '^$' | awk '{ print $1 - 1 }')"
for columns in x 12x -3 0 99999999999999999999; do
    is "COLUMNS=$columns" "$(cat out)" "$(COLUMNS=$columns "$attend" show --model one 'd e h')"
done
is 'COLUMNS' "$("$attend" show --model one 'd e h a b c' --width 24)" "$(COLUMNS=24 "$attend" show --model one 'd e h a b c')"
is 'no locale matters' "$(cat out)" "$(LC_ALL=C.UTF-8 "$attend" show --model one 'd e h')"

# a terminal
if script -qec true /dev/null >/dev/null 2>&1; then
    on_terminal() { # VARIABLES..
        script -qec "env $* '$attend' show --model one 'd e h'" /dev/null </dev/null
    }
    on_terminal TERM=xterm-256color | grep -q '48;5;' || fail 'no 256 colours'
    on_terminal TERM=xterm COLORTERM=truecolor | grep -q '48;2;' || fail 'no 24-bit colours'
    for plain in TERM=dumb 'TERM=xterm-256color NO_COLOR=1' 'TERM=' TERM=vt100; do
        on_terminal "$plain" | grep -q '48;' && fail "colours with $plain"
    done
    script -qec "'$attend' show --model one --format png 'd e h'" /dev/null </dev/null | grep -q 'nothing for a terminal' || fail 'a PNG on a terminal'
fi

# files
head -3 pairs.tsv >few.tsv
cut -f 1 few.tsv >lines
printf '\n\377\nd\000e\n' >>lines
"$attend" show --model one --input lines >out 2>said || fail 'a file fails'
is 'maps of a file' 3 "$(grep -c '^log p' out)"
is 'lines passed over' 3 "$(grep -c 'is not shown' said)"
grep -q 'lines:5 is not shown: it is not UTF-8' said || fail "no warning: $(cat said)"
is 'quiet' '' "$("$attend" show --model one --input lines --quiet 2>&1 >/dev/null)"
is 'standard input' "$(cat out)" "$("$attend" show --model one --input - --quiet <lines)"
"$attend" show --model one --input lines --quiet --output elsewhere && cmp -s out elsewhere || fail '--output differs'
: >nothing
expect 3 'none of its 0 lines' show --model one --input nothing
printf '\n\n' >nothing
expect 3 'none of its 2 lines' show --model one --input nothing --quiet
is 'pairs are forced' 3 "$("$attend" show --model one --input few.tsv --format json | grep -c '"forced": true')"
cut -f 1 few.tsv >few.source
cut -f 2 few.tsv >few.target
"$attend" show --model one --input few.tsv >out
is 'two files are pairs' "$(cat out)" "$("$attend" show --model one --input few.source few.target)"
is 'several files' 6 "$("$attend" show --model one --input few.source --input few.target --format json | "$json" line)"
expect 2 'here they are given' show --model one --input few.source few.target --beam 2
expect 5 'nowhere' show --model one --input few.tsv --input nowhere
"$attend" show --model one --input few.tsv --input nowhere 2>/dev/null | grep -q . && fail 'a file is read before all are looked at'
printf 'd e\te d\nd e\nd\td\n' >torn.tsv
expect 3 'torn.tsv:2: there is no TAB' show --model one --input torn.tsv
is 'the pair before it is shown' 1 "$("$attend" show --model one --input torn.tsv 2>/dev/null | grep -c '^log p')"
printf 'd\000e\te d\nd\td\n' >torn.tsv
expect 0 'torn.tsv:1 is not shown: the character 0' show --model one --input torn.tsv
expect 3 'torn.tsv:1: a byte 0' score --model one --input torn.tsv
echo d >>few.source
expect 3 'one has 4 lines and the other 3' show --model one --input few.source few.target
is 'a sentence of two lines' "$("$attend" show --model one 'd e')" "$("$attend" show --model one "$(printf 'd\ne')")"

# JSON
is 'objects' 6 "$("$attend" show --model one --input lines --quiet --format json | "$json" line)"
is 'faults' 3 "$("$attend" show --model one --input lines --quiet --format json | grep -c '"fault"')"
is 'members' 1 "$("$attend" show --model two 'd "\ <e' --format json | "$json" source target forced log_probability score confidence entropy unseen loops \
    source_words target_words source_pieces target_pieces probability choices layers heads layer head weights)"
"$attend" show --model two 'd e' --output x.json && "$json" word_weights <x.json >/dev/null || fail 'the format by the name of the output'

# pictures
for kind in svg png; do
    "$attend" show --model one 'd e h' --output x.$kind || fail "$kind fails"
    "$attend" show --model one 'd e h' --format $kind | cmp -s - x.$kind || fail "$kind on standard output differs"
    "$attend" show --model one --input lines --quiet --output "map-%d.$kind" || fail "several $kind fail"
    is "several $kind" "map-1.$kind map-2.$kind map-3.$kind" "$(echo map-*.$kind)"
done
is 'a PNG' 'PNG' "$(head -c 4 x.png | tail -c 3)"
case $(head -c 5 x.svg) in '<?xml' | '<svg ') ;; *) fail "an SVG begins with '$(head -1 x.svg)'" ;; esac

# a page
"$attend" show --model one --input lines --quiet --beam 2 --output x.html || fail 'html fails'
is 'a page' '<!doctype html>' "$(head -c 15 x.html | tr A-Z a-z)"
expect 2 'html shows all hypotheses' show --model one 'd e h' --format html --hypothesis 2

# what was written must have arrived
if [ -c /dev/full ]; then
    for format in terminal json svg png html; do
        "$attend" show --model one 'd e h' --format $format >/dev/full 2>said
        is "a full disk and $format" 5 $?
        expect 5 '/dev/full' show --model one 'd e h' --format $format --output /dev/full
    done
fi
mkfifo slow
"$attend" show --model one --input slow --output stopped.json &
stopped=$!
exec 3>slow
echo 'd e h' >&3
for _ in $(seq 200); do
    ls .stopped.json.*.tmp >/dev/null 2>&1 && break
    sleep 0.05
done
kill -TERM $stopped
wait $stopped
is 'stopped while it writes' 143 $?
exec 3>&-
is 'nothing is left of it' '' "$(ls -A | grep stopped)"
expect 5 'no/such' show --model one 'd e h' --output no/such/x.svg
cp x.svg old.svg
expect 3 'empty' show --model one '' --output x.svg
cmp -s x.svg old.svg || fail 'a failure changes the old picture'
exit $failed
