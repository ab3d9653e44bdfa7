#!/bin/sh
# lines.sh BUILD DATA LINES: LINES lines of text and random bytes (garbage.c) through verbs that read lines without an upper bound on their number: each
# answers or refuses them within its memory.
build=$1 data=$2 lines=$3
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
tried=0 held=0 failed=0

# one line of output for each line of input
printed=$("$build/test/garbage" "$lines" "$build/attend" translate --model "$data/rnn-bpe.model" --quiet --beam 1 --max-input-length 100 --length-ratio 1 \
    --length-extra 1 --threads 2) || failed=1
echo "$printed"
tried=$((tried + lines))
held=$((held + $(echo "$printed" | sed -n 's/.*held \([0-9]*\).*/\1/p')))

verb() { # STATUSES ARGUMENTS... < LINES: the exit status is one of these, and there is no report of a sanitizer
    statuses=$1
    shift
    "$build/attend" "$@" >"$folder/out" 2>"$folder/messages"
    got=$?
    tried=$((tried + lines))
    case " $statuses " in
    *" $got "*) grep -qs 'Sanitizer\|runtime error:' "$folder/messages" || { held=$((held + lines)) && return; } ;;
    esac
    echo "attend $*, with $lines lines: exit status $got: $(tail -c 2000 "$folder/messages")"
    failed=1
}
"$build/test/garbage" "$lines" >"$folder/lines"
verb '0 3' check --task language-model --train - <"$folder/lines"
verb '0 3' train --task language-model --train "$folder/lines" --model "$folder/m" --tokens char --hidden 8 --embedding 8 --updates 1 --memory 256M --no-check --quiet
verb '0 3' evaluate --hypothesis "$folder/lines" --reference "$folder/lines" --metric exact --quiet --memory 4G
echo "tried $tried, held $held"
exit $failed
