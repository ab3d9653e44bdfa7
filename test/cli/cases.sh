# cases.sh: functions shared by the test scripts, which source it with ATTEND as $1. Makes a temporary directory, $folder, and sets `failed`, the exit status of the
# script.
attend=$1 failed=0
folder=$(mktemp -d) || exit 1
trap 'chmod -R u+w "$folder" 2>/dev/null; rm -rf "$folder"' EXIT

fail() {
    echo "$*"
    failed=1
}
# A command must exit with CODE and print TEXT. `verb` precedes the arguments, `limit` is a timeout in seconds; both may be unset.
expect() { # CODE TEXT ARGUMENTS... < INPUT
    code=$1 text=$2
    shift 2
    printed=$(${limit:+timeout "$limit"} "$attend" ${verb:+"$verb"} "$@" 2>&1)
    got=$?
    case $printed in *"$text"*) ;; *) got="$got, without '$text'" ;; esac
    [ "$got" = "$code" ] || fail "attend ${verb:+$verb }$*: exit status $got instead of $code: $printed"
}
same() { # WHAT FILE FILE
    cmp -s "$2" "$3" || fail "$1 differ: $(diff "$2" "$3" | head -3)"
}
has_terminal() { # for tests that run the command on a terminal
    script -qec true /dev/null >/dev/null 2>&1 || fail 'script(1), which runs a command on a terminal, does not work: install bsdutils, mount /dev/pts'
}
is() { # WHAT EXPECTED GOT
    [ "$2" = "$3" ] || fail "$1: '$3' instead of '$2'"
}
