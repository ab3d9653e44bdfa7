#!/bin/sh
# Word alignment of the Canadian Hansards: by the statistical aligner, and by the attention of two models, English to French and French to English,
# that are trained on sentence pairs with guided alignment.
#     DATA=directory-with-hansards [OUT=directory] [ATTEND=path/to/attend] [THREADS=2] [GUIDED=auto|no] [GUIDANCE=1]
#     [KIND=rnn|transformer] [PAIRS=60000] [UPDATES=5000] [SEED=1] recipes/hansards/run.sh
# GUIDED=no: without guided alignment; the map, and how it is read, is selected at the end of training.
# DATA/hansards has train.en.gz and train.fr.gz, one sentence a line, and gold/NAME.en.gz, .fr.gz and .wa.gz (human alignments, sure and possible); every
# NAME is aligned. Gold links are not used in training. Results: README.md.
set -eu
data=${DATA:?set it to the directory that holds hansards/}
out=${OUT:-recipe-hansards}
attend=${ATTEND:-build/attend}
threads=${THREADS:-2}
pairs=${PAIRS:-60000}
updates=${UPDATES:-5000}
guided=${GUIDED:-auto}
case ${KIND:-rnn} in
rnn) kind="--context after --input-feeding --readout plain --hidden 192 --embedding 128" ;;
transformer) kind="--architecture transformer --hidden 128 --layers 3 --heads 4 --feed-forward-width 512" ;;
*)
    echo "run.sh: KIND is rnn or transformer" >&2
    exit 2
    ;;
esac
[ "$guided" = no ] || kind="$kind --guided-alignment $guided --guidance ${GUIDANCE:-1}"
mkdir -p "$out"

# The gold sentences are tokenized, with accents and some upper case; the training text is not tokenized and has no accents. Both become lower
# case without accents, and every punctuation mark becomes a word, except in numbers and after titles.
tokenize() {
    LC_ALL=C.UTF-8 sed 's/.*/\L&/; y/àâäáãéèêëîïìíôöòóùûüúçñ/aaaaaeeeeiiiioooouuuucn/; s/œ/oe/g; s/æ/ae/g; s/[’`]/'"'"'/g' |
        sed "s/''/\"/g; s/[^a-z0-9.,' ]/ & /g; s/\([^0-9]\)\([.,]\)/\1 \2 /g; s/\([.,]\)\([^0-9]\)/ \1 \2/g; s/\([.,]\)\$/ \1/; s/^[.,]/& /"
}
# splits English contractions
english() {
    tokenize | sed "s/\b\(mr\|mrs\|ms\|dr\) *\. /\1. /g; s/can't/can not/g; s/won't/will not/g; s/n't / not /g; s/'\(s\|ll\|re\|ve\|m\|d\) / '\1 /g; s/\([a-z]\)' /\1 ' /g; s/  */ /g; s/^ //; s/ \$//"
}
# expands French contractions as in the gold sentences: l'heure is "le heure", du is "de le"
french() {
    tokenize | sed "s/.*/ & /; s/ \(m\|mm\) *\. / \1. /g; s/aujourd'hui/aujourd' hui/g; s/ s'il/ si il/g; s/\([^a-z]\)\([ldnjmtsc]\|[a-z]*qu\)'/\1\2e /g; s/\(qu\)'/\1e /g
        s/ des / de les /g; s/ du / de le /g; s/ aux / a les /g; s/ au / a le /g; s/  */ /g; s/^ //; s/ \$//"
}

gzip -dc "$data/hansards/train.en.gz" | english >"$out/all.en"
gzip -dc "$data/hansards/train.fr.gz" | french >"$out/all.fr"
# Whole sentences without repeated pairs, selected evenly and in their order. Every third pair is also joined to the one before it, because the gold
# sentences are longer than those of the training text (at most 15 words).
paste "$out/all.en" "$out/all.fr" |
    awk -F'\t' '$1 ~ /[.?!]$/ && $2 ~ /[.?!]$/ && split($1, word, " ") >= 6 && !seen[$0]++' >"$out/once.tsv"
total=$(wc -l <"$out/once.tsv")
awk -F'\t' -v selected="$pairs" -v total="$total" -v directory="$out" '
    int(NR * selected / total) == int((NR - 1) * selected / total) { next }
    { n++; to = directory "/" (n % 60 == 0 ? "valid" : "train") ".tsv"; print > to
      if (n % 3 == 0 && n % 60 != 0) print before[1] " " $1 "\t" before[2] " " $2 > to
      before[1] = $1; before[2] = $2 }' "$out/once.tsv"
for part in train valid; do awk -F'\t' '{ print $2 "\t" $1 }' "$out/$part.tsv" >"$out/$part.back.tsv"; done

train() { # NAME ENDING-OF-FILES
    # shellcheck disable=SC2086 # a list of options
    "$attend" train --train "$out/train$2.tsv" --valid "$out/valid$2.tsv" --model "$out/$1" --tokens bpe --vocab-size 4000 $kind \
        --dropout 0.1 --batch-tokens 800 --learning-rate 0.001 --schedule cosine --warmup 300 --average 0.998 --valid-metric perplexity --valid-every 500 --save-every 500 --patience 0 --updates "$updates" \
        --seed "${SEED:-1}" --threads "$threads"
}
"$attend" align --input "$out/train.tsv" --save "$out/aligner" --threads "$threads" >"$out/train.links"
train en-fr ""
train fr-en .back

for gold in "$data"/hansards/gold/*.wa.gz; do
    name=$(basename "$gold" .wa.gz)
    # the gold sentences are tokenized: the links count these words
    for side in en fr; do
        gzip -dc "$data/hansards/gold/$name.$side.gz" |
            LC_ALL=C.UTF-8 sed 's/.*/\L&/; y/àâäáãéèêëîïìíôöòóùûüúçñ/aaaaaeeeeiiiioooouuuucn/; s/œ/oe/g; s/æ/ae/g; s/ *$//' >"$out/$name.$side"
    done
    echo "$name, statistical aligner:"
    "$attend" align --aligner "$out/aligner" --input "$out/$name.en" "$out/$name.fr" --gold "$gold" | tee "$out/$name.aligner.aer"
    echo "$name, attention:"
    "$attend" align --model "$out/en-fr" --reverse-model "$out/fr-en" --input "$out/$name.en" "$out/$name.fr" --gold "$gold" | tee "$out/$name.aer"
    "$attend" align --model "$out/en-fr" --reverse-model "$out/fr-en" --input "$out/$name.en" "$out/$name.fr" >"$out/$name.links"
done
