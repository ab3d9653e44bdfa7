#!/bin/sh
# Seven kinds of attention and none, on Multi30k English-German with one set of training options: the scores of Luong et al. (2015) and later ones.
#     DATA=directory-with-multi30k [OUT=directory] [ATTEND=path/to/attend] [THREADS=2] recipes/compare/run.sh [--smoke]
# DATA/multi30k has train, val and test_2016_flickr as .en.gz and .de.gz, one caption a line. Text is lower-cased, as for published scores. An
# interrupted run is resumed by the same command. --smoke: much smaller models on few captions, in a minute or two, to test that everything
# runs. Results: README.md.
set -eu
smoke=no
case ${1-} in
--smoke) smoke=yes ;;
'') ;;
*)
    echo "run.sh: '$1' is not an option; the only one is --smoke" >&2
    exit 2
    ;;
esac
data=${DATA:?set it to the directory that holds multi30k/}
out=${OUT:-recipe-compare}
attend=${ATTEND:-build/attend}
threads=${THREADS:-2}
[ $smoke = no ] || out=$out-smoke
mkdir -p "$out"
for part in train val test_2016_flickr; do
    for side in en de; do
        gzip -dc "$data/multi30k/$part.$side.gz" | LC_ALL=C.UTF-8 sed 's/.*/\L&/' |
            if [ $smoke = yes ]; then head -n "$([ $part = train ] && echo 4000 || echo 200)"; else cat; fi >"$out/$part.$side"
    done
done

# options of all variants
set -- --train "$out/train.en" "$out/train.de" --valid "$out/val.en" "$out/val.de" --test "$out/test_2016_flickr.en" "$out/test_2016_flickr.de" \
    --shared-vocab --tie-embeddings --dropout 0.3 --schedule cosine --average 0.998 --patience 0 --metric bleu,chrf --ignore-case \
    --threads "$threads" --output "$out/comparison"
if [ $smoke = yes ]; then
    set -- "$@" --vocab-size 1500 --hidden 96 --embedding 96 --batch-tokens 700 --learning-rate 0.005 --warmup 20 --updates 300 --valid-every 75
else
    set -- "$@" --vocab-size 6000 --hidden 192 --embedding 192 --batch-tokens 600 --learning-rate 0.002 --warmup 300 --epochs 6 --valid-metric bleu
fi
"$attend" compare "$@" --vary attention=none,dot,scaled-dot,bilinear,additive \
    --variant 'local-p: attention=bilinear window=local-p window-size=10' \
    --variant 'hard: attention=additive selection=hard' \
    --variant 'transformer: architecture=transformer layers=3 heads=4 norm=pre'
