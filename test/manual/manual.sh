#!/bin/bash
# manual.sh ATTEND DIRECTORY: the man pages and completions in DIRECTORY are well-formed and contain every option of the command's help.
attend=$1 folder=$2 failed=0 checked=0
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

wrong() {
    echo "$*"
    failed=1
}

# check TOOL FILE COMMAND..: the command prints nothing and exits with 0; skipped without TOOL
check() {
    local tool=$1 file=$2 said
    shift 2
    if ! command -v "$tool" >/dev/null; then
        echo "skipped: no $tool for ${file##*/}"
        return
    fi
    said=$("$@" 2>&1 >/dev/null) && [ -z "$said" ] || wrong "$*: $said"
}

# has FILE TEXT
has() {
    grep -qF -e "$2" -- "$1" || wrong "${1##*/} does not have $2"
}

verbs=$("$attend" --help | sed -n 's/^  \([a-z-]*\) .*/\1/p')
[ "$(wc -w <<<"$verbs")" -ge 8 ] || wrong "attend --help names these verbs: $verbs"
[ "$(ls "$folder/man" | wc -l)" = $(($(wc -w <<<"$verbs") + 1)) ] || wrong "there are other pages than those of attend and its verbs"

for page in "$folder"/man/*.1; do
    check groff "$page" groff -man -ww -T utf8 -z "$page"
    check mandoc "$page" mandoc -T lint -W error "$page"
    gzip -dc "$folder/man1/${page##*/}.gz" | cmp - "$page" || failed=1
done
check bash attend.bash bash -n "$folder/attend.bash"
check zsh _attend zsh -n "$folder/_attend"
check fish attend.fish fish -n "$folder/attend.fish"

# environment variables that the sources read
sources=$(cd "$(dirname "$0")/../.." && pwd)
for variable in $(grep -rhoE --exclude-dir=manual 'getenv\("[A-Z_]+"' "$sources/src" "$sources/cli" | sed 's/.*"\(.*\)"/\1/' | sort -u); do
    has "$folder/man/attend.1" ".B $variable"
done

# The rendered text of a page, or its source without escapes if groff is missing.
shown() {
    if command -v groff >/dev/null; then
        groff -man -T ascii -P -bcou -rLL=1000n -rHY=0 "$1"
    else
        sed 's/\\-/-/g; s/\\f.//g; s/\\://g' "$1"
    fi
}

for verb in $verbs; do
    page=$folder/man/attend-$verb.1
    has "$folder/man/attend.1" "attend\\-$verb"
    has "$folder/_attend" "'$verb:"
    has "$folder/attend.fish" " -a $verb -d"
    shown "$page" >"$scratch/page" || wrong "no page of $verb"
    # the names of the options in the help
    "$attend" "$verb" --help | sed -n 's/^  --\([a-z0-9-]*\).*/\1/p' | sort -u >"$scratch/names"
    sed -n "/^  $verb)\$/,/;;/p" "$folder/_attend" >"$scratch/zsh"
    while read -r name; do
        checked=$((checked + 1))
        grep -qE "^ +--$name( |\$)" "$scratch/page" || wrong "attend-$verb.1 does not have --$name"
        grep -qE "'\*?--$name[=[]" "$scratch/zsh" || wrong "_attend does not have --$name of $verb"
        has "$folder/attend.fish" "'__attend_verb $verb' -l $name "
        grep -qE "^ +$verb\) words=.* --$name[ \"]" "$folder/attend.bash" || wrong "attend.bash does not have --$name of $verb"
    done <"$scratch/names"
done
[ "$checked" -ge 100 ] || wrong "help names $checked options: too few"

# pages contain the help texts
"$attend" translate --help | grep -o 'beam size; 1: greedy search (default: 5)' >"$scratch/said"
shown "$folder/man/attend-translate.1" | grep -qFf "$scratch/said" || wrong "attend-translate.1 does not explain --beam as help does"

# completions by fish; bash.sh tests bash
if command -v fish >/dev/null; then
    said=$(HOME=$scratch fish -c "source '$folder/attend.fish'; complete -C 'attend tr'; complete -C 'attend train --opti'; complete -C 'attend train --optimizer '" |
        cut -f 1 | tr '\n' ' ')
    [ "$said" = "train translate --optimizer adam sgd " ] || wrong "fish offers $said"
fi
exit $failed
