#!/bin/bash
# terminal.sh ATTEND: no file name, line, token or option reaches a terminal raw: every verb, given names with escape sequences and bytes that are not UTF-8, prints
# visible escapes. Results for other programs stay as they are.
. "$(dirname "$0")/cases.sh"
cd "$folder" || exit 1
exec </dev/null
limit=100
bad=$'e\e[31m\xff\xc2\x9b\xe2\x80\xae' # ESC, not UTF-8, a C1 control, a direction override

# A command must exit with CODE, print the escaped name, and nothing of it raw. `quiet`: the name need not be printed.
safe() { # CODE ARGUMENTS...
    expected=$1
    shift
    timeout "$limit" "$attend" "$@" >printed 2>&1
    code=$?
    [ "$code" = "$expected" ] || fail "attend ${*@Q}: exit status $code instead of $expected: $(cat -v printed)"
    raw "attend ${*@Q}"
    [ -n "$quiet" ] || grep -qF 'e\u{1b}[31m\xff\u{9b}\u{202e}' printed || grep -qF 'e\u001b[31m\ufffd\u009b\u202e' printed ||
        fail "attend ${*@Q}: the name is not printed: $(cat -v printed)"
}
raw() { # WHAT
    LC_ALL=C grep -q $'[\001-\010\013\014\016-\037\177\377]\|\302[\200-\237]\|\342\200[\252-\256]' printed && fail "$1 prints raw bytes: $(cat -v printed)"
}

awk 'BEGIN { srand(2); for (i = 0; i < 200; i++) { s = ""; t = ""; n = 2 + int(rand() * 4);
    for (j = 0; j < n; j++) { w = substr("abcde", 1 + int(rand() * 5), 1); s = s (j ? " " : "") w; t = w (j ? " " : "") t }
    print s "\t" t } }' >"$bad.tsv"
cut -f1 "$bad.tsv" >"$bad.txt"
model="$bad.m"
small=(--tokens word --hidden 16 --embedding 8 --batch-tokens 100 --threads 1 --updates 3)

# ---- the command line ----
safe 2 "$bad"
safe 2 train "--$bad"
safe 2 train "$bad"
safe 2 train "-$bad"
safe 2 train --updates "$bad"
safe 2 train --preset "$bad"
safe 2 train --cell "$bad"
safe 2 train --memory "$bad"
safe 5 train --config "$bad"
printf '%s 3\n' "hidden$bad" | tr -d '\377' >"$bad.config" # a line that is not UTF-8 is refused as a whole
quiet=yes safe 2 train --config "$bad.config"
printf 'seed x\n' >"$bad.config"
safe 2 train --config "$bad.config"
for verb in train translate score evaluate align show compare tune check convert info demo; do quiet=yes safe 0 $verb --help; done
verb=

# ---- check and train ----
safe 5 check --train "$bad"
printf 'no tab %s\na\tb\n' "$bad" >"faulty$bad.tsv"
safe 3 check --train "faulty$bad.tsv"
safe 3 check --train "faulty$bad.tsv" --json
safe 3 train --train "faulty$bad.tsv" --model "$model"
safe 3 train --train "faulty$bad.tsv" --model "$model" --no-check
safe 5 train --train "$bad" --model "$model"
safe 5 train --train "$bad.tsv" --model "$bad/$model"
safe 0 train --train "$bad.tsv" --valid "$bad.tsv" --model "$model" "${small[@]}"
grep -aqF 'done: e\u{1b}[31m\xff\u{9b}\u{202e}.m' printed || fail "the last line: $(cat -v printed)"
safe 0 train --train "$bad.tsv" --valid "$bad.tsv" --model "$model" "${small[@]}"
safe 2 train --train "$bad.tsv" --valid "$bad.tsv" --model "$model" "${small[@]}" --hidden 32
safe 2 train --train "$bad.tsv" --model "$bad.tsv" "${small[@]}" --fresh
cp "$model.svg" printed
raw 'the plot of the training'
grep -qF $'>e[31m\xef\xbf\xbd.m<' printed || fail "the title of the plot: $(grep font-size=.16 printed | cat -v)"

# ---- verbs with a model ----
safe 0 info "$model"
safe 5 info "$bad"
safe 4 info "$bad.tsv"
safe 5 translate --model "$bad"
safe 4 translate --model "$bad.tsv"
safe 5 translate --model "$model" --input "$bad"
safe 3 translate --model "$model" --replace-unknown --dictionary "$bad.txt" --input "$bad.txt"
safe 3 translate --model "$model" --prefix /dev/null --input "$bad.txt"
safe 5 score --model "$model" --input "$bad"
quiet=yes safe 0 score --model "$model" --input "$bad.tsv" --per-token --json
safe 4 score --model "$bad.tsv" --input "$bad.tsv"
safe 5 evaluate --model "$model" --input "$bad"
quiet=yes safe 0 evaluate --model "$model" --input "$bad.tsv"
safe 0 evaluate --hypothesis "$bad.txt" --reference "$bad.txt" --against "$bad.txt" --by-length auto --plot "$bad.svg"
cp "$bad.svg" printed
raw 'the plot by length'
safe 0 evaluate --hypothesis "$bad.txt" --reference "$bad.txt" --json
safe 5 align --model "$model" --input "$bad"
safe 3 align --model "$model" --input "$bad.tsv" --gold "$bad.txt"
safe 5 align --model "$model" --input "$bad.tsv" --gold "$bad"
safe 5 show --model "$model" --input "$bad"
quiet=yes safe 0 show --model "$model" 'a b'
quiet=yes safe 0 show --model "$model" 'a b' --format json
quiet=yes safe 3 show --model "$model" "$bad"
safe 2 show --model "$model" 'a b' --attention-kind encoder
printf 'a b\n%s\n\xff\n' "$bad" >"lines$bad"
safe 0 show --model "$model" --input "lines$bad"
safe 5 show --model "$model" --output "$bad/x.svg" 'a b' --target 'a b'
safe 5 convert --model "$model" --output "$bad/small" --precision int8
quiet=yes safe 0 convert --model "$model" --output "$bad.small" --precision int8
safe 2 convert --average "$model" "$bad.small" --output "$bad.mean"

# ---- word aligners, ensembles, plug-ins ----
safe 5 align --input "$bad.tsv" --save "$bad/al"
safe 2 align --input "$bad.tsv" --save "$model"
quiet=yes safe 0 align --input "$bad.tsv" --save "$bad.al" --dictionary "$bad.dictionary"
safe 4 align --input "$bad.tsv" --aligner "$model"
safe 4 info "$bad.al"
safe 5 align --input "$bad.tsv" --aligner "$bad"
safe 2 align --input "$bad.tsv" --aligner "$bad.al" --dictionary "$model"
"$attend" align --input "$bad.tsv" --aligner "$bad.al" >"$bad.links" || fail 'align'
quiet=yes safe 0 align --input "$bad.tsv" --aligner "$bad.al" --gold "$bad.links" --json
safe 3 align --input "$bad.tsv" --gold "$bad.txt"
safe 0 train --train "$bad.tsv" --valid none --model "$bad.guided" "${small[@]}" --guided-alignment "$bad.links"
safe 3 train --train "$bad.tsv" --valid none --model "$bad.g" "${small[@]}" --guided-alignment "$bad.tsv"
safe 2 train --train "$bad.tsv" --valid none --model "$bad.g" "${small[@]}" --guided-alignment "$bad.links" --log "$bad.links"
safe 0 train --train "$bad.tsv" --valid none --model "$bad.ensemble" "${small[@]}" --ensemble 2
safe 2 train --train "$bad.tsv" --valid none --model "$bad.ensemble" "${small[@]}" --ensemble 2 --seed 9
safe 0 info "$bad.ensemble"
for verb in train translate score evaluate align show convert compare tune info; do
    safe 5 $verb --score-plugin "$bad"
    safe 2 $verb --score-plugin "$bad.tsv"
done
verb=

# ---- a server ----
if "$attend" help serve >/dev/null 2>&1; then
    safe 2 serve --model "$bad"
    safe 5 serve --model "en-fr=$bad"
    safe 4 serve --model "en-fr=$bad.tsv"
    safe 2 serve --model "en-fr=$model" --listen "$bad"
    safe 2 serve --model "en-fr=$model" --listen "127.0.0.1:$bad"
    safe 5 serve --model "en-fr=$model" --listen "unix:$bad.tsv"
    safe 5 serve --model "en-fr=$model" --listen "unix:$bad/socket"
    safe 5 serve --model "en-fr=$model" --api-keys "$bad"
    safe 3 serve --model "en-fr=$model" --api-keys "$bad.txt"
    safe 5 serve --model "en-fr=$model" --score-plugin "$bad"
    for log in text json; do
        "$attend" serve --model "en-fr=$model" --listen "unix:$bad.socket" --log $log 2>printed &
        server=$!
        for _ in $(seq 100); do grep -q 'listening' printed && break; sleep 0.1; done
        cp "$model" "$bad.kept"
        echo damaged >"$model"
        kill -s HUP $server
        for _ in $(seq 100); do grep -q 'keeps its old model' printed && break; sleep 0.1; done
        cp "$bad.kept" "$model"
        kill $server
        wait $server || fail 'the server'
        raw "the log of a server ($log)"
        grep -q 'keeps its old model' printed || fail "no reload: $(cat -v printed)"
        [ $log = text ] || python3 -c 'import json, sys; [json.loads(line) for line in open("printed", "rb")]' || fail "no JSON: $(cat -v printed)"
    done
fi

# ---- comparisons and the demo ----
vary=(--train "$bad.tsv" --valid "$bad.tsv" "${small[@]}" --output "$bad.compared")
quiet=yes safe 2 compare "${vary[@]}" --vary "attention=$bad"
quiet=yes safe 2 compare "${vary[@]}" --vary "attention=${bad//$'\xff'/}"
safe 0 compare "${vary[@]}" --vary attention=dot,none
quiet=yes safe 0 compare "${vary[@]}" --vary attention=dot,none --json
safe 5 compare --train "$bad" --valid "$bad.tsv" --output "$bad.compared2" --vary attention=dot,none
quiet=yes safe 0 compare "${vary[@]}" --variant "guided: guided-alignment=$bad.links"
tune=(--train "$bad.tsv" --valid "$bad.tsv" --time 2s --candidates 2 --hidden 4 --embedding 8 --tokens word --updates 2 --threads 1)
safe 0 tune "${tune[@]}" --output "$bad.tuned"
quiet=yes safe 0 tune "${tune[@]}" --output "$bad.tuned" --json
safe 5 tune "${tune[@]}" --output "$model"
safe 2 tune "${tune[@]}" --output "$bad.tuned2" --time "$bad"
safe 0 demo --write-pairs "$bad.demo" --pairs 100
safe 5 demo --write-pairs "$bad/no/folder" --pairs 100
safe 0 demo --output "$bad.demo" --pairs 100 --updates 2 --threads 1

# ---- tokens: a program gets the bytes, a person an escape ----
awk 'BEGIN { for (i = 0; i < 50; i++) print "a\t\033[31mx" }' >escapes.tsv
"$attend" train --train escapes.tsv --model escapes --tokens word --hidden 16 --updates 60 --threads 1 --quiet --no-check || fail 'training on escapes'
echo a | "$attend" translate --model escapes >piped
[ "$(cat piped)" = $'\e[31mx' ] || fail "a translation is changed in a pipe: $(cat -v piped)"
echo a | "$attend" translate --model escapes --json >printed
raw 'translate --json'
"$attend" show --model escapes a >printed
raw 'show'
"$attend" align --input escapes.tsv --dictionary - --quiet >piped || fail 'align --dictionary'
grep -qF $'a\t\e' piped || fail "a dictionary is changed in a pipe: $(cat -v piped)"
has_terminal
on_terminal() { # ESCAPE COMMAND: what the command writes to a terminal is escaped
    script -qec "$2" /dev/null >terminal </dev/null
    tr -d '\r' <terminal >printed
    raw "$2, on a terminal,"
    grep -qF "$1" printed || fail "$2, on a terminal: $(cat -v terminal)"
}
for options in '' '--n-best 2' '--output -' '--output /dev/tty' '--alignment hard'; do
    on_terminal '\u{1b}[31mx' "echo a | '$attend' translate --model escapes $options"
done
on_terminal '\u001b[31mx' "echo a | '$attend' translate --model escapes --json"
for output in - /dev/tty; do
    on_terminal $'a\t\\u{1b}' "'$attend' align --input escapes.tsv --dictionary $output --quiet"
done
on_terminal '\u001b[31mx' "NO_COLOR=1 '$attend' show --model escapes a --format json"
on_terminal '[31mx' "NO_COLOR=1 '$attend' show --model escapes a"
for format in svg html; do on_terminal '[31mx' "'$attend' show --model escapes a --format $format"; done
for verb in 'score --per-token' 'evaluate' 'align --model escapes --json' 'check --train escapes.tsv'; do
    input="--input escapes.tsv"
    case $verb in check*) input= ;; align*) ;; *) input="$input --model escapes" ;; esac
    on_terminal '' "'$attend' $verb $input"
done
verb=
exit $failed
