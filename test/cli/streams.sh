#!/bin/bash
# streams.sh ATTEND DATA: closed standard input, output and error. No file becomes one of them, and lost output is an error. DATA: test/data/v0.1.
. "$(dirname "$0")/cases.sh"
data=$(cd "$2" && pwd) || exit 1
cd "$folder" || exit 1
m=$data/rnn-bpe.model
head -3 "$data/input.txt" >lines
printf 'a\n\377\n' >bad
"$attend" translate --model "$m" <lines >expected || fail 'translate'

code() { # WHAT EXPECTED: the exit status before
    got=$?
    [ "$got" = "$2" ] || fail "$1: exit status $got instead of $2"
}

# warnings do not land in the output
"$attend" translate --model "$m" --output out <bad 2>&-
code 'translate 2>&-' 0
is 'lines of output' 2 "$(wc -l <out)"
"$attend" translate --model "$m" --output out <lines >&- 2>&-
code 'translate --output >&- 2>&-' 0
same 'translations' expected out
"$attend" translate --model "$m" --input lines --output out <&- >&- 2>&-
code 'translate without any stream' 0
same 'translations' expected out

# training: nothing of its progress lands in its files, and the model is that of a training with streams
train() { # < PAIRS: the copy that training makes of its input must not become standard error
    "$attend" train --train - --valid "$data/valid.tsv" --tokens word --hidden 8 --embedding 8 --updates 20 --log-every 5 --threads 1 "$@"
}
train --model with --quiet <"$data/pairs.tsv" || fail 'train'
for closed in '2>&-' '>&- 2>&-'; do
    eval "train --model without --fresh <\"$data/pairs.tsv\" $closed"
    code "train $closed" 0
    same "models with $closed" with without
    same "checkpoints with $closed" with.checkpoint without.checkpoint
    is "lines of the log with $closed" "$(wc -l <with.log.jsonl)" "$(wc -l <without.log.jsonl)"
    grep -v '^{"update": ' without.log.jsonl && fail "the log has other lines with $closed"
done

# the same of files that an aligner, an ensemble and a server write
eval '"$attend" align --input "$data/pairs.tsv" --save aligner --dictionary dictionary >with.links'
for closed in '2>&-' '<&- >links 2>&-'; do
    eval '"$attend" align --input "$data/pairs.tsv" --save aligner2 --dictionary dictionary2 >links '"$closed"
    code "align $closed" 0
    same "aligners with $closed" aligner aligner2
    same "dictionaries with $closed" dictionary dictionary2
    same "links with $closed" with.links links
done
"$attend" align --input "$data/pairs.tsv" --save aligner2 >&- 2>printed
code 'align --save >&-' 5
train --model members --ensemble 2 --quiet <"$data/pairs.tsv" >&- 2>&-
code 'train --ensemble >&- 2>&-' 0
train --model members2 --ensemble 2 --quiet <"$data/pairs.tsv" || fail 'train --ensemble'
same 'ensembles' members members2
if "$attend" help serve >/dev/null 2>&1; then
    for closed in '2>&-' '<&- >&- 2>&-'; do
        eval '"$attend" serve --model "en-fr=$m" --listen unix:socket '"$closed &"
        server=$!
        for _ in $(seq 100); do [ -S socket ] && break; sleep 0.1; done
        sleep 0.3
        kill $server
        wait $server
        code "serve $closed" 0
    done
fi

# lost output is an error; so is standard input that cannot be read
"$attend" translate --model "$m" <lines >&- 2>printed
code 'translate >&-' 5
grep -q 'cannot write standard output: Bad file descriptor' printed || fail "translate >&-: $(cat printed)"
for command in --help --version 'info --json' 'score --input valid.tsv' 'align --input valid.tsv' 'show' 'evaluate --input valid.tsv' 'check --train valid.tsv'; do
    cp "$data/valid.tsv" .
    case $command in
    info*) set -- $command "$m" ;;
    show) set -- show --model "$m" 'a b' ;;
    -* | check*) set -- $command ;;
    *) set -- $command --model "$m" ;;
    esac
    "$attend" "$@" >&- 2>printed
    code "attend $command >&-" 5
    grep -Eq 'standard output|the report' printed || fail "attend $command >&-: $(cat printed)"
done
"$attend" translate --model "$m" <&- >out 2>printed
code 'translate <&-' 5
grep -q 'standard input' printed || fail "translate <&-: $(cat printed)"
"$attend" check --train - <&- >out 2>printed
code 'check --train - <&-' 5
"$attend" translate --model none 2>&- <lines >out
code 'an error without standard error' 5
exit $failed
