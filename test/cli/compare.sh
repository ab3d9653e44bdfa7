#!/bin/bash
# compare.sh ATTEND JSON_LINES KILLS: attend compare: variants and their errors, the table in all formats, resuming after signals and kills, and variants that fail.
json=$2 kills=$3
. "$(dirname "$0")/cases.sh"
cd "$folder" || exit 1
unset NO_COLOR COLUMNS
verb=compare

# sequences of letters, their reversals, and the word links
awk 'BEGIN { srand(1); for (i = 0; i < 600; i++) { s = ""; t = ""; l = ""; n = 2 + int(rand() * 4);
    for (j = 0; j < n; j++) { w = substr("abcdefgh", 1 + int(rand() * 8), 1); s = s (j ? " " : "") w; t = w (j ? " " : "") t
        l = l (j ? " " : "") j "-" (n - 1 - j) }
    print s "\t" t > "pairs.tsv"; print l > "pairs.links" } }'
head -60 pairs.tsv >valid.tsv
sed -n 61,140p pairs.tsv >test.tsv
sed -n 61,140p pairs.links >test.links
small="--train pairs.tsv --valid valid.tsv --tokens word --hidden 24 --embedding 12 --batch-tokens 150 --learning-rate 0.01 --valid-every 20 --threads 2 --no-check"
short="$small --updates 40"
# shellcheck disable=SC2086
{
    # ---- usage errors: nothing is trained, and no directory is created ----
    expect 2 '--train PAIRS is required' --valid valid.tsv --vary attention=dot
    expect 2 '--vary or --variant is required' $short
    expect 2 '--test PAIRS or --valid PAIRS is required' --train pairs.tsv --valid none --vary attention=dot
    expect 2 'is not FIELD=VALUE' $short --vary attention
    expect 2 'is not FIELD=VALUE' $short --vary attention=
    expect 2 'has an empty value' $short --vary attention=dot,,none
    expect 2 'did you mean --attention?' $short --vary atention=dot
    expect 2 "variant 'dto': --attention 'dto' is not one of" $short --vary attention=none,dto
    expect 2 "did you mean 'dot'?" $short --vary attention=none,dto
    expect 2 "variant 'x': unknown option --cel; did you mean --cell?" $short --variant 'x: cel=gru'
    expect 2 "variant 'x': 'layers' requires a value" $short --variant 'x: layers'
    expect 2 "variant 'x': 'layers=' has no value" $short --variant 'x: layers='
    expect 2 'does not change the model and cannot vary' $short --vary threads=1,2
    expect 2 'does not change the model and cannot vary' $short --variant 'x: beam=3'
    expect 2 'vocabulary sizes are determined by the data' $short --vary source-vocab=20,30
    expect 2 "has no name; expected" $short --variant 'attention=dot'
    expect 2 '--variant has an empty name' $short --variant ' : attention=dot'
    expect 2 "two variants have the name 'dot'" $short --vary attention=dot,none,dot
    expect 2 "two variants have the name 'dot'" $short --vary attention=dot --variant 'dot: cell=gru'
    expect 2 "would share the directory comparison/a_b" $short --variant 'a b: cell=gru' --variant 'a_b: cell=lstm'
    expect 2 "is given twice" $short --vary attention=dot --vary attention=none
    expect 2 'is reserved for files of the comparison' $short --variant 'comparison.json: cell=gru'
    expect 2 "the variant 'a\xff' is not UTF-8" $short --variant "$(printf 'a\377: cell=gru')"
    expect 2 "the variant 'a\nb' contains a control character" $short --variant "$(printf 'a\nb: cell=gru')"
    expect 2 'at most 100 are allowed' $short --variant "$(printf '%0101d: cell=gru' 0)"
    expect 2 'variants or more, but at most 256 are allowed' $short --vary "seed=$(seq -s, 1 257)"
    expect 2 "unknown metric 'blue'; did you mean 'bleu'?" $short --vary attention=dot --metric blue
    expect 2 "did you mean 'markdown'?" $short --vary attention=dot --format markdwon
    expect 2 'cannot be combined' $short --vary attention=dot --json --format text
    expect 2 '--gold-pairs requires --gold' $short --vary attention=dot --gold-pairs test.tsv
    expect 3 'test.links' $short --vary attention=dot --gold test.links # the validation pairs are fewer
    expect 5 'none.tsv' $short --vary attention=dot --test none.tsv
    expect 0 'docs/training.md' --help
    # an invalid combination is refused with its name and the reason
    expect 2 "variant 'x': a window or a selection needs an attention" $short --variant 'x: attention=none window=local-p'
    expect 2 "variant 'none': a window or a selection needs an attention" $short --window local-p --vary attention=dot,none
    expect 2 "no combination of the values of --vary is valid" $short --vary attention=none --vary window=local-m,local-p
    # a variant's own options must have an effect; an option common to all may apply to other variants only
    expect 2 "variant 'lstm': cell belongs to architecture 'rnn', but this model is 'transformer'" $short --architecture transformer --vary cell=lstm,gru
    expect 2 "variant 'x': span belongs to architecture 'lstmn'" $short --variant 'x: span=3'
    expect 2 'attend compare does not support language models' --task language-model --train test.in --valid test.in --vary cell=gru,lstm
    expect 2 "variant 'language-model': attend compare does not support language models" $short --vary task=translation,language-model
    expect 2 "--output is given twice, the second time with 'b'" $short --vary attention=dot --output a --output b
    [ -e comparison ] && fail 'a refused comparison created its directory'

    # the command line overrides --vary of a configuration file
    printf 'vary attention=none,nothing\nvariant x: cell=nothing\n' >varied
    expect 2 "'nothing' is not one of" $short --config varied
    expect 2 "variant 'dto'" $short --config varied --vary attention=dto --variant 'y: cell=gru'

    # ---- directories ----
    echo file >is-a-file
    expect 5 'cannot open directory is-a-file' $short --vary attention=dot --output is-a-file
    expect 5 'cannot create directory no/where' $short --vary attention=dot --output no/where
    if [ "$(id -u)" != 0 ]; then
        mkdir locked && chmod a-w locked
        expect 5 'cannot write to directory locked' $short --vary attention=dot --output locked
    else
        expect 5 '/proc/attend' $short --vary attention=dot --output /proc/attend
    fi
    mkdir -p foreign/dot && echo x >foreign/dot/model
    expect 2 'is not from attend compare' $short --vary attention=dot --output foreign

    # ---- the table: all combinations of two options, one of them invalid ----
    set -- $short --vary attention=none,dot --vary window=global,local-p --variant 'two layers: layers=2' --test test.tsv --gold test.links --output c
    "$attend" compare "$@" >table 2>printed || fail "compare ended with $?: $(cat printed)"
}
grep -q 'skipped     none local-p: a window or a selection needs an attention' printed || fail "nothing was skipped: $(cat printed)"
grep -q 'variant 2 of 4: dot global (attention=dot window=global)' printed || fail "no number of the variant: $(cat printed)"
is 'the names' 'variant none dot dot two' "$(sed 5q table | awk '{ printf "%s%s", (NR > 1 ? " " : ""), $1 }')"
grep -q 'AER' table || fail "no AER: $(cat table)"
grep -q "$(printf '\033')" table && fail 'colours in a pipe'
grep -q ' $' table && fail 'blanks at the end of a line'
same 'the table and comparison.txt' table c/comparison.txt
is 'lines of the same length' 1 "$(head -5 table | sed 's/[+*]*$//' | awk '{ print length }' | sort -u | wc -l)"
"$json" <c/comparison.json >/dev/null || fail 'comparison.json is not JSON'
"$attend" compare "$@" --json --quiet >again.json || fail '--json fails'
same 'the JSON and comparison.json' again.json c/comparison.json
is 'variants in the JSON' 4 "$(grep -o '"state": "done"' c/comparison.json | wc -l)"
grep -q '"aer": null' c/comparison.json || fail 'a variant without attention has an alignment error'
python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' c/comparison.svg || fail 'comparison.svg is not well-formed'
is 'points in the picture' 8 "$(grep -c '<circle' c/comparison.svg)" # a score and a best model each
is 'models with maps' '"name":"dot global" "name":"dot local-p" "name":"two layers"' "$(grep -o '"name":"[^"]*"' c/comparison.html | tr '\n' ' ' | sed 's/ $//')"
is 'maps of test pairs' '8 8 8' "$(for i in 0 1 2; do grep -o "\"model\":$i," c/comparison.html | wc -l; done | tr '\n' ' ' | sed 's/ $//')"
cp c/comparison.html by-word.html
"$attend" compare "$@" --unit character --quiet >/dev/null || fail '--unit fails'
cmp -s c/comparison.html by-word.html && fail '--unit character does not change the maps'
"$attend" compare "$@" --unit word --quiet >/dev/null || fail '--unit fails'
same 'pages by word' c/comparison.html by-word.html
grep -q 'comparison.svg, comparison.html and the models' printed || fail "no page: $(cat printed)"
"$attend" compare "$@" --format markdown --quiet >markdown || fail '--format markdown fails'
is 'rows of the markdown' 6 "$(grep -c '^|' markdown)"
is 'its columns' 1 "$(grep '^|' markdown | awk -F'|' '{ print NF }' | sort -u | wc -l)"

# the best of a column: the lowest perplexity (4) and the highest BLEU (5)
for column in 4 5; do
    bold=$(awk -F'|' -v c=$column '/^\|/ && $c ~ /\*\*/ { gsub(/[ *\\]/, "", $c); print $c }' markdown | sort -u)
    best=$(awk -F'|' -v c=$column 'NR > 2 && /^\|/ { gsub(/[ *\\]/, "", $c); print $c }' markdown | sort -g | if [ $column = 4 ]; then head -1; else tail -1; fi)
    is "the best of column $column" "$best" "$bold"
done

# a terminal: the best are bold, unless NO_COLOR is set; on a narrow one, less important columns are dropped
has_terminal
printf '%s ' "'$attend' compare --quiet" >again
for word in "$@"; do printf "'%s' " "$word" >>again; done
on_terminal() { # COLUMNS SETTINGS...
    columns=$1
    shift
    script -qec "stty cols $columns; env $* sh ./again" /dev/null </dev/null | tr -d '\r'
}
on_terminal 200 -u NO_COLOR TERM=xterm-256color >bold
grep -q "$(printf '\033\\[1m')" bold || fail "nothing is bold: $(cat bold)"
on_terminal 200 NO_COLOR=1 TERM=xterm-256color >plain
same 'a terminal without colours and a pipe' plain table
on_terminal 50 NO_COLOR=1 >narrow
is 'lines longer than a narrow terminal' 0 "$(sed 5q narrow | awk 'length > 50' | wc -l)"
case $(head -1 narrow) in *BLEU*AER*) ;; *) fail "a narrow terminal: $(cat narrow)" ;; esac
grep -q 'all columns are in c/comparison.txt' narrow || fail "no note on dropped columns: $(cat narrow)"

# the other verbs give the same figures as the table
"$attend" evaluate --hypothesis c/two_layers/translations --input test.tsv --metric bleu >evaluated
is 'BLEU of a variant' "$(awk '{ print $2 }' evaluated)" "$(sed -n 's/^two layers  *[^ ]* *k*  *[^ ]*  *\([0-9.]*\).*/\1/p' table)"
"$attend" evaluate --hypothesis c/two_layers/translations --against c/none_global/translations --input test.tsv --metric bleu --json >evaluated
numbers=$(sed 's/.*"bleu": {\("score": [0-9.]*, "low": [0-9.]*, "high": [0-9.]*\),.*\("p": [0-9.]*\).*/\1, \2/' evaluated)
grep -q "\"name\": \"two layers\".*\"bleu\": {$numbers}" c/comparison.json || fail "evaluate gives $numbers: $(cat c/comparison.json)"
perplexity=$("$attend" score --model c/two_layers/model --input test.tsv --json | tail -1 | sed 's/.*"perplexity": \([0-9.]*\).*/\1/')
grep -q "\"name\": \"two layers\".*\"perplexity\": $perplexity" c/comparison.json || fail "score gives perplexity $perplexity: $(cat c/comparison.json)"
aer=$("$attend" align --model c/two_layers/model --input test.tsv --gold test.links --json | sed 's/.*"aer": \([0-9.]*\).*/\1/')
grep -q "\"name\": \"two layers\".*\"aer\": $aer" c/comparison.json || fail "align gives $aer: $(cat c/comparison.json)"
# shellcheck disable=SC2086
"$attend" train $short --attention dot --model alone --quiet || fail 'train fails'
same 'a model that is compared and one that is trained alone' alone c/dot_global/model

# ---- the same command again, other options, more variants ----
cp -r c before
expect 0 'variants    4, 4 of them already done' "$@"
diff -r c before >differences || fail "a finished comparison changed: $(cat differences)"
expect 2 "c/none_global was made with learning-rate '0.01', but now it is '0.02'" "$@" --learning-rate 0.02
expect 2 "was made with training data '600 pairs" "$@" --train valid.tsv
expect 2 "was made with seed '1', but now it is '2'" "$@" --seed 2
diff -r c before >differences || fail "a refused comparison changed $(cat differences)"
printed=$("$attend" compare "$@" --variant 'lstm: cell=lstm' 2>&1)
case $printed in *'5, 4 of them already done'*'variant 5 of 5: lstm'*) ;; *) fail "another variant: $printed" ;; esac
for name in none_global dot_local-p; do diff -r c/$name before/$name || fail "$name was trained again"; done
expect 0 'testing' "$@" --beam 2 # tests again, trains nothing
case $printed in *'data        600 pairs'*) fail "another beam trained: $printed" ;; esac
echo x >>c/dot_global/translations
expect 0 '3 of them already done' "$@" --beam 2
mv c/dot_global/model moved
expect 0 'it is saved again' "$@" --beam 2 # its training is done, but its model is missing
same 'the models' moved c/dot_global/model
expect 0 '"samples": 0' "$@" --beam 2 --bootstrap 0 --json
expect 0 'chrF2' "$@" --beam 2 --metric chrf,ter --quiet
expect 0 'variants    4, 0 of them already done' "$@" --fresh --learning-rate 0.02
same 'the options' <(grep learning-rate c/two_layers/options) <(printf 'learning-rate\t0.02\n')

# a configuration file; a pipe; pairs of words, which are scored by word error
printf 'vary seed=1,2 # two seeds\nvariant wide: hidden=28\nupdates 20\n' >settings
# shellcheck disable=SC2086
{
    expect 0 'wide' $small --config settings --output from-file --quiet
    held="--train pairs.tsv --tokens word --hidden 24 --embedding 12 --batch-tokens 150 --updates 10 --threads 2 --vary seed=1,2 --output held"
    expect 0 'tested on the validation pairs' $held # a tenth of the pairs, held out
    case $printed in *'validation 45 pairs, held out'*'testing     35 sources'*) ;; *) fail "no pairs were held out: $printed" ;; esac
    expect 0 '2 of them already done' $held
    expect 2 "was made with training data '" $held --valid 20%
    "$attend" compare ${small#--train pairs.tsv} --train - --updates 20 --vary seed=1,2 --output from-pipe --quiet <pairs.tsv >/dev/null || fail 'standard input fails'
    same 'pairs from a pipe' from-file/seed=2/model from-pipe/seed=2/model
    tr -d ' ' <pairs.tsv >words.tsv
    expect 0 'word error' --train words.tsv --valid words.tsv --hidden 16 --updates 5 --vary attention=dot --output words --threads 2
    case $printed in *perplexity*'word error'*'character error'*) ;; *) fail "the word error is not the first score: $printed" ;; esac
}

# ---- a variant that fails does not affect the others ----
# shellcheck disable=SC2086
set -- $short --vary tokens=word --variant 'too few: tokens=bpe vocab-size=100' --variant 'blows up: optimizer=sgd learning-rate=100 clip=0 momentum=0.99 weight-decay=1 updates=200' --variant 'last: seed=2' --output f
expect 1 "variant 'too few' failed: " "$@"
case $printed in *'too few   failed: '*'too small'*) ;; *) fail "no report of a failed variant: $printed" ;; esac
case $printed in *'blows up  failed: training diverged'*) ;; *) fail "no report of a variant that diverged: $printed" ;; esac
is 'the others' 2 "$(grep -o '"state": "done"' f/comparison.json | wc -l)"
is 'those that failed' 2 "$(grep -o '"state": "failed", "reason": "' f/comparison.json | wc -l)"
"$json" <f/comparison.json >/dev/null || fail 'comparison.json with failures is not JSON'
expect 1 '2 of them already done' "$@" --format markdown

# ---- resuming ----
# shellcheck disable=SC2086
set -- $small --updates 120 --save-every 7 --average-last 3 --vary attention=none,dot,additive --variant 'transformer: architecture=transformer embedding=24 heads=2' --test test.tsv --gold test.links --bootstrap 100 --quiet
times='s/, "[a-z_]*_\(seconds\|per_second\)": [0-9.]*//g'
"$attend" compare "$@" --output reference >reference.txt || fail 'the reference fails'
killed=0
while :; do
    "$attend" compare "$@" --threads $((1 + RANDOM % 3)) --output other >other.txt 2>other.printed &
    child=$!
    if [ $killed -lt "$kills" ]; then
        sleep 0.$((RANDOM % 60 + 10))
        kill -9 $child 2>/dev/null && killed=$((killed + 1))
    fi
    wait $child 2>/dev/null
    code=$?
    [ $code = 0 ] && break
    [ $code = 137 ] || { fail "a killed comparison resumes and exits with $code: $(cat other.printed)"; break; }
done
for name in none dot additive transformer; do
    for file in model model.checkpoint translations options; do same "killed $killed times: $name/$file" reference/$name/$file other/$name/$file; done
    same "killed $killed times: the log of $name" <(sed 's/, "seconds": [ 0-9.]*//' reference/$name/model.log.jsonl) <(sed 's/, "seconds": [ 0-9.]*//' other/$name/model.log.jsonl)
done
same "killed $killed times: the table" <(sed "$times" reference/comparison.json) <(sed "$times" other/comparison.json)
same "killed $killed times: the picture" reference/comparison.svg other/comparison.svg
[ -n "$(find other -name '.*.tmp')" ] && fail "temporary files remain: $(find other -name '.*.tmp')"

# a signal saves a checkpoint, from which the next run resumes; a directory is used by one process at a time
for signal in INT TERM; do
    "$attend" compare "$@" --updates 1000000 --patience 0 --output stopped$signal 2>stopped.printed &
    child=$!
    while [ ! -s stopped$signal/none/model.checkpoint ] && kill -0 $child 2>/dev/null; do sleep 0.05; done
    [ $signal = INT ] && expect 2 'another process is using stoppedINT' "$@" --updates 1000000 --patience 0 --output stoppedINT
    kill -s $signal $child
    wait $child
    got=$?
    is "the code of SIG$signal" "$([ $signal = INT ] && echo 130 || echo 143)" $got
    grep -q '"state": "pending"' stopped$signal/comparison.json || fail "SIG$signal: $(cat stopped$signal/comparison.json)"
done
eval "set -- $(printf "'%s' " "$@" | sed "s/'--quiet'//")"
"$attend" compare "$@" --updates 1000000 --patience 0 --output stoppedINT 2>stopped.printed &
child=$!
for _ in $(seq 200); do
    if grep -q 'update [0-9]* .*loss' stopped.printed; then break; fi
    sleep 0.05
done
kill -s TERM $child
wait $child
is 'the code of SIGTERM' 143 $?
grep -q 'resuming from update [1-9]' stopped.printed || fail "a stopped comparison does not resume: $(cat stopped.printed)"
grep -q 'stopped; the same command resumes from stoppedINT' stopped.printed || fail "no message on how to resume: $(cat stopped.printed)"

# options whose values are texts vary as others do
verb=
guided="compare --train pairs.tsv --valid valid.tsv --tokens word --hidden 8 --embedding 8 --updates 2 --threads 1 --quiet --output guided"
# shellcheck disable=SC2086
expect 0 '"differs_by": "guided-alignment=pairs.links"' $guided --vary guided-alignment=pairs.links,auto --variant 'file: guided-alignment=pairs.links' --json
# shellcheck disable=SC2086
expect 1 'none.links' $guided --fresh --variant 'missing: guided-alignment=none.links'
echo "killed $killed times"
exit $failed
