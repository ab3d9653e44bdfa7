#!/bin/sh
# Multi30k English-German: an RNN with additive attention, and the same without attention.
#     DATA=folder-with-multi30k [OUT=folder] [ATTEND=path/to/attend] recipes/multi30k/run.sh
# DATA/multi30k has train, val and test_2016_flickr as .en.gz and .de.gz, a caption a line. Text is lower-cased, as its published
# scores are. README.md beside this has what came out.
set -eu
data=${DATA:?name the folder that holds multi30k/}
out=${OUT:-recipe-multi30k}
attend=${ATTEND:-build/attend}
threads=${THREADS:-2}
mkdir -p "$out"
for part in train val test_2016_flickr; do
    for side in en de; do
        gzip -dc "$data/multi30k/$part.$side.gz" | LC_ALL=C.UTF-8 sed 's/.*/\L&/' >"$out/$part.$side"
    done
done

train() { # NAME options of the model
    name=$1
    shift
    "$attend" train --train "$out/train.en" "$out/train.de" --valid "$out/val.en" "$out/val.de" --model "$out/$name" \
        --shared-vocab --tie-embeddings --vocab-size 6000 --hidden 384 --embedding 256 --dropout 0.35 --batch-tokens 1500 \
        --learning-rate 0.0015 --schedule cosine --warmup 300 --average 0.998 --valid-metric bleu --patience 0 --epochs 11 \
        --threads "$threads" "$@"
    "$attend" translate --model "$out/$name" --beam 5 --input "$out/test_2016_flickr.en" --output "$out/$name.out"
    echo "$name:"
    "$attend" evaluate --hypothesis "$out/$name.out" --reference "$out/test_2016_flickr.de" --lowercase
}

train additive
train none --attention none
# is the difference more than chance, and where does it lie?
"$attend" evaluate --hypothesis "$out/additive.out" --against "$out/none.out" --source "$out/test_2016_flickr.en" \
    --reference "$out/test_2016_flickr.de" --lowercase --metric bleu,chrf --by-length auto --plot "$out/lengths.svg" | tee "$out/lengths.txt"
