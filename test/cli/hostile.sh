#!/bin/bash
# hostile.sh ATTEND: attend train and check with invalid input: configuration files, data, numbers out of range, concurrent runs, signals.
. "$(dirname "$0")/cases.sh"
cd "$folder" || exit 1
exec </dev/null
limit=100

awk 'BEGIN { srand(2); for (i = 0; i < 300; i++) { s = ""; t = ""; n = 2 + int(rand() * 4);
    for (j = 0; j < n; j++) { w = substr("abcde", 1 + int(rand() * 5), 1); s = s (j ? " " : "") w; t = w (j ? " " : "") t }
    print s "\t" t } }' >pairs.tsv
head -20 pairs.tsv >valid.tsv
small="--tokens word --hidden 16 --embedding 8 --batch-tokens 100 --threads 1"
train="train --train pairs.tsv $small"

# ---- configurations ----
config() { # CODE WORDS TEXT: the text as printf writes it
    # shellcheck disable=SC2059
    printf "$3" >settings
    # shellcheck disable=SC2086
    expect "$1" "$2" train --config settings --train pairs.tsv --model c --fresh --updates 1 $small
}
expect 5 'it is a directory' train --config . --train pairs.tsv --model c
expect 5 'larger than 1 MiB' train --config /dev/zero --train pairs.tsv --model c
expect 5 'No such file' train --config none --train pairs.tsv --model c
config 2 'settings:2: unknown option --hiden; did you mean --hidden?' 'seed 3\nhiden 4\n'
config 2 "settings:3: --seed 'x' is not an integer" '\n# a comment\nseed x\n'
config 2 'settings:1: this line contains a NUL byte' 'seed 3\0seed 4\n'
config 2 'settings:1: this line is not UTF-8' 'seed \377\n'
config 2 "settings:1: --dropout '2' is not a number in 0..0.999" 'dropout 2\n'
config 2 'settings:2: --seed requires a value' 'clip 2\nseed\n'
config 2 "settings:1: --quiet 'maybe' is not yes or no" 'quiet maybe\n'
config 2 "did you mean 'adam'?" 'optimizer adan\n'
config 2 'a configuration file cannot include another' 'config other\n'
config 2 'b has no counterpart' 'valid a.tsv b.tsv b\n'
config 0 'done: c' 'quiet no\n'
config 0 '' '\357\273\277quiet\r\nseed = 4\r\nclip=2 # after a space\r\nlog l#og\r\n'
[ -s 'l#og' ] || fail 'a # inside a name starts a comment'
printf 'train none.tsv\nvalid valid.tsv valid.tsv\nmodel c\nupdates 2\n' >settings
# shellcheck disable=SC2086
expect 0 'done: c' train --config settings --train pairs.tsv $small --fresh # --train on the command line overrides the file
expect 2 '--model requires a value, but --fresh is an option' train --train pairs.tsv --model --fresh

# ---- numbers ----
# shellcheck disable=SC2086
{
    for option in epochs updates valid-every save-every; do expect 2 'from 1 to' $train --model n --$option 0; done
    for number in -1 1e99 nan inf 0x 99999999999999999999 1.5 ''; do expect 2 'integer' $train --model n --updates=$number; done
    expect 2 'size' $train --model n --memory 1e999
    expect 2 'size' $train --model n --memory 5X
    expect 2 'integer from 1 to 1024' $train --model n --threads 0
    expect 0 'limited to' train --train pairs.tsv --model n --tokens word --hidden 16 --embedding 8 --updates 2 --threads 1000
    expect 2 'too small for the kind bpe' train --train pairs.tsv --model n2 --tokens bpe --vocab-size 100
    expect 0 'done' train --train pairs.tsv --model n3 --tokens bpe --vocab-size 1000000 --hidden 16 --embedding 8 --updates 1
    expect 3 'are too long' $train --model n4 --max-length 1 --updates 1
}
awk 'BEGIN { for (i = 0; i < 9; i++) printf "a "; print "\ta" }' >longer.tsv
printf ' \t \n' >blank.tsv
# shellcheck disable=SC2086
{
    expect 3 'there is no validation pair' $train --model n5 --max-length 6 --updates 1 --valid longer.tsv
    expect 3 'files without a usable pair' $train --model n6 --updates 1 --valid blank.tsv
}

# ---- vocabularies ----
# shellcheck disable=SC2086
{
    expect 2 '--vocab-size limits them' $train --model v --source-vocab 500
    expect 2 'with --shared-vocab' $train --model v --shared-vocab --target-vocab-size 500
    expect 3 'the source vocabulary would be empty' $train --model v --min-count 1000000
    expect 3 'blank.tsv: the source vocabulary would be empty' train --train blank.tsv --model v $small --no-check --updates 1
    expect 0 'vocabulary  source: 5 tokens: 2 words, 3 special' $train --model v --source-vocab-size 5 --updates 1
}

# ---- memory: the message names a limit that suffices ----
# shellcheck disable=SC2086
{
    printed=$("$attend" train --train pairs.tsv --model mem --hidden 200 --tokens word --updates 1 --memory 1M 2>&1)
    least=$(echo "$printed" | sed -n 's/.*raise it to \([0-9]*M\).*/\1/p')
    [ -n "$least" ] || fail "the message names no limit: $printed"
    expect 0 'done' train --train pairs.tsv --model mem --hidden 200 --tokens word --updates 1 --memory "$least"
    # a model larger than the machine's memory, or than the limit, is refused before its weights are filled
    (
        limit=10
        expect 1 'MB of memory are available: reduce hidden' $train --model huge --updates 1 --hidden 16384 --embedding 16384 --layers 8
        expect 1 'MB of memory are available: reduce hidden' $train --model huge --updates 1 --hidden 16384 --embedding 16384 --architecture transformer --layers 8
        expect 2 'the memory limit is 1024M: raise it, or reduce hidden' $train --model huge --updates 1 --hidden 16384 --memory 1G
        exit $failed
    ) || failed=1
    [ ! -e huge.checkpoint ] || fail 'a model that was refused left files'
}

# ---- files ----
# shellcheck disable=SC2086
{
    expect 5 'it is a device' $train --model /dev/full --updates 1
    [ -e /dev/full.checkpoint ] && fail 'files were created beside /dev/full'
    expect 5 "create its directory first" $train --model no/such/m --updates 1
    expect 5 'it is a directory' $train --model . --updates 1
    expect 2 'is given 2 times' train --train - --valid - --model m
    expect 2 'is given 2 times' train --train - - --model m
    "$attend" $train --valid - --model stdin --updates 2 --quiet <valid.tsv || fail 'standard input for validation'
    "$attend" train --train - $small --model stdin --updates 3 --valid valid.tsv --quiet <pairs.tsv || fail 'resuming from standard input'
    (ulimit -f 20 && "$attend" $train --model limited --updates 5 --hidden 64) >printed 2>&1
    [ $? = 5 ] && grep -q 'limited.checkpoint' printed && grep -q 'bytes written' printed || fail "a file size limit: $(cat printed)"
    expect 0 'done' $train --model logged --updates 20 --log-every 1
    cp logged before && cp logged.checkpoint before.checkpoint
    rm -f logged.log.jsonl && ln -s /dev/full logged.log.jsonl
    expect 5 'logged.log.jsonl' $train --model logged --updates 40 --log-every 1
    cmp -s logged before && cmp -s logged.checkpoint before.checkpoint || fail 'a full disk for the log damaged the checkpoint'
    rm logged.log.jsonl
    expect 0 'done' $train --model logged --updates 40 --log-every 1
    expect 5 'cannot read' $train --model gone --valid none.tsv --updates 1
    printf 'a\tb\r\n\357\273\277c\td' >odd.tsv # CR LF, a byte order mark in the middle, no line feed at the end
    expect 0 'done' train --train odd.tsv --model odd $small --updates 1
    head -c 1000000 /dev/zero | tr '\0' x >long.line && printf '\ty\na\tb\n' >>long.line
    expect 0 '1 skipped' train --train long.line --model long --tokens char --hidden 16 --embedding 8 --updates 1
    printf 'a\t\377\n' >bytes.tsv
    expect 3 'bytes.tsv:1' train --train bytes.tsv --model bytes --no-check --updates 1
    printf 'a\tb\nx y\n' >notab.tsv
    expect 3 'notab.tsv:2' train --train notab.tsv --model bytes --no-check --updates 1
}

# ---- existing files are not overwritten ----
cp pairs.tsv precious.tsv
# shellcheck disable=SC2086
{
    expect 2 'is not a model' train --train pairs.tsv --model precious.tsv $small --updates 1
    expect 2 'is not a training log' train --train pairs.tsv --log precious.tsv --model other $small --updates 1
    cmp -s pairs.tsv precious.tsv || fail 'data was overwritten'
    ln -s around.checkpoint around.checkpoint # exists, but cannot be read
    expect 5 'around.checkpoint' $train --model around --updates 1
}

# ---- several files, and pipes ----
head -100 pairs.tsv >a.tsv
tail -200 pairs.tsv >b.tsv
# shellcheck disable=SC2086
{
    expect 0 'data        300 pairs' train --valid none --train a.tsv b.tsv --model several $small --updates 5
    expect 0 'data        300 pairs' train --valid none --train a.tsv --train b.tsv --model several2 $small --updates 5
    cmp -s several several2 || fail 'the model depends on how the files are given'
    expect 2 'has no counterpart' train --train a.tsv words --model x $small --updates 5
    mkfifo pipe
    cat b.tsv >pipe &
    timeout 60 "$attend" train --valid none --train a.tsv --train pipe --model piped $small --updates 5 --quiet || fail 'a pipe'
    cmp -s several piped || fail 'a pipe gives another model'
    cat pipe >got & # a log is not read back from a pipe, and not from a device
    expect 0 'done' train --train a.tsv --model piped --fresh $small --updates 5 --log-every 1 --log pipe
    wait $!
    [ "$(grep -c '^{"update": ' got)" -ge 5 ] || fail "a log in a pipe: $(cat got)"
    expect 0 '{"update": 5' train --train a.tsv --model piped --fresh $small --updates 5 --log-every 1 --log /dev/stdout
    expect 0 'done' train --train a.tsv --model piped --fresh $small --updates 5 --log /dev/null
    expect 3 '(/dev/fd/' train --train <(echo no tab) --model x $small --updates 1
    expect 5 'it is a device' check --train /dev/zero
    expect 2 'is given 2 times' check --train - --valid -
}

# ---- sizes ----
expect 0 'for 300 pairs of sentences' train --train pairs.tsv --valid none --model sized --updates 1
expect 0 'resuming from update 1' train --train pairs.tsv --valid none --model sized --updates 2
expect 0 'hidden               128' info sized
expect 2 "hidden '128', and now it is '32'" train --train pairs.tsv --valid none --model sized --updates 3 --hidden 32
cat pairs.tsv pairs.tsv >twice.tsv
expect 2 "data '300 pairs" train --train twice.tsv --valid none --model sized --updates 3
cut -f1 pairs.tsv | tr -d ' ' >words && paste words words >words.tsv
expect 0 'source-tokens char, target-tokens char' train --train words.tsv --model letters --updates 1 --preset tiny

# ---- concurrent runs, signals, closed pipes ----
# shellcheck disable=SC2086
"$attend" $train --valid none --model busy --updates 100000000 --save-every 50 2>/dev/null &
child=$!
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do [ -e busy.checkpoint ] && break; sleep 0.3; done
# shellcheck disable=SC2086
expect 2 'being trained by another process' $train --valid none --model busy --updates 10
kill -s HUP $child
wait $child
[ $? = 129 ] || fail 'SIGHUP did not end with 129'
expect 0 'parameters' info busy.checkpoint
# shellcheck disable=SC2086
"$attend" $train --valid none --model busy --updates 100000000 --save-every 50 2>/dev/null &
child=$!
sleep 1
kill -9 $child # releases the lock; the next run removes its temporary files
wait $child 2>/dev/null
: >.busy.checkpoint.abc123.tmp
# shellcheck disable=SC2086
timeout 100 "$attend" $train --valid none --model busy --updates 10 2>&1 | true
# shellcheck disable=SC2086
expect 0 'done: busy' $train --valid none --model busy --updates 10
[ -e .busy.checkpoint.abc123.tmp ] && fail 'a stale temporary file was not removed'
# shellcheck disable=SC2086
"$attend" $train --model read --updates 400 --log-every 1 2>&1 | head -1 >/dev/null
[ -s read ] || fail 'training ended when the reader closed the pipe'
exit $failed
