#!/bin/sh
# Pronunciation of English words: CMUdict (g014b2b, without stress), letters to phonemes.
#     DATA=folder-with-cmudict [OUT=folder] [ATTEND=path/to/attend] recipes/g2p/run.sh
# The last 5 % of the words of the training file, in the order of the file, are held out; of a word with several pronunciations any
# counts as right. README.md beside this has what came out.
set -eu
data=${DATA:?name the folder that holds cmudict/}
out=${OUT:-recipe-g2p}
attend=${ATTEND:-build/attend}
threads=${THREADS:-2}
mkdir -p "$out"
gzip -dc "$data/cmudict/g014b2b.train.gz" >"$out/all.tsv"
# words in the order in which they first come; the last 5 % are for testing, the 2 % before them for validation
awk -F'\t' -v folder="$out" '
    !($1 in number) { number[$1] = ++words }
    { line[NR] = $0; word[NR] = $1 }
    END {
        test = int(words * 0.95); valid = int(words * 0.93)
        for (i = 1; i <= NR; i++) {
            n = number[word[i]]
            print line[i] > (folder "/" (n > test ? "test" : n > valid ? "valid" : "train") ".tsv")
        }
    }' "$out/all.tsv"
"$attend" train --train "$out/train.tsv" --valid "$out/valid.tsv" --model "$out/g2p" --preset g2p --batch-tokens 4000 \
    --learning-rate 0.002 --schedule cosine --warmup 300 --average 0.999 --valid-metric exact --patience 0 --epochs 12 \
    --threads "$threads"
cut -f1 "$out/test.tsv" | uniq >"$out/test.words"
"$attend" translate --model "$out/g2p" --beam 5 --input "$out/test.words" --output "$out/test.out"
# a word is wrong if none of its listed pronunciations came out
paste "$out/test.words" "$out/test.out" | awk -F'\t' -v gold="$out/test.tsv" '
    BEGIN { while ((getline line < gold) > 0) { split(line, part, "\t"); right[part[1] "\t" part[2]] = 1 } }
    { words++; if (!(($1 "\t" $2) in right)) wrong++ }
    END { printf "%d words, %.2f %% word error\n", words, 100 * wrong / words }'
