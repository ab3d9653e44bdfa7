#!/bin/sh
# Multi30k English-German: an RNN with additive attention, the same without attention, and a small Transformer.
#     DATA=directory-with-multi30k [OUT=directory] [ATTEND=path/to/attend] recipes/multi30k/run.sh
# DATA/multi30k has train, val and test_2016_flickr as .en.gz and .de.gz, one caption a line. Text is lower-cased, as for published
# scores. Results: README.md.
set -eu
data=${DATA:?set it to the directory that holds multi30k/}
out=${OUT:-recipe-multi30k}
attend=${ATTEND:-build/attend}
threads=${THREADS:-2}
mkdir -p "$out"
for part in train val test_2016_flickr; do
    for side in en de; do
        gzip -dc "$data/multi30k/$part.$side.gz" | LC_ALL=C.UTF-8 sed 's/.*/\L&/' >"$out/$part.$side"
    done
done

train() { # NAME OPTIONS...
    name=$1
    shift
    "$attend" train --train "$out/train.en" "$out/train.de" --valid "$out/val.en" "$out/val.de" --model "$out/$name" \
        --shared-vocab --tie-embeddings --schedule cosine --average 0.998 --valid-metric bleu --patience 0 --threads "$threads" "$@"
    "$attend" translate --model "$out/$name" --beam 5 --input "$out/test_2016_flickr.en" --output "$out/$name.out"
    echo "$name:"
    "$attend" evaluate --hypothesis "$out/$name.out" --reference "$out/test_2016_flickr.de" --ignore-case
}

set -- --vocab-size 6000 --hidden 384 --embedding 256 --dropout 0.35 --batch-tokens 1500 --learning-rate 0.0015 --warmup 300 --epochs 11
train additive "$@"
train none --attention none "$@"
train transformer --architecture transformer --vocab-size 8000 --hidden 128 --layers 4 --heads 4 --feed-forward-width 256 --dropout 0.3 \
    --batch-tokens 2000 --learning-rate 0.0025 --warmup 1000 --epochs 40 --valid-every 500
# is the difference significant, and how does it depend on sentence length?
"$attend" evaluate --hypothesis "$out/additive.out" --against "$out/none.out" --source "$out/test_2016_flickr.en" \
    --reference "$out/test_2016_flickr.de" --ignore-case --metric bleu,chrf --by-length auto --plot "$out/lengths.svg" | tee "$out/lengths.txt"
