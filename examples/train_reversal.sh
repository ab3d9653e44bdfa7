#!/bin/sh
# train_reversal.sh ATTEND MODEL: trains a small model that reverses lines of letters ("a b c" becomes "c b a"); takes a few seconds.
set -eu
attend=$1 model=$2
pairs=$(mktemp --suffix=.tsv)
trap 'rm -f "$pairs"' EXIT
awk 'BEGIN { srand(1)
    for (i = 0; i < 400; i++) {
        source = target = ""
        for (n = 1 + int(rand() * 5); n > 0; n--) {
            letter = substr("abcdefgh", 1 + int(rand() * 8), 1)
            source = source (source == "" ? "" : " ") letter
            target = letter (target == "" ? "" : " ") target
        }
        print source "\t" target
    }
}' >"$pairs"
"$attend" train --train "$pairs" --model "$model" --tokens word --hidden 32 --embedding 16 --dropout 0 --batch-tokens 100 \
    --learning-rate 0.005 --updates 400 --threads 2 --fresh --quiet --no-check
