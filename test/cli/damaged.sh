#!/bin/sh
# damaged.sh ATTEND DAMAGED_MODELS: every verb that reads a model refuses one with a damaged vocabulary or tokenizer, and one of a newer format version, with
# status 4 and the name of the file.
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
sizes='--tokens bpe --source-vocab-size 280 --target-vocab-size 280 --embedding 8 --updates 2'
# shellcheck disable=SC2086
compare() { # CODE TEXT MODEL: the model of a variant, which a resumed comparison tests
    cp "$3" compared/hidden=8/model
    expect "$1" "$2" compare --train pairs.tsv --test pairs.tsv --vary hidden=8 $sizes --beam 1 --output compared --quiet
}
# shellcheck disable=SC2086
expect 0 'hidden=8' compare --train pairs.tsv --test pairs.tsv --vary hidden=8 $sizes --beam 1 --output compared --quiet
cp compared/hidden=8/model tested

agree() { # CODE TEXT MODEL: all verbs
    expect "$1" "$2" info "$3"
    expect "$1" "$2" info --json --no-checksum "$3"
    expect "$1" "$2" translate --model "$3" <lines
    expect "$1" "$2" score --model "$3" --input pairs.tsv
    expect "$1" "$2" evaluate --model "$3" --input pairs.tsv --beam 1
    expect "$1" "$2" align --model "$3" --input pairs.tsv
    expect "$1" "$2" align --reverse-model "$3" --input pairs.tsv
    expect "$1" "$2" align --model "$3" --input pairs.tsv --evaluate-maps
    expect "$1" "$2" show --model "$3" 'abc abd'
    expect "$1" "$2" show --model "$3" --input pairs.tsv --output page.html
    expect "$1" "$2" convert --model "$3" --precision int8 --output small
    expect "$1" "$2" convert --model "$3" --shortlist pairs.tsv --output small
    expect "$1" "$2" convert --average "$3" "$3" --output small
    expect "$1" "$2" train --train pairs.tsv --valid none --init-from "$3" --model tuned --updates 1
    expect "$1" "$2" train --train pairs.tsv --valid none --init-from "$3" --new-vocab --model "tuned-new" --updates 1
    [ "$1" = 0 ] || [ ! -e small ] || fail "convert wrote a model from $3"
    [ "$1" = 0 ] || { [ ! -e tuned ] && [ ! -e tuned-new ]; } || fail "train wrote a model from $3"
    rm -f small tuned* page.html
}
serve() { # CODE TEXT MODEL: SIGTERM ends it after it listens
    "$attend" help serve >/dev/null 2>&1 || return
    timeout 60 "$attend" serve --model "en-fr=$3" --listen "unix:$folder/socket" >printed 2>&1 &
    server=$!
    for _ in $(seq 600); do
        [ -S socket ] && kill -TERM $server 2>/dev/null
        kill -0 $server 2>/dev/null || break
        sleep 0.05
    done
    wait $server
    is "the exit status of attend serve with $3" "$1" $?
    grep -qF "$2" printed || fail "attend serve with $3: $(cat printed)"
    rm -f socket
}
agree 0 '' good
compare 0 'hidden=8' tested
for name in $names; do
    agree 4 ": $name" "$name"
    compare 1 'compared/hidden=8/model: ' "$name"
done
serve 0 '' good
for name in not-utf8 bad-magic; do serve 4 ": $name" "$name"; done

# ---- a newer format version, in a file without a checksum ----
LC_ALL=C sed 's/"format-version":"[0-9]*"/"format-version":"9"/; s/"checksum":"xxh3-/"checked_":"none-/' good >newer
agree 4 'newer: made by a newer version (attend ' newer
agree 4 'format 9; this is attend ' newer
expect 4 ': update attend' show --model newer 'abc abd'
serve 4 'newer: made by a newer version (attend ' newer
compare 1 'hidden=8/model: made by a newer version (attend ' newer
exit $failed
