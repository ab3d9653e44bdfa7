#!/bin/sh
# on_table.sh ATTEND TABLE PROGRAM ARGUMENTS...: runs a test program with the kernel table that ATTEND_KERNEL names, TABLE. Exits with 77 if this machine
# does not support it.
attend=$1 table=$2
shift 2
tables=$("$attend" info --cpu --json) || exit 1
entry=$(printf '%s' "$tables" | grep -o "{\"name\": \"$table\", [^}]*}") || { echo "there is no table '$table' in this build"; exit 77; }
case $entry in
*'"supported": false'*)
    echo "skipped: this machine does not support the kernel table '$table'"
    exit 77
    ;;
*'"in_use": true'*) exec "$@" ;;
esac
echo "the table in use is not '$table': $entry"
exit 1
