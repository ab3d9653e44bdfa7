#!/bin/sh
# show.sh ATTEND JSON_LINES: attend show: every option and format, usage errors, lines that cannot be shown, terminals and pipes.
json=$2
. "$(dirname "$0")/cases.sh"
cd "$folder" || exit 1
unset NO_COLOR COLORTERM COLUMNS
export LC_ALL=C

# sequences of letters and their reversals; models with one head, two heads, and without attention
awk 'BEGIN { srand(1); for (i = 0; i < 400; i++) { s = ""; t = ""; n = 1 + int(rand() * 5);
    for (j = 0; j < n; j++) { w = substr("abcdefgh", 1 + int(rand() * 8), 1); s = s (j ? " " : "") w; t = w (j ? " " : "") t }
    print s "\t" t } }' >pairs.tsv
train() { # MODEL OPTIONS...
    model=$1
    shift
    "$attend" train --train pairs.tsv --model "$model" --hidden 32 --embedding 16 --dropout 0 --batch-tokens 100 --learning-rate 0.005 \
        --threads 2 --quiet --no-check "$@" || exit 1
}
train one --tokens word --updates 400 --seed 1
train two --tokens bpe --vocab-size 300 --heads 2 --updates 20
train layered --tokens word --architecture transformer --heads 2 --layers 2 --embedding 32 --updates 20
train local --tokens word --window local-p --updates 10
train bare --tokens word --attention none --readout plain --updates 10
cut -f 1 pairs.tsv >text
lm() { # MODEL OPTIONS...
    model=$1
    shift
    "$attend" train --task language-model --train text --model "$model" --hidden 16 --dropout 0 --batch-tokens 100 --threads 2 --quiet --no-check "$@" || exit 1
}
train transformer --architecture transformer --tokens word --embedding 32 --heads 2 --layers 2 --decoder-layers 3 --updates 20
train lstmn --architecture lstmn --tokens word --updates 10
train short --architecture transformer --tokens word --embedding 32 --heads 2 --layers 1 --positions learned --max-positions 4 --updates 5
lm transformer-lm --architecture transformer --tokens word --heads 2 --layers 2 --updates 20
lm lstmn-lm --architecture lstmn --tokens char --embedding 8 --updates 5
lm lstm-lm --tokens word --cell lstm --embedding 8 --updates 5

# usage errors
expect 2 '--model FILE is required' show 'd e'
expect 2 'a sentence or --input FILE is required' show --model one
expect 2 "unexpected argument 'e'" show --model one d e
expect 2 'not both' show --model one 'd e' --input pairs.tsv
expect 2 '--target applies to a single sentence' show --model one --input pairs.tsv --target d
expect 2 '--beam and --hypothesis cannot be combined with --target' show --model one 'd e' --target 'e d' --beam 3
expect 2 '--beam and --hypothesis do not apply to pairs' show --model one --input pairs.tsv --hypothesis 2
expect 2 'is larger than --beam 5' show --model one 'd e' --hypothesis 6
expect 2 "did you mean 'svg'?" show --model one 'd e' --format svgg
expect 2 "the ending '.jpg' of x.jpg names no format; use .svg, .pdf, .png, .html, .json, .jsonl, .npz or .txt" show --model one 'd e' --output x.jpg
expect 2 "the ending '.7' of map-%d.7" show --model one 'd e' --output map-%d.7
[ -e x.jpg ] && fail 'a file with an unknown ending is written'
expect 2 "did you mean 'grey'?" show --model one 'd e' --palette gray
expect 2 '--layer and --head do not apply with --all-heads' show --model two 'd e' --all-heads --head 0
expect 2 '--all-heads shows one model' show --model two --model one 'd e' --all-heads
expect 2 '--output map-%d.npz' show --model one --input pairs.tsv --format npz
expect 2 '--output map-%d.svg' show --model one --input pairs.tsv --format svg
expect 2 '--output map-%d.png' show --model one --input pairs.tsv --output map.png
expect 2 'an integer' show --model one 'd e' --width 5
expect 2 'head 1 of attention is out of range' show --model one 'd e' --head 1
expect 2 'layer 1 of attention is out of range' show --model one 'd e' --layer 1
expect 2 'bare has no attention' show --model bare 'd e'
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
expect 3 'a map has at most 1000 tokens' show --model one "$(awk 'BEGIN { for (i = 0; i < 1001; i++) printf "d " }')"
expect 3 'has 1001 tokens' show --model one d --target "$(awk 'BEGIN { for (i = 0; i < 1001; i++) printf "d " }')"
expect 3 'at most 400 rows and columns' show --model one d --format svg --target "$(awk 'BEGIN { for (i = 0; i < 401; i++) printf "d " }')"

# a model that has not learned enough, or has no attention: the message says what to do
awk 'BEGIN { for (i = 0; i < 200; i++) print "d e\tw" i }' >unique.tsv # the end is by far the most frequent token
"$attend" train --train unique.tsv --model new --tokens word --hidden 16 --embedding 8 --schedule constant --average 0 --crop 0 \
    --updates 3 --threads 1 --quiet --no-check || exit 1
printf 'd e\nd e\n' >again
is 'the translations of a new model' '' "$("$attend" translate --model new --input again)"
expect 0 'the translation has no words, as before a model has learned enough: train new longer' show --model new 'd e'
expect 0 'the target has no words' show --model new 'd e'
expect 3 'the sentence cannot be shown: its translation has no words to draw' show --model new 'd e' --output new.svg
expect 3 'or show tokens, which include the end (--tokens)' show --model new 'd e' --output new.png
expect 3 '2 of 2 translations have no words' show --model new --input again --output 'new-%d.svg'
expect 0 '' show --model new 'd e' --output new.svg --tokens
expect 0 '' show --model new 'd e' --output new.svg --target 'w1 w2'
is 'the notes of --quiet' '' "$("$attend" show --model new 'd e' --quiet 2>&1 >/dev/null)"
expect 2 'train a model with it (--attention additive)' show --model bare 'd e'
expect 2 'train a model with it (--architecture transformer)' show --model lstm-lm 'd e'
expect 2 'it cannot align: train a model with it (--attention additive)' align --model bare --input pairs.tsv
expect 2 'train a translation model on pairs' align --model lstm-lm --input pairs.tsv

# the terminal format, without colours in a pipe
"$attend" show --model one 'd e h' >out || fail 'show fails'
is 'the words across' 'd e h' "$(sed -n 4p out | awk '{ print $1, $2, $3 }')"
is 'the words down' 'h e d' "$(sed -n 5,7p out | awk '{ printf "%s%s", (NR > 1 ? " " : ""), $1 }')"
is 'h attends to the last word' '@@@' "$(sed -n 5p out | cut -c 16-18 | tr '*#%' '@@@')"
is 'd attends to the first word' '@@@' "$(sed -n 7p out | awk '{ print $3 }' | tr '*#%' '@@@')"
grep -q "$(printf '\033')" out && fail 'colours in a pipe'
grep -q '^log p -' out || fail 'no statistics'
is 'the same for a given target' "$(cat out)" "$("$attend" show --model one 'd e h' --target 'h e d')"
is 'end tokens' 2 "$("$attend" show --model one 'd e h' --tokens | grep -c '</s>')"
"$attend" show --model one 'd e h' --target 'a a a' | grep -q '^a 0.0' || fail 'an improbable target'
[ "$("$attend" show --model one 'd e h' --hypothesis 2)" = "$(cat out)" ] && fail 'the second hypothesis is the first'
[ "$("$attend" show --model two 'd e h' --target 'd' --head 0)" = "$("$attend" show --model two 'd e h' --target 'd' --head 1)" ] && fail 'two heads are the same'
"$attend" show --model two 'd e h' --target 'd' | grep -q 'mean of 2 heads' || fail 'no mean of heads'
is 'layers and heads' '"layers": 2, "heads": 2, "layer": 1, "head": 0' \
    "$("$attend" show --model layered 'd e h' --target 'd' --layer 1 --head 0 --format json | grep -o '"layers.*"head": [0-9]*')"
"$attend" show --model layered 'd e h' --target 'd' --layer 1 | grep -q 'layer 1, mean of 2 heads' || fail 'no layer'
[ "$("$attend" show --model layered 'd e h' --target 'd' --layer 0)" = "$("$attend" show --model layered 'd e h' --target 'd' --layer 1)" ] && fail 'two layers are the same'
expect 2 'layer 2 of attention is out of range' show --model layered 'd e' --layer 2
is 'bands on a narrow terminal' 2 "$("$attend" show --model one 'd e h a b c' --width 24 | grep -c '^$' | awk '{ print $1 - 1 }')"
for columns in x 12x -3 0 99999999999999999999; do
    is "COLUMNS=$columns" "$(cat out)" "$(COLUMNS=$columns "$attend" show --model one 'd e h')"
done
is 'COLUMNS' "$("$attend" show --model one 'd e h a b c' --width 24)" "$(COLUMNS=24 "$attend" show --model one 'd e h a b c')"
is 'the locale has no effect' "$(cat out)" "$(LC_ALL=C.UTF-8 "$attend" show --model one 'd e h')"

# a terminal
has_terminal
on_terminal() { # VARIABLES...
    script -qec "env $* '$attend' show --model one 'd e h'" /dev/null </dev/null
}
on_terminal TERM=xterm-256color | grep -q '48;5;' || fail 'no 256 colours'
on_terminal TERM=xterm COLORTERM=truecolor | grep -q '48;2;' || fail 'no 24-bit colours'
for plain in TERM=dumb 'TERM=xterm-256color NO_COLOR=1' 'TERM=' TERM=vt100; do
    on_terminal "$plain" | grep -q '48;' && fail "colours with $plain"
done
for kind in png pdf npz; do
    script -qec "'$attend' show --model one --format $kind 'd e h'" /dev/null </dev/null | grep -q 'cannot be written to a terminal' || fail "$kind on a terminal"
done
# every cell has its own background and foreground: none is left to the colours of the terminal
on_terminal TERM=xterm COLORTERM=truecolor >colours
is 'cells with both colours' "$(grep -o '\[48;2;[0-9;]*;38;5;[0-9]*m' colours | wc -l)" "$(grep -o '\[48;' colours | wc -l)"
is 'cells, and the scale' 22 "$(grep -o '\[48;' colours | wc -l)"
grep -q '48;2;255;255;255;38;5;16m' colours || fail 'a weight of 0 is not black on white'
script -qec "env TERM=xterm COLORTERM=truecolor '$attend' show --model one 'd e h' --palette grey" /dev/null </dev/null >colours
awk 'BEGIN { RS = "\033" } /^\[48;2;/ { split($0, c, ";"); if (c[3] != c[4] || c[4] != c[5]) bad = 1 } END { exit bad }' colours || fail 'grey has colours'

# files
head -3 pairs.tsv >few.tsv
cut -f 1 few.tsv >lines
printf '\n\377\nd\000e\n' >>lines
"$attend" show --model one --input lines >out 2>printed || fail 'a file fails'
is 'maps of a file' 3 "$(grep -c '^log p' out)"
is 'skipped lines' 3 "$(grep -c 'is not shown' printed)"
grep -q 'lines:5 is not shown: it is not UTF-8' printed || fail "no warning: $(cat printed)"
is 'quiet' '' "$("$attend" show --model one --input lines --quiet 2>&1 >/dev/null)"
is 'standard input' "$(cat out)" "$("$attend" show --model one --input - --quiet <lines)"
"$attend" show --model one --input lines --quiet --output elsewhere && cmp -s out elsewhere || fail '--output differs'
: >nothing
expect 3 'none of the 0 lines' show --model one --input nothing
printf '\n\n' >nothing
expect 3 'none of the 2 lines' show --model one --input nothing --quiet
is 'targets of pairs' 3 "$("$attend" show --model one --input few.tsv --format json | grep -c '"forced": true')"
cut -f 1 few.tsv >few.source
cut -f 2 few.tsv >few.target
"$attend" show --model one --input few.tsv >out
is 'two files are pairs' "$(cat out)" "$("$attend" show --model one --input few.source few.target)"
is 'several files' 6 "$("$attend" show --model one --input few.source --input few.target --format json | "$json" line)"
expect 2 '--beam and --hypothesis do not apply to pairs' show --model one --input few.source few.target --beam 2
expect 5 'nowhere' show --model one --input few.tsv --input nowhere
"$attend" show --model one --input few.tsv --input nowhere 2>/dev/null | grep -q . && fail 'a file is read before all are checked'
printf 'd e\te d\nd e\nd\td\n' >torn.tsv
expect 3 'torn.tsv:2: the line has no TAB' show --model one --input torn.tsv
is 'the pair before it is shown' 1 "$("$attend" show --model one --input torn.tsv 2>/dev/null | grep -c '^log p')"
printf 'd\000e\te d\nd\td\n' >torn.tsv
expect 0 'torn.tsv:1 is not shown: it contains a NUL byte' show --model one --input torn.tsv
expect 3 'torn.tsv:1: the line contains a NUL byte; remove it' score --model one --input torn.tsv
echo d >>few.source
expect 3 'one has 4 lines and the other 3' show --model one --input few.source few.target
is 'a sentence of two lines' "$("$attend" show --model one 'd e')" "$("$attend" show --model one "$(printf 'd\ne')")"

# JSON
is 'objects' 6 "$("$attend" show --model one --input lines --quiet --format json | "$json" line)"
is 'faults' 3 "$("$attend" show --model one --input lines --quiet --format json | grep -c '"fault"')"
is 'members' 1 "$("$attend" show --model two 'd "\ <e' --format json | "$json" model source target forced log_probability score confidence entropy unseen loops \
    source_words target_words source_pieces target_pieces probability choices layers heads layer head weights rest word_rest)"
"$attend" show --model layered 'd e' --target 'e d' --all-heads --format json >out
is 'all layers and heads' 1 "$("$json" all_weights all_word_weights <out)"
grep -q '"all_word_weights": \[\[\[\[[0-9., ]*\], \[[0-9., ]*\]\], \[\[[0-9., ]*\], \[[0-9., ]*\]\]\], \[\[\[' out || fail "two layers of two heads: $(cat out)"
"$attend" show --model two 'd e' --output x.json && "$json" word_weights <x.json >/dev/null || fail 'the format by the name of the output'

# the rest: of words, the weight on the end; of tokens, only what a local window takes away
"$attend" show --model two 'd e h' --target 'h e d' | grep -q '^.*(rest)$' || fail 'no column for the rest'
"$attend" show --model two 'd e h' --target 'h e d' --tokens | grep -q '(rest)' && fail 'tokens of a global window have a rest'
"$attend" show --model local 'd e h d e h d e h' --target 'h e d' --tokens | grep -q '(rest)' || fail 'a local window has no rest'
"$attend" show --model local 'd e h d e h d e h' --target 'h e d' --output local.svg && grep -q '>(rest)</text>' local.svg || fail 'a picture has no rest'

# NumPy archives
"$attend" show --model layered 'd e' --target 'e d' --output x.npz || fail 'npz fails'
"$attend" show --model layered 'd e' --target 'e d' --format npz | cmp -s - x.npz || fail 'npz on standard output differs'
"$attend" show --model layered --input lines --quiet --output "map-%d.npz" || fail 'several npz fail'
is 'several npz' 'map-1.npz map-2.npz map-3.npz' "$(echo map-*.npz)"
"$attend" show --model layered --model one 'd e' --target 'e d' --output both.npz || fail 'npz of two models'
if command -v python3 >/dev/null; then
    python3 "$(dirname "$0")/read_npz.py" x.npz out >printed 2>&1 || fail "$(cat printed)"
    "$attend" show --model local 'd e h d e h' --target 'e d' --output local.npz
    python3 "$(dirname "$0")/read_npz.py" local.npz >printed 2>&1 || fail "a local window: $(cat printed)"
    is 'two models in an archive' 'layered one' "$(python3 "$(dirname "$0")/read_npz.py" both.npz)"
else
    echo 'archives are not read: there is no python3'
fi

# pictures
for kind in svg pdf png; do
    "$attend" show --model one 'd e h' --output x.$kind || fail "$kind fails"
    "$attend" show --model one 'd e h' --format $kind | cmp -s - x.$kind || fail "$kind on standard output differs"
    "$attend" show --model one --input lines --quiet --output "map-%d.$kind" || fail "several $kind fail"
    is "several $kind" "map-1.$kind map-2.$kind map-3.$kind" "$(echo map-*.$kind)"
done
is 'a PNG' 'PNG' "$(head -c 4 x.png | tail -c 3)"
is 'a PDF' '%PDF' "$(head -c 4 x.pdf)"
for text in '>d</text>' '>one</text>' '>cross-attention</text>'; do
    grep -q "$text" x.svg || fail "the SVG has no $text"
done
"$attend" show --model one 'd e h' --output x.SVG && cmp -s x.svg x.SVG || fail 'an ending in capitals'
for palette in blue grey viridis; do
    "$attend" show --model one 'd e h' --palette $palette --output $palette.svg || fail "the palette $palette"
done
cmp -s blue.svg x.svg || fail 'blue is not the default'
grep 'fill="#' grey.svg | sed 's/.*fill="#\(..\)\(..\)\(..\)".*/\1 \2 \3/' | awk '$1 != $2 || $2 != $3 { exit 1 }' || fail 'grey.svg has colours'

# all layers and heads
for kind in svg pdf png; do
    "$attend" show --model layered 'd e h' --all-heads --output heads.$kind || fail "all heads as $kind"
done
for text in 'layered: cross-attention' 'layer 0, head 0' 'layer 0, head 1' 'layer 1, head 0' 'layer 1, head 1'; do
    is "$text" 1 "$(grep -c ">$text</text>" heads.svg)"
done
"$attend" show --model layered 'd e h' --target 'e' --all-heads >out
is 'all heads on the terminal' 'layered: cross-attention, layer 0, head 0:layered: cross-attention, layer 0, head 1:layered: cross-attention, layer 1, head 0:layered: cross-attention, layer 1, head 1:' \
    "$(grep '^layered' out | tr '\n' ':')"
"$attend" show --model layered 'd e h' --all-heads --output x.html && grep -q '"allHeads":true' x.html || fail 'a page of all heads'

# several models
"$attend" show --model one --model two 'd e h' --target 'h e d' >out || fail 'two models'
is 'maps of two models' 'one: cross-attention two: cross-attention, mean of 2 heads' "$(grep ': cross' out | tr '\n' ' ' | sed 's/ $//')"
is 'the map of the second' "$("$attend" show --model two 'd e h' --target 'h e d')" "$(awk '/^log p/ { n++ } n == 2' out)"
for kind in svg pdf png html; do
    "$attend" show --model one --model two 'd e h' --target 'h e d' --output both.$kind || fail "two models as $kind"
done
for text in one two 'cross-attention, mean of 2 heads'; do
    is "$text" 1 "$(grep -c ">$text</text>" both.svg)"
done
is 'models of a page' '"models":[{"name":"one","layer":0,"head":-1},{"name":"two","layer":0,"head":-1}]' "$(grep -o '"models":[^]]*]' both.html)"
is 'one map of each' '"model":0 "model":1' "$(grep -o '"model":.' both.html | tr '\n' ' ' | sed 's/ $//')"
is 'JSON of two models' '"model": "one" "model": "two"' "$("$attend" show --model one --model two 'd e h' --format json | grep -o '"model": "[a-z]*"' | tr '\n' ' ' | sed 's/ $//')"
"$attend" show --model one --model two --input few.tsv --output "both-%d.svg" || fail 'lines by two models'
is 'lines by two models' 'both-1.svg both-2.svg both-3.svg' "$(echo both-?.svg)"
expect 0 'as before a model has learned enough: train two longer' show --model one --model two 'd e h'
expect 2 'bare has no attention' show --model one --model bare 'd e'
expect 2 'one has no encoder attention; it has: cross' show --model transformer --model one 'd e' --attention-kind encoder
expect 2 'one translates and transformer-lm is a language model' show --model one --model transformer-lm 'd e'
expect 2 'one translates and transformer-lm is a language model' show --model transformer-lm --model one 'd e'
expect 5 'nowhere' show --model one --model nowhere 'd e'
case $(head -c 5 x.svg) in '<?xml' | '<svg ') ;; *) fail "an SVG begins with '$(head -1 x.svg)'" ;; esac

# a page
"$attend" show --model one --input lines --quiet --beam 2 --output x.html || fail 'html fails'
is 'a page' '<!doctype html>' "$(head -c 15 x.html | tr A-Z a-z)"
expect 2 '--hypothesis does not apply to html' show --model one 'd e h' --format html --hypothesis 2

# ---- kinds of attention ----
# self-attention of a decoder: weights in the lower triangle only; columns of `show` are four characters wide
lower() { # FILE FIRST_ROW ROWS COLUMN
    awk -v first="$2" -v rows="$3" -v column="$4" 'NR >= first && NR < first + rows { if (length($0) > column + 4 * (NR - first) + 3) bad = 1; n++ }
        END { exit bad || n != rows }' "$1"
}
"$attend" show --model transformer 'd e h' --target 'h e d' >out || fail 'a Transformer'
grep -q 'layer 1, mean of 2 heads' out || fail "not the map the model aligns by: $(head -1 out)"
is 'the same, given explicitly' "$(cat out)" "$("$attend" show --model transformer 'd e h' --target 'h e d' --attention-kind cross --layer 1)"
"$attend" show --model transformer 'd e h' --target 'h e d' --layer -1 | grep -q 'mean of 3 layers and 2 heads' || fail 'the mean of all'
"$attend" show --model transformer 'd e h' --attention-kind encoder >out || fail 'the encoder'
is 'statistics of an encoder' 'entropy' "$(head -1 out | awk '{ print $1 }')"
grep -q 'encoder self-attention, mean of 2 layers and 2 heads' out || fail "which map: $(head -2 out)"
grep -q 'log p\|confidence\|[0-9]\.[0-9][0-9] *[-:=+*#%@.]' out && fail "an encoder has no probabilities: $(cat out)"
is 'the source across' 'd e h' "$(sed -n 4p out | awk '{ print $1, $2, $3 }')"
is 'the source down' 'd e h' "$(sed -n 5,7p out | awk '{ printf "%s%s", (NR > 1 ? " " : ""), $1 }')"
[ "$("$attend" show --model transformer 'd e h' --attention-kind encoder --layer 0 --head 1)" = "$("$attend" show --model transformer 'd e h' --attention-kind encoder --layer 1 --head 1)" ] && fail 'two layers are the same'
"$attend" show --model transformer 'd e h' --target 'h e d' --attention-kind decoder --tokens --width 120 >out || fail 'the decoder'
grep -q 'decoder self-attention, mean of 3 layers and 2 heads' out || fail "which map: $(head -2 out)"
is 'the target on both sides' '<s> h e d' "$(sed -n 4p out | sed 's/ *$//; s/^ *//; s/  */ /g')"
sed -n 5p out | grep -q '^<s>      @@@$' || fail "<s> attends to itself and has no probability: $(sed -n 5p out)"
lower out 5 4 9 || fail "weights above the diagonal: $(cat out)"
is 'encoder and probabilities' 0 "$("$attend" show --model transformer 'd e h' --attention-kind encoder --format json | grep -c 'probability\|confidence\|choices\|loops\|forced')"
is 'members of an encoder map' 1 "$("$attend" show --model transformer 'd e h' --attention-kind encoder --format json | "$json" attention source target entropy layers heads layer head weights word_weights)"
"$attend" show --model transformer 'd e h' --attention-kind decoder --target 'h e' --format json | grep -q '"attention": "decoder", "source": "h e", "target": "h e".*"probability": \[null, 0\.' || fail 'JSON of a decoder'
for kind in encoder decoder; do
    "$attend" show --model lstmn 'd e h' --attention-kind $kind --tokens >out || fail "an LSTMN's $kind"
    grep -q "$kind self-attention" out || fail "an LSTMN's $kind: $(cat out)"
done
for kind in svg pdf png json npz html; do
    "$attend" show --model transformer 'd e h' --attention-kind encoder --output encoder.$kind || fail "an encoder as $kind"
    "$attend" show --model transformer-lm 'd e h' --output text.$kind || fail "a language model as $kind"
done
"$attend" show --model lstmn --input few.tsv --attention-kind encoder --format json >out || fail 'sources of pairs'
is 'sources of pairs' 3 "$(grep -c '"attention": "encoder"' out)"
expect 2 'one has no decoder attention; it has: cross' show --model one 'd e' --attention-kind decoder
expect 2 'transformer-lm has no cross attention; it has: decoder (a language model has no source)' show --model transformer-lm 'd e' --attention-kind cross
expect 2 "did you mean 'encoder'?" show --model transformer 'd e' --attention-kind encode
expect 2 'layer 2 of attention is out of range' show --model transformer 'd e' --attention-kind encoder --layer 2
expect 0 'layer 2' show --model transformer 'd e' --layer 2
expect 2 '--target does not apply to --attention-kind encoder' show --model transformer 'd e' --attention-kind encoder --target 'e d'
expect 2 '--beam does not apply to --attention-kind encoder' show --model transformer 'd e' --attention-kind encoder --beam 2

# language models
"$attend" show --model transformer-lm 'd e h' --tokens >out || fail 'a language model'
tr '\n' ' ' <out | grep -q '^log p -.*decoder self-attention, mean of 2' || fail "a language model: $(cat out)"
lower out "$(awk '/^<s>/ { print NR }' out)" 4 9 || fail "it attends to later tokens: $(cat out)"
is 'the score' "$(echo 'd e h' | "$attend" score --model transformer-lm --input - --quiet | awk '{ printf "%.3f", $1 }')" "$(head -1 out | awk '{ print substr($3, 1, length($3) - 1) }')"
"$attend" show --model lstmn-lm 'd e h' >/dev/null || fail 'an LSTMN as a language model'
expect 2 'lstm-lm has no attention: there is nothing to show' show --model lstm-lm 'd e h'
expect 2 'does not translate: --beam' show --model transformer-lm 'd e' --beam 3
expect 2 'does not translate: --hypothesis' show --model transformer-lm 'd e' --hypothesis 2
expect 2 'does not translate: --target' show --model transformer-lm 'd e' --target 'd'
expect 2 'few.tsv is a file of pairs' show --model transformer-lm --input few.tsv
expect 3 'the text is empty' show --model transformer-lm ' '
is 'files of lines' 6 "$("$attend" show --model transformer-lm --input few.target few.target --format json | "$json" line attention)"
"$attend" show --model transformer-lm --input lines >out 2>printed || fail 'lines'
is 'maps of lines' 3 "$(grep -c '^log p' out)"
grep -q 'lines:5 is not shown' printed || fail "no warning: $(cat printed)"
is 'their titles' "1: $(head -1 lines)" "$(head -1 out)"

# sentences longer than max-positions
expect 3 'the source is too long: the model accepts at most 3 tokens' show --model short 'd e h d'
expect 3 'the source has 4 tokens; the model has positions for 3' show --model short 'd e h d' --target d
expect 3 'the target has 4 tokens; the model has positions for 3' show --model short 'd e' --target 'd e h d'
expect 3 'the source has 4 tokens; the model has positions for 3' show --model short 'd e h d' --attention-kind encoder
expect 0 'log p' show --model short 'd e h' --target 'd e h' --attention-kind decoder
expect 0 'log p' show --model short 'd e h' --beam 2 --hypothesis 2 --tokens

# a page has all kinds of attention, up to a limit on its size
"$attend" show --model transformer --input few.tsv --output x.html || fail 'a page with all kinds of attention'
for kind in cross encoder decoder; do
    is "maps of $kind" 3 "$(grep -o "\"attention\":\"$kind\"" x.html | wc -l)"
done
"$attend" show --model transformer 'd e h' --beam 3 --output x.html || fail 'a page of hypotheses'
is 'hypotheses' '3 1 3' "$(for kind in cross encoder decoder; do grep -o "\"attention\":\"$kind\"" x.html | wc -l; done | tr '\n' ' ' | sed 's/ $//')"
grep -q '"name":"transformer","layer":1,"head":-1' x.html || fail 'a page does not begin with the map the model aligns by'
"$attend" show --model transformer 'd e h' --attention-kind decoder --beam 2 --output x.html || fail 'a page of one kind'
is 'one kind' '0 0 2' "$(for kind in cross encoder decoder; do grep -o "\"attention\":\"$kind\"" x.html | wc -l; done | tr '\n' ' ' | sed 's/ $//')"
awk 'BEGIN { for (i = 0; i < 500; i++) s = s "d "; print s "\t" s; print "d\te" }' >large.tsv # 1.5 million weights per attention kind
expect 0 '1 of 2 sentences have cross attention only' show --model transformer --input large.tsv --output x.html
is 'kinds within the limit' '2 1 1' "$(for kind in cross encoder decoder; do grep -o "\"attention\":\"$kind\"" x.html | wc -l; done | tr '\n' ' ' | sed 's/ $//')"
grep -q '"attention":"encoder","source":"d",' x.html || fail 'a short sentence after a long one lacks a kind'

# errors of the output are reported
if [ -c /dev/full ]; then
    for format in terminal json svg pdf png html npz; do
        "$attend" show --model one 'd e h' --format $format >/dev/full 2>printed
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
is 'no file remains' '' "$(ls -A | grep stopped)"
expect 5 'no/such' show --model one 'd e h' --output no/such/x.svg
cp x.svg old.svg
expect 3 'empty' show --model one '' --output x.svg
cmp -s x.svg old.svg || fail 'a failure changes the old picture'
exit $failed
