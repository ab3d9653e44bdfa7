#!/bin/sh
# old_names.sh ATTEND: every option of version 0.1 (old_names.txt) is still accepted with its values: alone, with an equals sign, and in a configuration
# file. A renamed option is noted in exactly one line.
. "$(dirname "$0")/cases.sh"
list=$(cd "$(dirname "$0")" && pwd)/old_names.txt
cd "$folder" || exit 1
: >file.tsv
mkdir folder

# Arguments are read from left to right: the error about --unknown-option-at-the-end shows that everything before it was accepted.
accepted() { # VERB NOTE ARGUMENTS...
    verb=$1 note=$2
    shift 2
    printed=$("$attend" "$verb" "$@" --unknown-option-at-the-end 2>&1)
    code=$?
    expected="${note:+attend $verb: note: $note
}attend $verb: unknown option --unknown-option-at-the-end (see attend $verb --help)"
    [ $code = 2 ] && [ "$printed" = "$expected" ] || fail "attend $verb $*: exit status $code: $printed"
    count=$((count + 1))
}
in_file() { # VERB NOTE LINE
    printf '%s\n' "$3" >settings
    accepted "$1" "$2" --config settings
}

count=0
while read -r verbs name values new; do
    case $verbs in '#'*) continue ;; esac
    for v in $(echo "$verbs" | tr ',' ' '); do
        configurable=
        case $v-$name in *-config) ;; train-* | compare-*) configurable=yes ;; esac
        note=
        [ "$new" = - ] || note="--$name is now --${new%%=*}"
        if [ "$values" = - ]; then
            accepted "$v" "$note" "--$name"
            [ -z "$configurable" ] || for line in "$name" "$name yes" "--$name = no"; do in_file "$v" "$note" "$line"; done
            continue
        fi
        [ "$values" = 'yes|no' ] && accepted "$v" "$note" "--$name" && in_file "$v" "$note" "$name"
        for value in $(echo "$values" | tr '|' ' '); do
            case $new in *=*) note="--$name $value is now --${new%%=*} ${new#*=}" ;; esac
            accepted "$v" "$note" "--$name" "$value"
            accepted "$v" "$note" "--$name=$value"
            [ -z "$configurable" ] || in_file "$v" "$note" "$name = $value # a comment"
        done
    done
done <"$list"
[ $count -gt 900 ] || fail "only $count cases were run"
exit $failed
