#!/bin/sh
# garbage.sh ATTEND GARBAGE JSON_LINES LINES: LINES lines of text and random bytes through `attend translate`, with models of each tokenization: one output line
# per input line, constant memory; and valid JSON.
attend=$1 garbage=$2 json=$3 lines=$4
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
awk 'BEGIN { srand(1); for (i = 0; i < 1000; i++) { s = ""; t = ""; n = 1 + int(rand() * 6);
    for (j = 0; j < n; j++) { w = substr("abcdefgh", 1 + int(rand() * 8), 1); s = s (j ? " " : "") w; t = w (j ? " " : "") t }
    print s "\t" t } }' >pairs.tsv
failed=0
for kind in bpe char word; do
    "$attend" train --train pairs.tsv --valid none --model $kind --tokens $kind --hidden 24 --embedding 16 --dropout 0 --batch-tokens 200 --learning-rate 0.005 --vocab-size 280 \
        --threads 2 --updates 500 --patience 0 --quiet --no-check || exit 1
    echo "$kind:"
    # warnings about empty and long lines are discarded
    "$garbage" "$lines" "$attend" translate --model $kind --quiet --beam 2 --max-input-length 100 --length-ratio 1 --length-extra 2 --threads 2 || failed=1
    [ "$lines" -gt 100000 ] && break # a million takes minutes
    count=$("$garbage" 5000 | "$attend" translate --model $kind --quiet --json --sample --temperature 5 --n-best 2 --alignment soft --max-input-length 30 \
        --length-ratio 1 --length-extra 2 --replace-unknown | "$json" line text)
    [ "$count" = 5000 ] || { echo "5000 lines gave $count objects"; failed=1; }
done
exit $failed
