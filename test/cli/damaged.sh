#!/bin/sh
# damaged.sh ATTEND DAMAGED_MODELS: every verb refuses a model with a damaged vocabulary or tokenizer, with status 4 and the name of the file.
damaged_models=$2
. "$(dirname "$0")/cases.sh"
cd "$folder" || exit 1

awk 'BEGIN { srand(2); for (i = 0; i < 200; i++) { s = ""; n = 2 + int(rand() * 4);
    for (j = 0; j < n; j++) s = s (j ? " " : "") substr("abcabdabe", 1 + int(rand() * 5), 3)
    print s "\t" s } }' >pairs.tsv
"$attend" train --train pairs.tsv --model good --updates 2 --tokens bpe --source-vocab-size 280 --target-vocab-size 280 --hidden 8 --embedding 8 --quiet ||
    fail 'cannot train'
names=$("$damaged_models" good .) || fail "cannot damage a model: $names"
[ "$(echo "$names" | wc -l)" -ge 12 ] || fail "too few damaged models: $names"

echo 'abc abd' >lines
agree() { # CODE TEXT MODEL: all verbs
    expect "$1" "$2" info "$3"
    expect "$1" "$2" info --json --no-checksum "$3"
    expect "$1" "$2" translate --model "$3" <lines
    expect "$1" "$2" score --model "$3" --input pairs.tsv
    expect "$1" "$2" evaluate --model "$3" --input pairs.tsv --beam 1
    expect "$1" "$2" show --model "$3" 'abc abd'
    expect "$1" "$2" convert --model "$3" --precision int8 --output small
    expect "$1" "$2" convert --average "$3" "$3" --output small
}
agree 0 '' good
for name in $names; do agree 4 ": $name" "$name"; done
exit $failed
