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
    printf 'lock of another program\n' >p.lock
    expect 2 'p.lock exists and is not a lock' $train --model p --updates 1
    [ -s p.lock ] || fail 'p.lock is lost'
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
    expect 1 'training diverged: no validation had a finite score. No model was written' $train $wild --valid valid.tsv --model w --updates 4
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

# ---- compare: files that are not its own ----
mkdir own own/dot && cp m own/dot/model && cp m own/dot/model.update-3 && cp valid.tsv own/comparison.txt
for fresh in '' --fresh; do
    # shellcheck disable=SC2086
    expect 2 'own/comparison.txt already exists and is not from attend compare' compare --train pairs.tsv --valid valid.tsv $small --updates 1 \
        --vary attention=dot --output own $fresh
done
rm own/comparison.txt
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
