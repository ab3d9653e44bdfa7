#!/bin/bash
# finetune.sh ATTEND DATA: attend train --init-from: options, messages, models of version 0.1 as a start. DATA: test/data/v0.1.
. "$(dirname "$0")/cases.sh"
data=$(cd "$2" && pwd) || exit 1
cd "$folder" || exit 1
exec </dev/null
limit=100
cp "$data/pairs.tsv" "$data/valid.tsv" "$data/lines.txt" .
train="train --train pairs.tsv --valid valid.tsv --threads 1"

# ---- models of version 0.1: sizes and vocabularies are theirs; at learning rate 0, so are the scores ----
for m in rnn-bpe rnn-location transformer-learned lstmn language-model; do
    input=valid.tsv with="$train"
    [ $m = language-model ] && input=lines.txt with='train --train lines.txt --threads 1'
    [ $m = rnn-location ] || [ $m = transformer-learned ] && with="$with --max-length 20"
    cp "$data/$m.model" base
    # shellcheck disable=SC2086
    expect 0 'starting with the weights and vocabularies of base' $with --model "$m" --init-from base --updates 2 --learning-rate 0
    cmp -s base "$data/$m.model" || fail "$m: the base was changed"
    "$attend" score --model base --input $input --per-token --quiet >expected
    "$attend" score --model "$m" --input $input --per-token --quiet >got
    same "$m: scores" expected got
    same "$m: configurations" <("$attend" info base | tail -n +2 | grep -v aligns) <("$attend" info "$m" | tail -n +2 | grep -v aligns)
done
# shellcheck disable=SC2086
{
    expect 2 'is quantised and cannot be trained' $train --model q --init-from "$data/int8-shortlist.model" --updates 1

    # ---- options ----
    cp "$data/rnn-bpe.model" base
    expect 2 '--hidden 16 differs from base, which has 12' $train --model n --init-from base --hidden 16 --updates 1
    expect 2 '--architecture transformer differs from base, which has rnn' $train --model n --init-from base --architecture transformer --updates 1
    expect 2 '--task language-model differs from base, which has translation' train --task language-model --train lines.txt --model n --init-from base --updates 1
    expect 2 '--vocab-size has no effect with --init-from' $train --model n --init-from base --vocab-size 300 --updates 1
    expect 2 '--preset chooses the size' $train --model n --init-from base --preset tiny --updates 1
    expect 2 '--new-vocab requires --init-from' $train --model n --new-vocab --updates 1
    expect 2 '--model base is also the input of --init-from' $train --model base --init-from base --updates 1 --fresh
    expect 5 'none' $train --model n --init-from none --updates 1
    expect 4 'pairs.tsv' $train --model n --init-from pairs.tsv --updates 1
    [ "$(echo n*)" = 'n*' ] || fail "refused trainings left $(echo n*)"
    expect 0 'done' $train --model n --init-from base --hidden 12 --heads 0 --dropout 0.4 --updates 1
    expect 0 'dropout              0.4' info n

    # ---- resuming: the base may be gone ----
    expect 0 'done' $train --model whole --init-from base --updates 6
    cp base start
    expect 0 'done' $train --model parts --init-from start --updates 3
    rm start
    expect 0 'start is not read again' $train --model parts --init-from start --updates 6
    same 'models' whole parts
    expect 2 'was begun with the weights of another model' $train --model parts --updates 7 --hidden 12 --embedding 8

    # ---- new vocabularies, of the kind that the base has ----
    expect 0 'source tokens and' $train --model v --init-from base --new-vocab --vocab-size 270 --updates 2
    case $printed in *' of 27'*) ;; *) fail "no numbers of tokens: $printed" ;; esac
}
exit $failed
