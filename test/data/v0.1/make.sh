#!/bin/sh
# make.sh ATTEND: how the files of this directory were made, with the command of version 0.1.0. They are kept as they are: test/cli/v0.1.sh proves that
# later versions read them and produce the same output. Do not run it with another version.
set -e
attend=$1
cd "$(dirname "$0")"
train() { # MODEL OPTIONS..
    model=$1
    shift
    "$attend" train --model "$model" --hidden 8 --embedding 8 --batch-tokens 60 --learning-rate 0.01 --dropout 0 --threads 1 --quiet --no-check "$@"
    rm -f "$model.log.jsonl" "$model.svg" "$model.lock"
}
train rnn-bpe.model --train pairs.tsv --tokens bpe --vocab-size 275 --hidden 12 --updates 1000
train rnn-location.model --train pairs.tsv --tokens word --attention location --longest 24 --max-length 20 --context after --readout plain --updates 600
train transformer-learned.model --train pairs.tsv --tokens char --architecture transformer --heads 2 --positions learned --longest 32 --max-length 20 --updates 600
train lstmn.model --train pairs.tsv --tokens word --architecture lstmn --fusion deep --span 3 --updates 600
train language-model.model --task language-model --train lines.txt --tokens char --updates 600
train plain.model --train pairs.tsv --tokens word --updates 300
"$attend" convert --model plain.model --output int8-shortlist.model --precision int8 --shortlist pairs.tsv --frequent 2 --per-word 2 --quiet
rm -f -- *.checkpoint plain.model

for m in rnn-bpe rnn-location transformer-learned lstmn int8-shortlist; do
    shortlist=
    [ $m = int8-shortlist ] && shortlist=--shortlist
    "$attend" translate --model $m.model $shortlist --n-best 2 <input.txt >$m.translations
    "$attend" score --model $m.model --input valid.tsv --per-token --quiet >$m.scores
done
"$attend" translate --model language-model.model --beam 2 <input.txt >language-model.translations
"$attend" score --model language-model.model --input lines.txt --per-token --quiet >language-model.scores

# A training stopped after 300 of 600 updates, and the scores of the model that the whole training makes.
train stopped.model --train pairs.tsv --tokens word --updates 600
"$attend" score --model stopped.model --input valid.tsv --per-token --quiet >stopped.scores
rm -f stopped.model stopped.model.checkpoint
train stopped.model --train pairs.tsv --tokens word --updates 300
