#!/bin/sh
# Multi30k English-German: the Transformer of recipes/multi30k in fp32, bf16x3 and bf16, from the same seeds. Results: README.md.
#     DATA=directory-with-multi30k [OUT=directory] [ATTEND=path/to/attend] [SEEDS="1 2 3"] [EPOCHS=40] recipes/precision/run.sh
set -eu
data=${DATA:?set it to the directory that holds multi30k/}
out=${OUT:-recipe-precision}
attend=${ATTEND:-build/attend}
threads=${THREADS:-2}
mkdir -p "$out"
for part in train val test_2016_flickr; do
    for side in en de; do
        gzip -dc "$data/multi30k/$part.$side.gz" | LC_ALL=C.UTF-8 sed 's/.*/\L&/' >"$out/$part.$side"
    done
done

for seed in ${SEEDS:-1 2 3}; do
    for compute in fp32 bf16x3 bf16; do
        name=$compute.$seed
        "$attend" train --train "$out/train.en" "$out/train.de" --valid "$out/val.en" "$out/val.de" --model "$out/$name" --compute $compute \
            --seed "$seed" --shared-vocab --tie-embeddings --schedule cosine --average 0.998 --valid-metric bleu --patience 0 --threads "$threads" \
            --architecture transformer --vocab-size 8000 --hidden 128 --layers 4 --heads 4 --feed-forward-width 256 --dropout 0.3 \
            --batch-tokens 2000 --learning-rate 0.0025 --warmup 1000 --epochs "${EPOCHS:-40}" --valid-every 500
        "$attend" translate --model "$out/$name" --compute $compute --beam 5 --input "$out/test_2016_flickr.en" --output "$out/$name.out"
        echo "$name:"
        "$attend" evaluate --hypothesis "$out/$name.out" --reference "$out/test_2016_flickr.de" --ignore-case
    done
    for compute in bf16x3 bf16; do
        echo "$compute against fp32, seed $seed:"
        "$attend" evaluate --hypothesis "$out/$compute.$seed.out" --against "$out/fp32.$seed.out" --reference "$out/test_2016_flickr.de" \
            --ignore-case --metric bleu
    done
done
# the curves: loss on the validation pairs by update
for log in "$out"/*.log.jsonl; do
    sed -n "s|.*\"update\": \([0-9]*\).*\"valid_loss\": \([0-9.]*\).*|$(basename "$log" .log.jsonl) \1 \2|p" "$log"
done >"$out/curves.txt"
