#!/bin/sh
# old_names.sh ATTEND: every option of version 0.1 (old_names.txt) is still accepted with its values: alone, with an equals sign, and in a configuration
# file. A renamed option is noted in exactly one line.
. "$(dirname "$0")/cases.sh"
list=$(cd "$(dirname "$0")" && pwd)/old_names.txt
cd "$folder" || exit 1
: >file.tsv
mkdir folder calls

# A call of the command takes many options: for every verb, form and number k, the k-th value of each of its options. calls/VERB.FORM.k has the
# arguments or the lines of a configuration file, calls/VERB.FORM.k.notes the notes that they cause.
awk '
function add(verb, form, k, text, note,    file) {
    file = "calls/" verb "." form "." k
    print text >file
    if (note != "") print "attend " verb ": note: " note >(file ".notes")
    count++
}
/^#/ { next }
{
    for (i = split($1, verbs, ","); i; i--) {
        v = verbs[i]
        configurable = (v == "train" || v == "compare") && $2 != "config"
        note = $4 == "-" ? "" : "--" $2 " is now --" $4
        if ($3 == "-" || $3 == "yes|no") {
            add(v, "alone", 1, "--" $2, note)
            if (configurable) add(v, "file", 3, $2, note)
        }
        if ($3 == "-" && configurable) {
            add(v, "file", 1, $2 " yes", note)
            add(v, "file", 2, "--" $2 " = no", note)
        }
        for (k = $3 == "-" ? 0 : split($3, values, "|"); k; k--) {
            if (split($4, renamed, "=") == 2) note = "--" $2 " " values[k] " is now --" renamed[1] " " renamed[2]
            add(v, "alone", k + 1, "--" $2 " " values[k], note)
            add(v, "equals", k, "--" $2 "=" values[k], note)
            if (configurable) add(v, "file", k, $2 " = " values[k] " # a comment", note)
        }
    }
}
END { print count }' "$list" >count

# Arguments are read from left to right: the error about --unknown-option-at-the-end shows that everything before it was accepted.
for call in calls/*.[0-9]; do
    verb=${call#calls/}
    verb=${verb%%.*}
    case $call in *.file.*) arguments="--config $call" ;; *) arguments=$(cat "$call") ;; esac
    # shellcheck disable=SC2086 # several arguments
    "$attend" "$verb" $arguments --unknown-option-at-the-end >printed 2>&1
    is "exit status of attend $verb with the options of $call" 2 $?
    {
        cat "$call.notes" 2>/dev/null
        echo "attend $verb: unknown option --unknown-option-at-the-end (see attend $verb --help)"
    } >expected
    same "what attend $verb prints with the options of $call and what is expected" printed expected
done
[ "$(cat count)" -gt 900 ] || fail "only $(cat count) cases were run"
exit $failed
