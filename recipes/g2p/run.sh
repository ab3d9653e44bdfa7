#!/bin/sh
# Pronunciation of English words: CMUdict (g014b2b, without stress), letters to phonemes.
#     DATA=directory-with-cmudict [OUT=directory] [ATTEND=path/to/attend] [THREADS=2] [KIND=rnn|transformer] [MEMBERS=1] [SEED=1]
#     [EPOCHS=11] [TEST=file.tsv] recipes/g2p/run.sh
# MEMBERS=5 trains an ensemble of five models. TEST: other test words, one pair a line.
# Every twentieth word of the training file is held out for the test (5 %), and 2 % of the words for validation. If a word has several
# pronunciations, each of them is correct. SPLIT=tail holds out the last 5 % of the file instead, which is sorted. Results of both: README.md.
set -eu
data=${DATA:?set it to the directory that holds cmudict/}
out=${OUT:-recipe-g2p}
attend=${ATTEND:-build/attend}
threads=${THREADS:-2}
mkdir -p "$out"
gzip -dc "$data/cmudict/g014b2b.train.gz" >"$out/all.tsv"
# words are numbered in the order of their first occurrence
awk -F'\t' -v directory="$out" -v split_by="${SPLIT:-twentieth}" '
    function part(n) {
        if (split_by == "tail") return n > words * 0.95 ? "test" : n > words * 0.93 ? "valid" : "train"
        return n % 20 == 0 ? "test" : n % 100 == 50 || n % 100 == 51 ? "valid" : "train"
    }
    !($1 in number) { number[$1] = ++words }
    { line[NR] = $0; word[NR] = $1 }
    END { for (i = 1; i <= NR; i++) print line[i] > (directory "/" part(number[word[i]]) ".tsv") }' "$out/all.tsv"
case ${KIND:-rnn} in
rnn) model="--hidden 320 --dropout 0.35 --batch-tokens 1500 --learning-rate 0.002 --warmup 300 --epochs ${EPOCHS:-11}" ;;
transformer)
    model="--architecture transformer --hidden 256 --layers 3 --heads 4 --feed-forward-width 1024 --dropout 0.3 --batch-tokens 3000
        --learning-rate 0.001 --warmup 1000 --epochs ${EPOCHS:-30}"
    ;;
*)
    echo "run.sh: KIND is rnn or transformer" >&2
    exit 2
    ;;
esac
# shellcheck disable=SC2086 # a list of options
"$attend" train --train "$out/train.tsv" --valid "$out/valid.tsv" --model "$out/g2p" --preset g2p $model --schedule cosine --average 0.999 \
    --valid-metric exact --patience 0 --seed "${SEED:-1}" --ensemble "${MEMBERS:-1}" --threads "$threads"
# exact matches (word error is 100 minus that) and phoneme error, against the closest pronunciation of each word; and by length
"$attend" evaluate --model "$out/g2p" --input "${TEST:-$out/test.tsv}" --beam 5 --metric exact,wer --bootstrap 1000 --by-length auto \
    --length-unit characters --plot "$out/lengths.svg" --output "$out/test.out" --threads "$threads" | tee "$out/scores"
awk '$1 == "exact" { printf "word error %.2f %%\n", 100 - $2 } $1 == "wer" { printf "phoneme error %s %%\n", $2 }' "$out/scores"
