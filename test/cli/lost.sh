#!/bin/bash
# lost.sh ATTEND DATA: what exists is not overwritten silently, and a training that ends has a model. DATA: test/data/v0.1.
. "$(dirname "$0")/cases.sh"
data=$(cd "$2" && pwd) || exit 1
cd "$folder" || exit 1
exec </dev/null
limit=100
cp "$data/pairs.tsv" "$data/valid.tsv" .
small="--tokens word --hidden 8 --embedding 8 --threads 1"
train="train --train pairs.tsv $small"
kept() { # FILE AS: a file has the content of another
    cmp -s "$1" "$2" || fail "$1 was changed"
}

# ---- a model that came from elsewhere ----
cp "$data/transformer-learned.model" m
# shellcheck disable=SC2086
{
    expect 2 'm exists: a model of architecture transformer for translation, ' $train --model m --updates 1
    expect 2 "(option 'init-from')" $train --model m --updates 1
    expect 2 "(option 'fresh')" $train --model m --updates 1
    kept m "$data/transformer-learned.model"
    [ "$(echo m*)" = m ] || fail "a refused training left $(echo m*)"
    expect 0 'done: m' $train --model m --updates 1 --fresh
    expect 0 'rnn' info m
    expect 0 'resuming' $train --model m --updates 2
    cp "$data/language-model.model" lm
    expect 2 'for language-model, ' $train --model lm --updates 1
    expect 5 'it is a directory' $train --model . --updates 1 --fresh
    expect 2 'is not a model' $train --model "$data/input.txt" --updates 1 --fresh
    ln -s nowhere/model link
    expect 5 'directory nowhere does not exist; create it first' $train --model link --updates 1
    [ "$(echo link*)" = link ] || fail "a refused training left $(echo link*)"
    printf 'lock of another program\n' >p.lock
    expect 2 'p.lock exists and is not a lock' $train --model p --updates 1
    [ -s p.lock ] || fail 'p.lock is lost'
}

# ---- a model that was copied beside the checkpoint of another ----
# shellcheck disable=SC2086
{
    expect 0 'done: r' $train --model r --updates 1
    cp "$data/transformer-learned.model" r
    expect 2 'r exists: a model of architecture transformer for translation, ' $train --model r --updates 2
    expect 2 'It is not of the training that r.checkpoint resumes' $train --model r --updates 2
    kept r "$data/transformer-learned.model"
    rm r
    expect 0 'done: r' $train --model r --updates 2
    expect 0 '' convert --model r --precision int8 --output r
    expect 0 'done: r' $train --model r --updates 3
    # the training of an earlier version: its models have no id
    cp "$data/stopped.model.checkpoint" old.checkpoint
    old="train --train pairs.tsv --valid none --model old --tokens word --hidden 8 --embedding 8 --batch-tokens 60 --learning-rate 0.01"
    old="$old --dropout 0 --updates 302 --threads 1 --patience 0"
    cp "$data/rnn-location.model" old
    expect 2 'It is not of the training that old.checkpoint resumes' $old
    kept old "$data/rnn-location.model"
    # of the same sizes and vocabularies, with an id
    # shellcheck disable=SC2086
    expect 0 'done: id' ${old/--model old/--model id} --updates 1 --seed 9
    cp id old
    expect 2 'It is not of the training that old.checkpoint resumes' $old
    kept old id
    cp "$data/stopped.model" old
    expect 0 'done: old' $old
}

# ---- logs ----
# shellcheck disable=SC2086
{
    expect 0 'done' $train --model a --updates 3 --log-every 1
    cp a.log.jsonl log
    expect 2 'the log of another training' $train --model b --updates 1 --log a.log.jsonl
    expect 0 'done' $train --model b --updates 1 --seed 2
    expect 2 'the log of another training' $train --model b --updates 2 --seed 2 --log a.log.jsonl
    kept a.log.jsonl log
    expect 0 'done' $train --model c --updates 1 --log a.log.jsonl --fresh
}

# ---- kept models and members of an ensemble: files of another kind stay, also with --fresh ----
printf 'a text\n' >text
# shellcheck disable=SC2086
{
    cp text kept.update-1
    for fresh in '' --fresh; do
        expect 2 'kept.update-1 exists and is not a model' $train --model kept --updates 1 --keep 1 $fresh
        expect 2 'kept.update-1 exists and is not a model' $train --model ./kept --updates 1 --average-last 2 $fresh
    done
    expect 0 'done: kept' $train --model kept --updates 1
    kept kept.update-1 text
    mkdir e.members
    for f in 1 2.checkpoint 3.log.jsonl 4.svg 5.lock 6.update-7 8.single; do
        cp text e.members/$f
        expect 2 "e.members/$f exists and is not" $train --model e --updates 1 --ensemble 2 --fresh
        kept e.members/$f text
        rm e.members/$f
    done
    cp text e.members/notes
    expect 0 'done: e' $train --model e --updates 1 --ensemble 2 --fresh
    expect 0 'done: e' $train --model e --updates 1 --ensemble 2 --fresh --seed 7
    kept e.members/notes text
    cp e ensemble
    for f in e e.members/1 e.members/2; do
        rm $f
        expect 0 'done: e' $train --model e --updates 1 --ensemble 2 --seed 7
        kept e ensemble
        [ -s $f ] || fail "$f was not written again"
    done
    expect 0 'done: other' $train --model other --updates 1 --ensemble 2 --seed 9
    cp other e
    expect 2 'e exists and is not from this training' $train --model e --updates 1 --ensemble 2 --seed 7
    kept e other
    rm e
    expect 0 'done: e' $train --model e --updates 1 --ensemble 2 --seed 7
}

# ---- align --select-map writes into its input ----
cp "$data/lstmn.model" chosen && cp "$data/stopped.model.checkpoint" resumed
expect 2 'resumed is a training checkpoint' align --model resumed --input pairs.tsv --select-map
kept resumed "$data/stopped.model.checkpoint"
if [ "$(id -u)" != 0 ]; then
    chmod 444 chosen
    expect 5 'cannot write chosen, which exists' align --model chosen --input pairs.tsv --select-map
    kept chosen "$data/lstmn.model"
elif setpriv --reuid=65534 --regid=65534 --clear-groups "$attend" --version >/dev/null 2>&1; then
    chmod 444 chosen pairs.tsv && chmod 777 .
    printed=$(setpriv --reuid=65534 --regid=65534 --clear-groups "$attend" align --model chosen --input pairs.tsv --select-map 2>&1)
    is 'the exit status for a write-protected model' 5 $?
    case $printed in *'cannot write chosen, which exists'*) ;; *) fail "a write-protected model: $printed" ;; esac
    kept chosen "$data/lstmn.model"
    chmod 644 pairs.tsv
else
    echo 'not tried: a write-protected model (root cannot become another user here)'
fi

# ---- a model that was deleted ----
# shellcheck disable=SC2086
{
    cp b before
    rm b
    expect 0 'b does not exist any more; it is saved again' $train --model b --updates 1 --seed 2
    kept b before
}

# ---- divergence ----
wild="--cell simple --activation relu --layers 8 --attention dot --learning-rate 100 --clip 0 --dropout 0"
# shellcheck disable=SC2086
for _ in 1 2; do
    expect 1 'training diverged: the validation loss is non-finite, also at half the learning rate. No model was written' $train $wild --valid valid.tsv --model w --updates 4
    [ -e w ] && fail 'a training that diverged left a model'
    expect 1 "variant 'wild' failed: training diverged" compare --train pairs.tsv --valid valid.tsv $small --updates 4 --output cmp \
        --variant "wild: $(sed 's/--\([a-z-]*\) /\1=/g' <<<"$wild")" --variant 'tame: cell=gru'
done

# ---- convert ----
expect 2 '--output pairs.tsv exists and is not a model' convert --model m --output pairs.tsv --precision int8
kept pairs.tsv "$data/pairs.tsv"
cp m.checkpoint state
expect 2 '--output m.checkpoint is a checkpoint' convert --model m --output m.checkpoint --precision int8
expect 2 '--output m.checkpoint is a checkpoint' convert --average a a --output m.checkpoint
kept m.checkpoint state
: >empty
expect 0 '' convert --model m --output empty --precision int8

cp a other && cp b n && cp b.checkpoint n.checkpoint
expect 2 "--output n is the model of another training, whose checkpoint is n.checkpoint" convert --model a --output n --precision int8
expect 2 "--output n is the model of another training" convert --average a a --output n
kept n b
expect 0 '' convert --model n --output n --precision bf16
rm n.checkpoint
expect 0 '' convert --model a --output n --precision int8
expect 2 'state exists and is the checkpoint of a training, not a model' train --train pairs.tsv --model state --updates 1 --fresh
kept state m.checkpoint

# ---- a file of another kind ----
# An output replaces a file of its own kind, and an empty one, and nothing else.
printf 'p\tq\nr\ts\n' >text
printf '[1]\n' >json
gzip -c text >packed
echo 'a b' >lines
expect 0 '' align --input pairs.tsv --save aligner --quiet
expect 0 '' evaluate --hypothesis lines --reference lines --by-length 5 --plot svg
for f in html png pdf npz; do expect 0 '' show --model a 'a b' --target 'a b' --format $f --output $f; done
replaces() { # KINDS ARGUMENTS...: the last argument, the output, is the name of a kind
    kinds=$1
    shift
    for kind in text json svg html png pdf npz packed aligner other state empty; do
        cp $kind as-before 2>/dev/null || : >as-before
        cp as-before target
        case " $kinds " in
        *" $kind "*) expect 0 '' "$@" target ;;
        *)
            expect 2 'target' "$@" target
            kept target as-before
            ;;
        esac
    done
}
: >empty
replaces 'text json svg html empty' translate --model a --input lines --quiet --output
replaces 'text json svg html empty' evaluate --model a --source lines --reference lines --output
replaces 'svg empty' evaluate --hypothesis lines --reference lines --by-length 5 --plot
replaces 'aligner empty' align --input pairs.tsv --quiet --save
replaces 'text json svg html empty' align --input pairs.tsv --quiet --dictionary
replaces 'other empty' convert --model a --precision int8 --output
replaces 'text json svg html empty' show --model a 'a b' --target 'a b' --format terminal --output
replaces 'json empty' show --model a 'a b' --target 'a b' --format json --output
for f in svg html png pdf npz; do replaces "$f empty" show --model a 'a b' --target 'a b' --format $f --output; done
# shellcheck disable=SC2086
replaces 'empty' $train --model l --updates 1 --fresh --log
cp text out-7.svg
expect 2 '--output out-7.svg exists and is not an SVG picture' show --model a --input lines --format svg --output out-%d.svg

# ---- outputs that cannot be written are refused before the work, not after it ----
for output in no/such/file lines/file .; do
    for command in 'align --input pairs.tsv --save' 'align --input pairs.tsv --dictionary' 'evaluate --hypothesis lines --reference lines --by-length 5 --plot' \
        'evaluate --model a --source lines --reference lines --output' 'translate --model a --input lines --output' 'show --model a --output'; do
        # shellcheck disable=SC2086
        printed=$("$attend" $command $output 2>&1 >out)
        got=$?
        case $printed in *"cannot write $output: "*) ;; *) got="$got, without the reason" ;; esac
        [ "$got" = 5 ] && [ ! -s out ] || fail "$command $output: exit status $got: $printed; $(cat out)"
    done
done
for device in /dev/null /dev/full; do expect 5 'name a regular file' align --input pairs.tsv --save $device; done

# ---- pipes, directories and devices where files are read and written: nothing waits for them, and they stay ----
# shellcheck disable=SC2086
{
    odd() { # NAME COMMAND: the command is refused for each kind of file of that name
        file=$1
        shift
        [ -e "$file" ] && mv "$file" was-there
        for kind in pipe directory device; do
            case $kind in pipe) mkfifo "$file" ;; directory) mkdir "$file" ;; device) ln -s /dev/zero "$file" ;; esac
            printed=$(timeout 30 "$attend" "$@" 2>&1 </dev/null)
            got=$?
            case $printed in *"$file"*) ;; *) got="$got, without '$file'" ;; esac
            [ "$got" = 5 ] || fail "attend $*, where $file is a $kind: exit status $got: $printed"
            [ -e "$file" ] && [ ! -f "$file" ] || fail "attend $*: $file was replaced"
            rm -r "$file"
        done
        if [ -e was-there ]; then mv was-there "$file"; fi
    }
    tiny="--train pairs.tsv --valid valid.tsv $small --updates 1 --quiet"
    expect 0 '' compare $tiny --vary seed=1,2 --output cc
    expect 0 '' tune ${tiny% --updates 1 --quiet} --updates 2 --quiet --time 5s --candidates 2 --output tt
    for f in comparison.json comparison.txt comparison.svg comparison.html; do odd cc/$f compare $tiny --vary seed=1,2 --output cc; done
    for f in options clock translations result model model.checkpoint model.log.jsonl model.svg model.lock model.single; do
        odd cc/seed=2/$f compare $tiny --vary seed=1,2 --output cc
    done
    for f in options rounds result translations clock model model.checkpoint model.log.jsonl; do
        candidate=$(ls -d tt/*/ | head -1)
        odd ${candidate}$f tune ${tiny% --updates 1 --quiet} --updates 2 --quiet --time 9s --candidates 2 --output tt
    done
    expect 0 'done: odd' $train --model odd --updates 1 --keep 1
    for f in odd odd.checkpoint odd.log.jsonl odd.svg odd.lock odd.single odd.update-1; do
        odd $f $train --model odd --updates 2 --keep 1
        odd $f $train --model odd --updates 2 --keep 1 --fresh
    done
    expect 0 'exact match' demo --pairs 100 --updates 1 --output dd --quiet --threads 1
    for f in train.tsv valid.tsv test.tsv test.links attention.html model model.checkpoint model.log.jsonl model.svg model.lock; do
        odd dd/$f demo --pairs 100 --updates 1 --output dd --quiet --threads 1
    done
}

# ---- tune: a full disk is not the fault of a candidate ----
mkdir small_disk
if unshare -rm mount -t tmpfs -o size=4m tmpfs small_disk 2>/dev/null; then
    search="tune --train pairs.tsv --valid valid.tsv --time 5s --candidates 2 --hidden 4 --embedding 8 --tokens word --updates 2 --threads 1"
    # shellcheck disable=SC2016,SC2086
    printed=$(unshare -rm sh -c 'mount -t tmpfs -o size=4m tmpfs small_disk && head -c 4190000 /dev/zero >small_disk/full; "$@" --output small_disk/t
        echo "status $?"; rm small_disk/full; "$@" --output small_disk/t' sh "$attend" $search --quiet 2>&1)
    case $printed in *'No space left on device'*'status 5'*'best: '*) ;; *) fail "tune on a full disk: $printed" ;; esac
else
    echo 'not tried: a full disk (unshare cannot mount a small one here)'
fi

# ---- compare: files that are not its own ----
mkdir own own/dot && cp m own/dot/model && cp m own/dot/model.update-3 && cp valid.tsv own/comparison.txt
for fresh in '' --fresh; do
    # shellcheck disable=SC2086
    expect 2 'own/comparison.txt already exists and is not from attend compare' compare --train pairs.tsv --valid valid.tsv $small --updates 1 \
        --vary attention=dot --output own $fresh
done
mv own/comparison.txt own/comparison.json && printf '{"table": 1}' >own/comparison.json
# shellcheck disable=SC2086
expect 2 'own/comparison.json already exists and is not from attend compare' compare --train pairs.tsv --valid valid.tsv $small --updates 1 \
    --vary attention=dot --output own
is 'a JSON file of another program' '{"table": 1}' "$(cat own/comparison.json)"
rm own/comparison.json
for f in model options; do
    [ $f = options ] && mv own/dot/model own/dot/options
    for fresh in '' --fresh; do
        # shellcheck disable=SC2086
        expect 2 "own/dot/$f already exists and is not from attend compare" compare --train pairs.tsv --valid valid.tsv $small --updates 1 \
            --vary attention=dot --output own $fresh
        kept own/dot/$f m
        kept own/dot/model.update-3 m
    done
done
exit $failed
