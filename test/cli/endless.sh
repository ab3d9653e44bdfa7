#!/bin/bash
# endless.sh ATTEND: input without an end, for every option that names a file: devices, pipes without line feeds, pipes of NUL bytes, and pipes of lines where
# a verb reads them all. Each is refused within seconds.
. "$(dirname "$0")/cases.sh"
cd "$folder" || exit 1
exec </dev/null
limit=60

awk 'BEGIN { srand(2); for (i = 0; i < 100; i++) { s = ""; t = ""; n = 2 + int(rand() * 4);
    for (j = 0; j < n; j++) { w = substr("abcde", 1 + int(rand() * 5), 1); s = s (j ? " " : "") w; t = w (j ? " " : "") t }
    print s "\t" t } }' >pairs.tsv
cut -f 1 pairs.tsv >a
cut -f 2 pairs.tsv >b
small="--tokens word --hidden 16 --embedding 8 --batch-tokens 100 --threads 1 --updates 1 --quiet"
# shellcheck disable=SC2086
"$attend" train --train pairs.tsv --model m $small || exit 1

# ---- devices and pipes without lines: @ is the file ----
cases() {
    cat <<END
translate --model m --input @
translate --model m --input a --prefix @
translate --model m --input a --replace-unknown --dictionary @
translate --model @ --input a
translate --model m --model @ --input a
evaluate --model m --input @
evaluate --model m --input a @
evaluate --model m --source @ --reference b
evaluate --hypothesis @ --reference b
evaluate --hypothesis a --reference @
evaluate --hypothesis a --reference a --reference @
evaluate --hypothesis a --reference b --source @ --by-length auto
evaluate --hypothesis a --reference b --against @
score --model m --input @
score --model m --input a @
align --model m --input @
align --model m --input a @
align --model m --input a b --gold @
align --model m --input a b --evaluate-maps --gold @
align --input @
align --input a @
align --input a b --aligner @
align --input a b --gold @
tune --train @ --valid pairs.tsv --time 1s --output t $small
tune --train pairs.tsv --valid @ --time 1s --output t $small
check --train @
check --train a @
check --train pairs.tsv --valid @
train --train @ --model n $small
train --train a @ --model n $small
train --train pairs.tsv --valid @ --model n $small
train --train pairs.tsv --config @ --model n $small
train --train pairs.tsv --guided-alignment @ --model n $small
train --train pairs.tsv --init-from @ --model n --updates 1
train --train pairs.tsv --score-plugin @ --model n $small
convert --model @ --output n --precision int8
convert --model m --output n --shortlist @
convert --output n --average m @
show --model m --input @
show --model m --input a @
info @
compare --train @ --test pairs.tsv --output c --vary hidden=8 $small
compare --train pairs.tsv --test @ --output c --vary hidden=8 $small
compare --train pairs.tsv --valid @ --test pairs.tsv --output c --vary hidden=8 $small
compare --train pairs.tsv --test pairs.tsv --gold @ --output c --vary hidden=8 $small
END
    "$attend" help serve >/dev/null 2>&1 && cat <<END
serve --listen unix:s --model en-fr=@
serve --listen unix:s --model en-fr=m --api-keys @
serve --listen unix:s --model en-fr=m --score-plugin @
END
}
refused() { # FILE DESCRIPTION ARGUMENTS...
    file=$1 what=$2
    shift 2
    printed=$(timeout $limit "$attend" "${@/@/$file}" 2>&1 >/dev/null)
    got=$?
    case $got in 2 | 3 | 5) ;; *) fail "$*, where @ is $what: exit status $got: $printed" ;; esac
    [ -n "$printed" ] || fail "$*, where @ is $what: no message"
}
tried=0
while read -r -a arguments; do
    for device in /dev/zero /dev/urandom; do
        [ -c $device ] && refused $device $device "${arguments[@]}" </dev/null
    done
    refused <(exec cat /dev/zero) 'a pipe of NUL bytes' "${arguments[@]}" </dev/null
    tried=$((tried + 3))
done < <(cases)
for arguments in 'translate --model m --input @' 'translate --model m --input a --prefix @' 'evaluate --hypothesis a --reference @' 'check --train a @' \
    "train --train @ --model n $small"; do # it takes 256 MiB to know that there is no line feed
    read -r -a arguments <<<"$arguments"
    refused <(exec tr '\0' x </dev/zero) 'a pipe of one line' "${arguments[@]}" </dev/null
    tried=$((tried + 1))
done
echo "$tried commands with endless input"

# ---- standard input ----
for verb in 'translate --model m' 'score --model m --input -' 'align --model m --input -' 'check --train -' "train --train - --model n $small"; do
    # shellcheck disable=SC2086
    printed=$(timeout $limit "$attend" $verb 2>&1 >/dev/null </dev/zero)
    got=$?
    case $got/$printed in 5/*'it is a device'*) ;; *) fail "$verb </dev/zero: exit status $got: $printed" ;; esac
done
verb=
is 'an empty device' '' "$("$attend" translate --model m </dev/null 2>&1)"

# ---- lines without an end, where all are read ----
expect 3 'has more than 256 MiB of text' translate --model m --input a --replace-unknown --dictionary <(exec yes "$(printf 'a\tb')")
expect 3 'or more;' score --model m --input a <(exec yes)
pairs=$(printf 'a b\tc d')
expect 1 'pairs of the word aligner take more than half of the memory limit' align --memory 50M --input <(exec yes "$pairs")
expect 3 'the gold links take more than the memory limit' align --memory 50M --input pairs.tsv --gold <(exec yes 0-0)
expect 3 'the gold links take more than the memory limit' align --model m --memory 50M --input pairs.tsv --gold <(exec yes '1 1 1 S')
expect 1 'sentences take more than the memory limit allows' show --model m --memory 30M --input <(exec yes a) --output page.html
[ -e page.html ] && fail 'a page that was not completed'

# ---- pipes that are copied: a disk is not filled ----
mkdir small_disk
if unshare -rm mount -t tmpfs -o size=4m tmpfs small_disk 2>/dev/null; then
    for arguments in "train --train @ --model n $small" "compare --train @ --test pairs.tsv --output c --vary hidden=8 $small" \
        "tune --train @ --time 1s --output t $small"; do
        # shellcheck disable=SC2016
        printed=$(timeout $limit unshare -rm sh -c 'mount -t tmpfs -o size=4m tmpfs small_disk && export TMPDIR=small_disk && yes "$0" | "$@"' \
            "$pairs" "$attend" ${arguments/@/-} 2>&1)
        case $?/$printed in 5/*'it takes more than half of the free space there, or has no end'*) ;; *) fail "$arguments: $printed" ;; esac
    done
else
    echo 'not tried: pipes that fill a disk (unshare cannot mount a small one here)'
fi
expect 3 'has more lines than' translate --model m --input a --prefix <(exec yes)
exit $failed
