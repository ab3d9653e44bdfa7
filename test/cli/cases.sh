# cases.sh: what the scripts beside it share; they read it with ATTEND as $1. A folder of its own, and `failed`, with which they end.
attend=$1 failed=0
folder=$(mktemp -d) || exit 1
trap 'chmod -R u+w "$folder" 2>/dev/null; rm -rf "$folder"' EXIT

fail() {
    echo "$*"
    failed=1
}
# A command must end with CODE and say WORDS. `verb` goes before the arguments, `limit` is in seconds; both may be unset.
expect() { # CODE WORDS ARGUMENTS.. < INPUT
    code=$1 words=$2
    shift 2
    said=$(${limit:+timeout "$limit"} "$attend" ${verb:+"$verb"} "$@" 2>&1)
    got=$?
    case $said in *"$words"*) ;; *) got="$got, without '$words'" ;; esac
    [ "$got" = "$code" ] || fail "attend ${verb:+$verb }$*: ended with $got and not with $code: $said"
}
same() { # WHAT FILE FILE
    cmp -s "$2" "$3" || fail "$1 differ: $(diff "$2" "$3" | head -3)"
}
is() { # WHAT WANTED GOT
    [ "$2" = "$3" ] || fail "$1: '$3' and not '$2'"
}
