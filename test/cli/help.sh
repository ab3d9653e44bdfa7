#!/bin/sh
# help.sh ATTEND: --help shows the choices and the default of every option, from the same tables and settings that the command uses.
. "$(dirname "$0")/cases.sh"
cd "$folder" || exit 1

# The help of one option, on one line.
help_of() { # VERB OPTION
    "$attend" "$1" --help-all | awk -v name="--$2" '/^  --/ { on = $1 == name } /^[^ ]/ { on = 0 } on' | tr -s ' \n' ' '
}
shows() { # VERB OPTION TEXT
    case $(help_of "$1" "$2") in *"$3"*) ;; *) fail "help of $1 --$2 does not have '$3': $(help_of "$1" "$2")" ;; esac
}

# ---- defaults ----
shows train optimizer 'optimizer sgd|adam optimizer (default: adam)'
shows train learning-rate '(default: 0.001, unless chosen from the amount of data)'
shows train max-length '(default: 200)'
shows train log-every '(default: 50)'
shows train preset 'none|tiny|g2p|translate-small|translate'
shows train cell 'recurrent cell (default: gru)'
shows train bidirectional '(default: yes)'
shows translate length-penalty '(default: 1)'
shows translate precision 'fp32|bf16|int8 precision'
shows evaluate max-input-length '(default: 1000)'
shows compare output '(default: comparison)'
shows align symmetrize 'grow-diag|grow-diag-final|grow-diag-final-and how to combine the links of both models, or of both directions of the word aligner (default: grow-diag-final-and)'
shows show attention-kind 'cross|encoder|decoder'
shows demo attention '(default: additive)'
shows check task '(default: translation)'
shows convert frequent '(default: 100)'

# every field of a model has its default in the help; vocabulary sizes follow from the data and are not options
fields=0
for name in $("$attend" train --help-all | sed -n '/^model options/,/^examples/s/^  --\([a-z-]*\) .*/\1/p'); do
    fields=$((fields + 1))
    shows train "$name" '(default: '
done
[ "$fields" -ge 36 ] || fail "help shows $fields fields of a model"
shows train attention 'scaled-dot: q.k / sqrt(d);'

# options that train chooses are not said to have a fixed default
awk 'BEGIN { for (i = 0; i < 300; i++) print "the dog sees the cat " i "\tder Hund sieht die Katze " i }' >pairs.tsv
for architecture in rnn transformer; do
    "$attend" train --train pairs.tsv --model $architecture --architecture $architecture --tokens word --updates 1 2>&1 |
        sed -n 's/^chosen .*: //p' | tr ',' '\n' | awk '{ print $1 }' >chosen
    [ "$(wc -l <chosen)" -ge 4 ] || fail "$architecture: train chose $(wc -l <chosen) options"
    while read -r name; do shows train "$name" 'the amount of data'; done <chosen
done

# every number has a default, or says what happens without it
for verb in train compare tune translate score evaluate align show convert demo; do
    "$attend" $verb --help-all | awk -v verb=$verb 'function end() { if (text ~ /^--[a-z-]+ [NXP] / && text !~ /efault/) print "attend " verb " " text }
        /^  --/ { end(); text = "" } /^ /  { gsub(/^ +/, ""); text = text $0 " "; next } { end(); text = "" }' >without
    [ -s without ] && fail "options without a default: $(cat without)"
done
verb=

# ---- attend help; the main options, and all of them ----
is 'attend help translate' "$("$attend" translate --help)" "$("$attend" help translate)"
is 'attend help train --all' "$("$attend" train --help-all)" "$("$attend" help train --all)"
is 'attend help' "$("$attend" --help)" "$("$attend" help)"
for name in demo train translate score evaluate align show compare tune check convert info; do # examples may be longer
    "$attend" help $name --all | sed '/^examples:/,$d' | awk -v of=$name 'length($0) > 112 { print "attend help " of ": a line is too long: " $0; bad = 1 } END { exit bad }' || failed=1
done
expect 2 "unknown verb 'trian'; did you mean 'train'?" help trian
expect 2 "unexpected argument 'x'" help train x
for verb in train compare tune; do
    count=$("$attend" $verb --help | grep -c '^  --')
    [ "$count" -le 30 ] || fail "$verb --help shows $count options"
    all=$("$attend" $verb --help-all | grep -c '^  --')
    "$attend" $verb --help | grep -q "^attend $verb --help-all shows all options, $((all - count)) more" || fail "$verb --help does not say that there are others"
done
verb=
is 'help of a verb with few options' "$("$attend" align --help)" "$("$attend" align --help-all)"

# ---- choices in messages ----
expect 2 "--optimizer 'adan' is not one of sgd|adam; did you mean 'adam'?" train --optimizer adan
expect 2 '--schedule requires a value: constant|inverse-sqrt|cosine|plateau' train --schedule
echo 'valid-metric' >config
expect 2 'config:1: --valid-metric requires a value: perplexity|bleu|' train --config config

exit $failed
