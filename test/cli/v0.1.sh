#!/bin/sh
# v0.1.sh ATTEND DATA: models and a checkpoint that version 0.1 wrote (DATA/make.sh) load, and their output is what version 0.1 printed.
. "$(dirname "$0")/cases.sh"
data=$(cd "$2" && pwd) || exit 1
cd "$folder" || exit 1

# Texts must be equal. Numbers may differ by DIFFERENCE: kernels of other machines round differently, and since 0.2 activations
# that are multiplied with int8 weights have 8 bits.
equal() { # WHAT DIFFERENCE EXPECTED GOT
    [ "$(wc -l <"$3")" = "$(wc -l <"$4")" ] || fail "$1: $(wc -l <"$4") lines instead of $(wc -l <"$3")"
    paste "$3" "$4" | awk -v max="$2" '
        function number(s) { sub(/^logp=/, "", s); return s }
        { n = NF / 2
          if (NF % 2) { print; next }
          for (i = 1; i <= n; i++) {
              a = number($i); b = number($(i + n))
              if (a == b) continue
              if (a !~ /^-?[0-9.]+$/ || b !~ /^-?[0-9.]+$/ || a - b > max || b - a > max) { print; next }
          } }' >different
    [ -s different ] && fail "$1 differ from those of version 0.1: $(head -3 different)"
}

for m in rnn-bpe rnn-location transformer-learned lstmn int8-shortlist language-model; do
    shortlist= options='--n-best 2' input=$data/valid.tsv difference=0.00003 score_difference=0.00021
    [ $m = int8-shortlist ] && shortlist=--shortlist difference=0.05 score_difference=0.05
    [ $m = language-model ] && options='--beam 2' input=$data/lines.txt
    # shellcheck disable=SC2086 # several options, or none
    "$attend" translate --model "$data/$m.model" $shortlist $options <"$data/input.txt" >got || fail "$m: translate failed"
    equal "$m: translations" "$score_difference" "$data/$m.translations" got
    "$attend" score --model "$data/$m.model" --input "$input" --per-token --quiet >got || fail "$m: score failed"
    equal "$m: scores" "$difference" "$data/$m.scores" got
    "$attend" info "$data/$m.model" >/dev/null || fail "$m: info failed"
    case $m in
    language-model) expect 2 'has no attention: there is nothing to show; train a model with it' show --model "$data/$m.model" 'one two' ;;
    *) expect 0 'cross-attention' show --model "$data/$m.model" 'one two' ;;
    esac
done

# ---- a training that version 0.1 began ----
cp "$data/stopped.model" "$data/stopped.model.checkpoint" .
expect 2 "compute 'fp32', and now it is 'bf16'" train --model stopped.model --hidden 8 --embedding 8 --batch-tokens 60 --learning-rate 0.01 \
    --dropout 0 --threads 2 --no-check --train "$data/pairs.tsv" --tokens word --updates 600 --compute bf16
"$attend" train --model stopped.model --hidden 8 --embedding 8 --batch-tokens 60 --learning-rate 0.01 --dropout 0 --threads 2 --no-check \
    --train "$data/pairs.tsv" --tokens word --updates 600 >printed 2>&1 || fail "resuming failed: $(cat printed)"
grep -q 'update 300' printed || fail "training began anew instead of resuming: $(cat printed)"
"$attend" score --model stopped.model --input "$data/valid.tsv" --per-token --quiet >got
equal 'scores after resuming' 0.001 "$data/stopped.scores" got

# ---- names of version 0.1 ----
"$attend" train --model renamed.model --hidden 8 --embedding 8 --train "$data/pairs.tsv" --tokens word --attention location --longest 24 --max-length 20 \
    --context after --readout plain --updates 1 --no-check --quiet 2>printed || fail "the old name of a field is refused: $(cat printed)"
is 'the note about the new name' "attend train: note: --longest is now --max-positions" "$(cat printed)"

exit $failed
