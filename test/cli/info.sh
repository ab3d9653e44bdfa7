#!/bin/sh
# info.sh ATTEND MODEL: attend info, and errors common to all verbs.
model=$2
. "$(dirname "$0")/cases.sh"

expect 2 'usage: attend VERB'
expect 0 'usage: attend VERB' --help
expect 0 'attend ' --version
expect 2 "did you mean 'info'?" infoo
expect 2 'unknown verb' "$(printf '%01000d' 0)"
expect 0 'usage: attend info MODEL' info --help
expect 0 'usage: attend info MODEL' info "$model" -h
expect 0 'cell                 gru' info "$model"
expect 0 '"cell": "gru"' info --json "$model"
expect 0 'aligns by            layer 0, head 0' info "$model"
expect 0 '}, "alignment": {"layer": 0, "head": -1, "shifted": false}}' info --json "$model"
expect 0 '"output.w": [' info "$model" --json --parameters
expect 0 'parameters' info --no-checksum -- "$model"
expect 2 'expected one model file' info
expect 0 ' by default' info --cpu
expect 0 'plain        needs nothing' info --cpu
expect 0 'in use' info --cpu
expect 0 '"kernels": [{"name": "plain"' info --cpu --json
expect 0 '  fp32         the default' info --cpu
expect 0 'AMX with BF16 and INT8' info --cpu
expect 0 '"compute": [{"name": "fp32", "fast": true}, {"name": "bf16x3", "fast": ' info --cpu --json
expect 2 'it takes no model' info --cpu "$model"
expect 2 'expected one model file' info "$model" "$model"
expect 2 '--json takes no value' info --json=yes "$model"
expect 2 'did you mean --json?' info --jsn "$model"
expect 2 'unknown option --' info --=x "$model"
expect 2 'options begin with two dashes' info -json "$model"
expect 5 'cannot read -json' info -- -json
expect 5 'cannot read --help' info -- --help
expect 5 'cannot read' info "$folder/none"
expect 5 'is a directory' info "$folder"
expect 5 'a device, pipe or socket' info /dev/null
mkfifo "$folder/pipe" && expect 5 'a device, pipe or socket' info "$folder/pipe"
: >"$folder/empty"
expect 4 'is empty' info "$folder/empty"
echo text >"$folder/text"
expect 4 'plain text' info "$folder/text"

# errors of standard output are reported
if [ -c /dev/full ]; then
    for arguments in "info $model" --version --help; do
        # shellcheck disable=SC2086
        "$attend" $arguments >/dev/full 2>"$folder/printed"
        [ $? = 5 ] && grep -q 'cannot write standard output' "$folder/printed" && continue
        echo "attend $arguments: a full disk is not reported"
        failed=1
    done
fi
exit $failed
