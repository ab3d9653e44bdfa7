#!/bin/bash
# manual.sh ATTEND DIRECTORY: the man pages and completions in DIRECTORY are well-formed and contain every option of the command's help. tool.sh
# checks them by programs that are not installed everywhere.
attend=$1 directory=$2 failed=0 checked=0
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

wrong() {
    echo "$*"
    failed=1
}

# check COMMAND..: the command prints nothing and exits with 0
check() {
    local said
    said=$("$@" 2>&1 >/dev/null) && [ -z "$said" ] || wrong "$*: $said"
}

# has FILE TEXT
has() {
    grep -qF -e "$2" -- "$1" || wrong "${1##*/} does not have $2"
}

verbs=$("$attend" --help | sed -n 's/^  \([a-z-]*\) .*/\1/p')
[ "$(wc -w <<<"$verbs")" -ge 8 ] || wrong "attend --help names these verbs: $verbs"
[ "$(ls "$directory/man" | wc -l)" = $(($(wc -w <<<"$verbs") + 1)) ] || wrong "there are other pages than those of attend and its verbs"

for page in "$directory"/man/*.1; do
    check groff -man -ww -T utf8 -z "$page"
    gzip -dc "$directory/man1/${page##*/}.gz" | cmp - "$page" || failed=1
done
check bash -n "$directory/attend.bash"

# environment variables that the sources read
sources=$(cd "$(dirname "$0")/../.." && pwd)
for variable in $(grep -rhoE --exclude-dir=manual 'getenv\("[A-Z_]+"' "$sources/src" "$sources/cli" | sed 's/.*"\(.*\)"/\1/' | sort -u); do
    has "$directory/man/attend.1" ".B $variable"
done

# the rendered text of a page
shown() {
    groff -man -T ascii -P -bcou -rLL=1000n -rHY=0 "$1"
}

for verb in $verbs; do
    page=$directory/man/attend-$verb.1
    has "$directory/man/attend.1" "attend\\-$verb"
    has "$directory/_attend" "'$verb:"
    has "$directory/attend.fish" " -a $verb -d"
    shown "$page" >"$scratch/page" || wrong "no page of $verb"
    # the names of the options in the help
    "$attend" "$verb" --help-all | sed -n 's/^  --\([a-z0-9-]*\).*/\1/p' | sort -u >"$scratch/names"
    sed -n "/^  $verb)\$/,/;;/p" "$directory/_attend" >"$scratch/zsh"
    while read -r name; do
        checked=$((checked + 1))
        grep -qE "^ +--$name( |\$)" "$scratch/page" || wrong "attend-$verb.1 does not have --$name"
        grep -qE "'\*?--$name[=[]" "$scratch/zsh" || wrong "_attend does not have --$name of $verb"
        has "$directory/attend.fish" "'__attend_verb $verb' -l $name "
        grep -qE "^ +$verb\) words=.* --$name[ \"]" "$directory/attend.bash" || wrong "attend.bash does not have --$name of $verb"
    done <"$scratch/names"
done
[ "$checked" -ge 100 ] || wrong "help names $checked options: too few"

# pages contain the help texts
"$attend" translate --help | grep -o 'beam size; 1: greedy search (default: 5)' >"$scratch/said"
shown "$directory/man/attend-translate.1" | grep -qFf "$scratch/said" || wrong "attend-translate.1 does not explain --beam as help does"
exit $failed
