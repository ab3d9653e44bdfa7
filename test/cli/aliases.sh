#!/bin/sh
# aliases.sh ATTEND MANUAL: options and values of version 0.1 that have a new name stay accepted, with a note on standard error. Neither help nor
# man pages and completions show the old names.
manual=$2
. "$(dirname "$0")/cases.sh"
cd "$folder" || exit 1

awk 'BEGIN { srand(3); for (i = 0; i < 200; i++) { s = ""; t = ""; n = 2 + int(rand() * 3)
    for (j = 0; j < n; j++) { w = substr("abcd", 1 + int(rand() * 4), 1); s = s (j ? " " : "") w; t = w (j ? " " : "") t }
    print s "\t" t } }' >pairs.tsv
cut -f 1 pairs.tsv | head -5 >lines
small='--tokens word --hidden 16 --embedding 8 --batch-tokens 100 --threads 1 --updates 3 --quiet'
# shellcheck disable=SC2086 # several options
"$attend" train --train pairs.tsv --model m $small || fail 'training failed'

# The old and the new command print the same; the old one adds a note and is not documented.
alias() { # VERB OLD NEW ARGUMENTS...
    verb=$1 old=$2 new=$3
    shift 3
    # shellcheck disable=SC2086 # a name with its value
    "$attend" "$verb" "$@" $new >new.out 2>new.printed || fail "attend $verb $new: $(cat new.printed)"
    # shellcheck disable=SC2086
    "$attend" "$verb" "$@" $old >old.out 2>old.printed || fail "attend $verb $old: $(cat old.printed)"
    same "attend $verb $old and $new" old.out new.out
    is "notes of attend $verb $old" 1 "$(grep -c "^attend $verb: note: ${old%% *} is now ${new%% *}\$" old.printed)"
    grep -q 'note:' new.printed && fail "attend $verb $new: $(cat new.printed)"
    name=${old%% *}
    "$attend" "$verb" --help-all | grep -qE -e "(^|[^a-z-])$name([^a-z-]|\$)" && fail "help of $verb shows $name"
    sed -n "/^ *$verb)/p" "$manual/attend.bash" | grep -qE -e " $name( |\")" && fail "completion of $verb shows $name"
    verb=
}
alias translate '--max-words 3' '--max-input-length 3' --model m --input lines --quiet
alias translate '--no-repeat 1' '--no-repeat-ngram 1' --model m --input lines --quiet
alias evaluate '--max-words 3' '--max-input-length 3' --model m --input pairs.tsv --metric bleu --quiet
alias evaluate '--bleu-tokens char' '--bleu-tokenizer char' --hypothesis lines --reference lines
alias align --pieces --tokens --model m --input pairs.tsv --alignment soft
alias align --maps --evaluate-maps --model m --input pairs.tsv
alias align --choose --select-map --model m --input pairs.tsv
alias show '--look cross' '--attention-kind cross' --model m 'a b'
alias show --pieces --tokens --model m 'a b'
alias convert '--per-word 3' '--per-token 3' --model m --shortlist pairs.tsv --output converted --quiet
alias demo '--keep d' '--output d' --pairs 100 --updates 1 --quiet

# a value, under the old and the new name of its option
for option in --look --attention-kind; do
    "$attend" show --model m 'a b' $option source >old.out 2>old.printed || fail "show $option source: $(cat old.printed)"
    "$attend" show --model m 'a b' --attention-kind cross >new.out
    same "the map of $option source" old.out new.out
    is "the note on $option source" "attend show: note: $option source is now --attention-kind cross" "$(head -n 1 old.printed)"
done
expect 2 "did you mean 'encoder'?" show --model m 'a b' --look encode

# with an equals sign, in a configuration file, and in the fields of a comparison
expect 0 'note: --max-words is now --max-input-length' translate --model m --max-words=3 --input lines
printf 'bleu-tokens char\nlongest 9\n' >settings
# shellcheck disable=SC2086
set -- compare --train pairs.tsv --valid pairs.tsv $small --vary attention=dot --output c
expect 0 'note: --bleu-tokens is now --bleu-tokenizer' "$@" --config settings
expect 0 'note: --longest is now --max-positions' "$@" --config settings
expect 0 'note: --longest is now --max-positions' "$@" --vary longest=8
[ -f c/dot_longest=8/model ] || fail "a variant of --vary longest=8 has another name than in version 0.1: $(ls c)"
expect 0 'tok:char' "$@" --config settings
expect 2 'unknown option --max-words' score --model m --input pairs.tsv --max-words 3
exit $failed
