#!/bin/sh
# Language models of single sentences of the Penn Treebank: an LSTM and an LSTMN (Cheng, Dong, Lapata 2016) of the same size.
#     DATA=directory-with-ptb [OUT=directory] [ATTEND=path/to/attend] [THREADS=2] [MODELS="lstm lstmn"] [LAYERS=1] [DROPOUT=0.4]
#     [TIE=no|yes] [EPOCHS=10] [SEED=1] recipes/penn/run.sh [--smoke]
# DATA/ptb has ptb.train.txt.gz, ptb.valid.txt.gz and ptb.test.txt.gz: one sentence a line, a vocabulary of 10,000 words with <unk> and N. An interrupted
# run is resumed by the same command. --smoke: tiny models on few sentences, in a minute, to test that everything runs. Results: README.md.
set -eu
smoke=no
case ${1:-} in
--smoke) smoke=yes ;;
"") ;;
*)
    echo "run.sh: '$1' is not an option; the only one is --smoke" >&2
    exit 2
    ;;
esac
data=${DATA:?set it to the directory that holds ptb/}
out=${OUT:-recipe-penn}
attend=${ATTEND:-build/attend}
threads=${THREADS:-2}
models=${MODELS:-lstm lstmn}
size="--hidden 300 --embedding 300 --layers ${LAYERS:-1} --dropout ${DROPOUT:-0.4} --batch-tokens 600 --learning-rate 0.002 --schedule cosine --warmup 200 --average 0.999
    --epochs ${EPOCHS:-10} --valid-every 1500 --save-every 500"
if [ $smoke = yes ]; then
    out=$out-smoke
    size="--hidden 32 --embedding 32 --dropout 0.2 --batch-tokens 300 --learning-rate 0.005 --updates 60 --valid-every 30"
fi
[ "${TIE:-no}" = no ] || size="$size --tie-embeddings"
mkdir -p "$out"
for part in train valid test; do
    gzip -dc "$data/ptb/ptb.$part.txt.gz" | if [ $smoke = yes ]; then head -n 300; else cat; fi >"$out/$part.txt"
done
for model in $models; do
    case $model in
    lstm) kind="--architecture rnn --cell lstm --readout plain" ;;
    *) kind="--architecture $model" ;;
    esac
    # shellcheck disable=SC2086 # lists of options
    "$attend" train --task language-model --train "$out/train.txt" --valid "$out/valid.txt" --model "$out/$model" --tokens word $kind $size \
        --label-smoothing 0 --clip 1 --max-length 100 --patience 0 --seed "${SEED:-1}" --threads "$threads"
done
for model in $models; do
    for part in valid test; do
        echo "$model, $part:"
        "$attend" evaluate --model "$out/$model" --input "$out/$part.txt" --threads "$threads" | tee "$out/$model.$part"
    done
done
