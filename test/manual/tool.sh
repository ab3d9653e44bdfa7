#!/bin/bash
# tool.sh TOOL DIRECTORY: the man pages or completions in DIRECTORY are well-formed according to TOOL (mandoc, zsh or fish). Exit status 77, a skipped
# test, if it is not installed.
tool=$1 directory=$2 failed=0
if ! command -v "$tool" >/dev/null; then
    echo "skipped: $tool is not installed"
    exit 77
fi

# check COMMAND..: the command prints nothing and exits with 0
check() {
    local said
    said=$("$@" 2>&1 >/dev/null) && [ -z "$said" ] || { echo "$*: $said"; failed=1; }
}

case $tool in
mandoc) for page in "$directory"/man/*.1; do check mandoc -T lint -W error "$page"; done ;;
zsh) check zsh -n "$directory/_attend" ;;
fish)
    check fish -n "$directory/attend.fish"
    home=$(mktemp -d) || exit 1
    trap 'rm -rf "$home"' EXIT
    said=$(HOME=$home fish -c "source '$directory/attend.fish'; complete -C 'attend tr'; complete -C 'attend train --opti'; complete -C 'attend train --optimizer '" |
        cut -f 1 | tr '\n' ' ')
    [ "$said" = "train translate --optimizer adam sgd " ] || { echo "fish offers $said"; failed=1; }
    ;;
*) echo "tool.sh does not know $tool"; failed=1 ;;
esac
exit $failed
