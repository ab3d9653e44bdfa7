#!/bin/sh
# Transliteration of Arabic names, character by character, with and without attention. Results: README.md.
#     DATA=directory-with-translit [OUT=directory] [ATTEND=path/to/attend] recipes/translit/run.sh
set -eu
data=${DATA:?set it to the directory that holds translit/}
out=${OUT:-recipe-translit}
attend=${ATTEND:-build/attend}
threads=${THREADS:-2}
mkdir -p "$out"
gzip -dc "$data/translit/ar2en-train.txt.gz" >"$out/all.tsv"
gzip -dc "$data/translit/ar2en-eval.txt.gz" >"$out/test.tsv"
awk -v directory="$out" '{ print > (directory "/" (NR % 25 == 0 ? "valid" : "train") ".tsv") }' "$out/all.tsv"
cut -f1 "$out/test.tsv" >"$out/test.ar"
cut -f2 "$out/test.tsv" >"$out/test.en"
for attention in additive none; do
    "$attend" train --train "$out/train.tsv" --valid "$out/valid.tsv" --model "$out/$attention" --tokens char --attention $attention \
        --hidden 192 --embedding 64 --dropout 0.3 --batch-tokens 400 --learning-rate 0.002 --schedule cosine --warmup 400 \
        --average 0.998 --crop 0 --valid-metric exact --patience 0 --epochs 15 --threads "$threads"
    "$attend" translate --model "$out/$attention" --beam 5 --input "$out/test.ar" --output "$out/$attention.out"
    echo "$attention:"
    "$attend" evaluate --hypothesis "$out/$attention.out" --reference "$out/test.en" --metric exact
    "$attend" evaluate --hypothesis "$out/$attention.out" --reference "$out/test.en" --metric cer
done
