#!/bin/bash
# conflicts.sh ATTEND DATA: no verb writes to a file that it reads or that it writes otherwise: named twice, linked, or redirected. DATA: test/data/v0.1.
. "$(dirname "$0")/cases.sh"
data=$(cd "$2" && pwd) || exit 1
cd "$folder" || exit 1
limit=60

cp "$data/rnn-bpe.model" m
cp "$data/language-model.model" lm
cp "$data/pairs.tsv" pairs.tsv
cp "$data/valid.tsv" valid.tsv
head -5 valid.tsv | cut -f1 >lines
head -5 valid.tsv | cut -f2 >targets
mkdir kept && cp -- * kept 2>/dev/null

# All files are as they were; those made meanwhile are removed.
unchanged() { # WHAT
    for f in kept/*; do
        cmp -s "$f" "${f#kept/}" || fail "$1: ${f#kept/} changed"
        cp "$f" "${f#kept/}"
    done
    for f in *; do [ "$f" = kept ] || [ -e "kept/$f" ] || rm -rf "$f"; done
}
# A command line that the shell runs is refused with exit status 2 and TEXT, and changes nothing.
refused() { # TEXT COMMAND
    printed=$(eval "timeout 60 \"$attend\" $2" 2>&1)
    got=$?
    case $printed in *"$1"*) ;; *) got="$got, without '$1'" ;; esac
    [ "$got" = 2 ] || fail "attend $2: exit status $got instead of 2: $printed"
    unchanged "attend $2"
}

# ---- an output that is an input ----
refused '--output lines is also standard input' 'translate --model m --output lines <lines'
refused '--output ./lines is also the input of --input lines' 'translate --model m --input lines --output ./lines'
refused '--output lines is also the input of --prefix' 'translate --model m --input targets --prefix lines --output lines'
refused '--output m is also the input of --model' 'translate --model m --output m <lines'
refused '--output m is also the input of --model' 'translate --model lm --model m --output m <lines'
ln lines hard
refused '--output hard is also standard input' 'translate --model m --output hard <lines'
ln -s lines soft
refused '--output soft is also standard input' 'translate --model m --output soft <lines'
refused '--output targets is also the input of --reference' 'evaluate --model m --source lines --reference targets --output targets'
refused '--plot targets is also the input of --hypothesis' 'evaluate --hypothesis targets --reference lines --plot targets'
refused '--output valid.tsv is also the input of --input' 'show --model m --input valid.tsv --output valid.tsv'
refused '--output lines is also the input of --shortlist' 'convert --model m --shortlist lines targets --output lines'
cp lines map-7 && cp lines kept/map-7
refused '--output map-7 is also the input of --input' 'show --model m --input map-7 --format svg --output map-%d'
rm kept/map-7 map-7

# ---- two outputs ----
refused 'are the same file' 'evaluate --model m --input valid.tsv --output both --plot ./both'
ln -s not-yet dangling
refused 'are the same file' 'evaluate --model m --input valid.tsv --output not-yet --plot dangling'
refused 'are the same file' 'train --train pairs.tsv --model n --log n'
for f in checkpoint svg lock single update-3; do refused 'are the same file' "train --train pairs.tsv --model n --log ./n.$f"; touch n.update-3; done
rm -f n.update-3
refused '--model n.update-%d and --log n.update-3 are the same file' 'train --train pairs.tsv --model n --log n.update-3 --keep 2'
mkdir n.members kept/n.members && cp pairs.tsv n.members/1.log.jsonl && cp pairs.tsv kept/n.members
expect 2 '--model n.members/1.log.jsonl is also the input of --train' train --train n.members/1.log.jsonl --model n --ensemble 2 --fresh
cmp -s pairs.tsv n.members/1.log.jsonl || fail 'an ensemble removed its input'
rm -r n.members kept/n.members

# ---- training ----
refused '--model pairs.tsv is also the input of --train' 'train --train pairs.tsv --model pairs.tsv'
refused '--log valid.tsv is also the input of --valid' 'train --train pairs.tsv --valid valid.tsv --model n --log valid.tsv'
printf 'hidden 8\n' >settings && cp settings kept/settings
refused '--log settings is also the input of --config' 'train --train pairs.tsv --config settings --model n --log settings'
refused '--log settings is also the input of --config' 'train --train pairs.tsv --config settings --config /dev/null --model n --log settings'
rm kept/settings settings
mkdir d && cp pairs.tsv d/comparison.txt && mkdir kept/d && cp pairs.tsv kept/d/comparison.txt
mkdir d/dot && cp pairs.tsv d/dot/translations
expect 2 '--output d/comparison.txt is also the input of --train' compare --train d/comparison.txt --valid valid.tsv --vary attention=dot --output d
expect 2 'd/dot/translations is also the input of --test' compare --train pairs.tsv --valid valid.tsv --test d/dot/translations --vary attention=dot --output d
cmp -s pairs.tsv d/comparison.txt && cmp -s pairs.tsv d/dot/translations || fail 'compare changed its input'
rm -rf d kept/d

# ---- outputs that cannot be standard output: a file, which replaces the one of that name ----
refused '--save -: this cannot be written to standard output' 'align --input pairs.tsv --save -'
refused '--save /dev/stdout: this cannot' 'align --input pairs.tsv --save /dev/stdout >>lines'
refused '--output /dev/stdout: this cannot' 'convert --model m --precision int8 --output /dev/stdout >>lines'
refused '--output -: this cannot' 'convert --average m m --output -'
refused '--plot /dev/fd/1: this cannot' 'evaluate --hypothesis lines --reference lines --by-length 5 --plot /dev/fd/1 >>targets'
refused '--model -: this cannot' 'train --train pairs.tsv --model -'
refused '--output -: this cannot' 'demo --output -'
refused '--output -: this cannot' 'compare --train pairs.tsv --valid valid.tsv --vary hidden=4 --output -'
refused '--output -: this cannot' 'tune --train pairs.tsv --valid valid.tsv --time 1s --output -'
refused 'are the same file' 'align --input pairs.tsv --save al --dictionary ./al'
refused '--dictionary targets is also the input of --gold' 'align --input pairs.tsv --gold targets --dictionary targets'
refused '--log lines is also the input of --guided-alignment' 'train --train pairs.tsv --model n --guided-alignment lines --log lines'
cat "$data/pairs.tsv" >kept/pairs.tsv
"$attend" train --train pairs.tsv --valid none --tokens word --hidden 8 --embedding 8 --updates 2 --log-every 1 --model n --log - --quiet >out || fail '--log -'
grep -q '^{"update": 2' out || fail "--log -: $(cat out)"
rm -f n n.* out

# ---- standard input is read once ----
once() { # OPTIONS COMMAND
    printed=$(eval "timeout 60 \"$attend\" $2" <lines 2>&1)
    got=$?
    case $printed in *"standard input is given 2 times ($1), but can be read only once"*) ;; *) got="$got, without the options" ;; esac
    [ "$got" = 2 ] || fail "attend $2: exit status $got instead of 2: $printed"
    unchanged "attend $2"
}
once '--hypothesis, --reference' 'evaluate --hypothesis - --reference /dev/stdin'
once '--reference, --source' 'evaluate --model m --source - --reference -'
once '--input, --gold' 'align --model m --input - --gold -'
once '--prefix, --input' 'translate --model m --prefix -'
once '--dictionary, --input' 'translate --model m --replace-unknown --dictionary /dev/fd/0'
once '--train, --valid' 'check --train - --valid /dev/stdin'
once '--train, --guided-alignment' 'train --train - --model n --guided-alignment -'
once '--train, --test' 'compare --train - --test - --vary hidden=4 --output c'

# ---- standard streams ----
refused 'standard output is also standard input' 'translate --model m <lines >>lines'
refused 'standard output is also the input of --input' 'align --model m --input pairs.tsv >>pairs.tsv'
refused 'standard output is also the input m' 'info m >>m'
refused 'standard output is also the input of --model' 'translate --model m >>m <lines'
refused '' 'check --train pairs.tsv >>pairs.tsv 2>&1' # nothing is printed where there is no place for it
refused 'standard error is also standard input' 'translate --model m <lines 2>>lines'
refused 'standard error is also the input of --train' 'train --train pairs.tsv --model n 2>>pairs.tsv'
if "$attend" serve --help >/dev/null 2>&1; then
    refused 'standard error is also the input of --model m' 'serve --model en-fr=lm --model en-de=m --listen unix:socket 2>>m'
    refused 'standard output is also the input of --model ./m' 'serve --model en-fr=./m --listen unix:socket >>m'
fi
refused '--output out and standard output are the same file' 'translate --model m --input lines --output out >out'
refused '--log log and standard error are the same file' 'train --train pairs.tsv --model n --log log 2>log; code=$?; cat log; (exit $code)'
refused 'are the same file' 'train --train pairs.tsv --model n 2>n.log.jsonl; code=$?; cat n.log.jsonl; (exit $code)'
mkdir d && : >d/test.tsv
refused 'are the same file' 'demo --output d --pairs 100 --updates 1 >>d/test.tsv'

# ---- what is allowed ----
"$attend" translate --model m <lines >expected || fail 'translate'
"$attend" translate --model m --output /dev/stdout <lines >out || fail '--output /dev/stdout'
same 'translations to /dev/stdout' expected out
printf 'first\n' >out
"$attend" translate --model m --output /dev/stdout <lines >>out || fail '--output /dev/stdout, appended'
same 'translations appended to /dev/stdout' <(echo first; cat expected) out
"$attend" translate --model m --output - <lines >out || fail '--output -'
same 'translations to -' expected out
"$attend" translate --model m --output out <lines >all 2>&1 || fail 'both streams to one file'
"$attend" translate --model m --output /dev/null </dev/null || fail 'a device as input and output'
"$attend" evaluate --model m --input valid.tsv --metric exact --output /dev/stdout >out || fail 'evaluate --output /dev/stdout'
is 'lines of evaluate --output /dev/stdout' $(($(wc -l <valid.tsv) + 1)) "$(wc -l <out)"
cp m own
"$attend" convert --model own --output own --precision int8 || fail 'convert in place'
expect 0 'int8' info own
exit $failed
