#!/bin/sh
# campaign.sh LYING_MODELS DATA CLOCK_JUMPS: a campaign finds commands that are at fault, and all command lines have their turn. The commands are scripts.
campaign=$1 data=$2 clock_jumps=$3 failed=0
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder"

found() { # EXPECTED_STATUS TEXT SCRIPT
    printf '#!/bin/sh\n%s\n' "$3" >"$folder/command"
    chmod 755 "$folder/command"
    printed=$("$campaign" "$folder/command" "$data" 1 0)
    got=$?
    case $printed in *"$2"*) ;; *) got="$got, without '$2'" ;; esac
    [ "$got" = "$1" ] || { echo "$3: exit status $got instead of $1: $printed"; failed=1; }
}
found 0 'held' 'exit 0'
found 0 'held' 'echo "lie or tuned.checkpoint: not a model" >&2; exit 4'
found 1 'signal 11' 'kill -s SEGV $$'
found 1 'signal 9' 'kill -s KILL $$'
found 1 'is not documented' 'echo lie >&2; exit 99'
found 1 'without a message' 'exit 2'
found 1 'does not name the file' 'echo "a model is damaged" >&2; exit 4'
found 1 'a sanitizer reports' 'echo "x.c:1: runtime error: overflow" >&2; exit 1'
found 1 'a sanitizer reports' 'echo "ERROR: AddressSanitizer: heap-use-after-free" >&2; exit 1'
found 1 'control characters' 'printf "lie \\033[31m\\n" >&2; exit 4'
found 1 'attend info ends with exit status 0' 'echo lie >&2; [ "$1" = info ] || exit 4'
found 1 'to repeat it' 'kill -s ABRT $$'

# ---- the cheap command lines have a case with each seed, the others with one seed in four ----
printf '#!/bin/sh\nexit 0\n' >"$folder/command"
chmod 755 "$folder/command"
printed=$(for seed in 0 1 2 3; do "$clock_jumps" "$folder/command" "$data" $seed 0 | grep covered; done)
turns() { # NUMBER TEXT: as many of the four say so
    got=$(echo "$printed" | grep -c "$2")
    [ "$got" = "$1" ] || { echo "$2: $got of 4 campaigns instead of $1: $printed"; failed=1; }
}
turns 4 'covered 13 of 16 command lines; runs: '
for verb in translate score evaluate align show check info convert 'train [46]'; do turns 4 " $verb"; done
for verb in compare tune demo 'train 6'; do turns 1 " $verb"; done

# ---- the seed of the short form ----
[ "$(HOSTILE_SEED=7 "$(dirname "$0")/short.sh" echo command data)" = 'command data 7 15' ] || { echo 'short.sh does not take HOSTILE_SEED'; failed=1; }
env -u HOSTILE_SEED "$(dirname "$0")/short.sh" echo command data | grep -qx 'command data [1-9][0-9]\{7,\} 15' || { echo 'short.sh has no seed'; failed=1; }
exit $failed
