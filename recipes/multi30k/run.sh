#!/bin/sh
# Multi30k English-German: an RNN with additive attention, the same without attention, and a small Transformer.
#     DATA=directory-with-multi30k [OUT=directory] [ATTEND=path/to/attend] [MODELS="additive none transformer"] [SEED=1]
#     [TESTS=test_2016_flickr] recipes/multi30k/run.sh
# Other MODELS: ensemble (of 4 Transformers), guided (the Transformer with guided alignment), hard (additive attention to one token), and local-p and
# global (Luong's attention with that window).
# DATA/multi30k has train, val and the files that TESTS names as .en.gz and .de.gz, one caption a line. Text is lower-cased, as for published
# scores. OUT/MODEL.svg plots the training of a model. Results: README.md.
set -eu
data=${DATA:?set it to the directory that holds multi30k/}
out=${OUT:-recipe-multi30k}
attend=${ATTEND:-build/attend}
threads=${THREADS:-2}
models=${MODELS:-additive none transformer}
tests=${TESTS:-test_2016_flickr}
mkdir -p "$out"
for part in train val $tests; do
    for side in en de; do
        gzip -dc "$data/multi30k/$part.$side.gz" | LC_ALL=C.UTF-8 sed 's/.*/\L&/' >"$out/$part.$side"
    done
done

train() { # NAME OPTIONS...
    name=$1
    shift
    "$attend" train --train "$out/train.en" "$out/train.de" --valid "$out/val.en" "$out/val.de" --model "$out/$name" \
        --shared-vocab --tie-embeddings --schedule cosine --average 0.998 --valid-metric bleu --patience 0 --threads "$threads" \
        --seed "${SEED:-1}" "$@"
    for test in $tests; do
        "$attend" translate --model "$out/$name" --beam 5 --input "$out/$test.en" --output "$out/$name.$test.out"
        echo "$name, $test:"
        "$attend" evaluate --hypothesis "$out/$name.$test.out" --reference "$out/$test.de" --ignore-case
    done
}

# BLEU of two models on the first test set, and whether they differ
against() { # NAME OTHER
    if [ -e "$out/$1.$first.out" ] && [ -e "$out/$2.$first.out" ]; then
        echo "$1 against $2:"
        "$attend" evaluate --hypothesis "$out/$1.$first.out" --against "$out/$2.$first.out" --reference "$out/$first.de" --ignore-case --metric bleu
    fi
}

recurrent="--vocab-size 6000 --hidden 384 --embedding 256 --dropout 0.35 --batch-tokens 1500 --learning-rate 0.0015 --warmup 300 --epochs 11"
luong="--attention bilinear --context after --readout plain --input-feeding"
transformer="--architecture transformer --vocab-size 8000 --hidden 128 --layers 4 --heads 4 --feed-forward-width 256 --dropout 0.3
    --batch-tokens 4000 --learning-rate 0.0035 --warmup 1000 --epochs 70 --valid-every 500"
# shellcheck disable=SC2086 # lists of options
for model in $models; do
    case $model in
    additive) train additive $recurrent ;;
    none) train none --attention none $recurrent ;;
    global) train global $luong $recurrent ;;
    local-p) train local-p $luong --window local-p $recurrent ;;
    hard) train hard --selection hard $recurrent ;;
    transformer) train transformer $transformer ;;
    guided) train guided --guided-alignment auto $transformer ;;
    ensemble) train ensemble --ensemble 4 $transformer ;;
    *)
        echo "run.sh: there is no model '$model'" >&2
        exit 2
        ;;
    esac
done
first=${tests%% *}
against guided transformer
against local-p global
against hard additive
if [ ! -e "$out/additive.$first.out" ] || [ ! -e "$out/none.$first.out" ]; then exit 0; fi
# is the difference significant, and how does it depend on sentence length?
"$attend" evaluate --hypothesis "$out/additive.$first.out" --against "$out/none.$first.out" --source "$out/$first.en" \
    --reference "$out/$first.de" --ignore-case --metric bleu,chrf --by-length auto --plot "$out/lengths.svg" | tee "$out/lengths.txt"
