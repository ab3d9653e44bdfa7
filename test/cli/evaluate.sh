#!/bin/sh
# evaluate.sh ATTEND: attend evaluate with files: the scores of sacreBLEU for the lines in evaluate/, alternative references, intervals, lengths, the plot, errors.
lines=$(cd "$(dirname "$0")/evaluate" && pwd)
. "$(dirname "$0")/cases.sh"
cd "$folder" || exit 1
verb=evaluate

number() { # of WORD in the JSON on standard input, the first there is
    sed -n "s/.*\"$1\": \([-0-9.e]*\).*/\1/p" | head -1
}

# the scores of sacreBLEU, to two decimals
while read -r metric tokens case count system other; do
    case $metric in \#*) continue ;; esac
    set -- --metric "$metric" --bleu-tokenizer "$tokens" --reference "$lines/reference.txt"
    [ "$case" = lc ] && set -- "$@" --ignore-case
    [ "$count" = 2 ] && set -- "$@" --reference "$lines/second.txt"
    for which in system other; do
        found=$("$attend" evaluate --hypothesis "$lines/$which.txt" "$@" | awk '{ print $2 }')
        [ $which = system ] && expected=$system || expected=$other
        is "$metric $tokens $case of $which with $count references" "$expected" "$found"
    done
done <"$lines/expected.txt"

# alternative references: any target of a source is correct, in any order of pairs; hypotheses have one line per source or per pair
printf 'tomato\tT AH M EY T OW\nroute\tR UW T\ntomato\tT AH M AA T OW\nthe\tDH AH\nroute\tR AW T\nthe\tDH IY\nroute\tR UW T\n' >words.tsv
printf 'T AH M AA T OW\nR AW D\nDH IY\n' >by_source
printf 'T AH M AA T OW\nR AW D\nT AH M AA T OW\nDH IY\nR AW D\nDH IY\nR AW D\n' >by_pair
for file in by_source by_pair; do
    expect 0 'exact            66.67   exact|nrefs:2|' --hypothesis $file --input words.tsv --metric exact
    expect 0 'wer               9.09   ' --hypothesis $file --input words.tsv --metric wer # one of 6 + 3 + 2
done
# where lines are words: names that fit, wrong lines and wrong phonemes; the names of metrics keep their meaning and form
"$attend" evaluate --hypothesis by_source --input words.tsv >named
is 'the scores of pronunciations' 'word error 33.3 %, phoneme error 9.1 %,' "$(awk '{ printf "%s %s %s %s%s", $1, $2, $3, $4, NR < 2 ? ", " : "," }' named)"
expect 0 'word error       33.3 %' --hypothesis by_source --input words.tsv --metric word-error
expect 0 'line-error       33.33' --hypothesis by_source --input words.tsv --metric line-error,wer
expect 0 '"line-error": {"score": 33.3333' --hypothesis by_source --input words.tsv --json
expect 0 '"bleu": {' --hypothesis by_source --input words.tsv --json
printf 'cat\tchat\ndog\tchien\n' >spelled.tsv
printf 'chat\nchein\n' >spelled
expect 0 'character error  22.2 %' --hypothesis spelled --input spelled.tsv
expect 0 'word error       50.0 %' --hypothesis spelled --input spelled.tsv
expect 2 "did you mean 'phoneme-error'?" --hypothesis spelled --input spelled.tsv --metric phonem-error
# sentences: word-error counts words, and BLEU and chrF come first
printf 'the cat sat here\nall is well\n' >sentences
printf 'the cat sat there\nall is well\n' >spoken
expect 0 'wer              14.29' --hypothesis spoken --reference sentences --metric word-error
is 'the first scores of sentences' 'bleu chrf' "$("$attend" evaluate --hypothesis spoken --reference sentences | awk 'NR < 3 { printf "%s%s", s, $1; s = " " }')"
"$attend" evaluate --hypothesis spoken --reference sentences | grep -q line-error && fail 'sentences have a line error'
sed '$d' words.tsv >six.tsv
cut -f1 six.tsv >six.source
cut -f2 six.tsv >six.target
expect 0 'exact            66.67' --hypothesis by_source --input six.source six.target --metric exact
sed '3s/.*/T/' by_pair >differs
expect 3 'differs:3: the translation differs from that of line 1' --hypothesis differs --input words.tsv
head -2 by_source >two
expect 3 'two has 2 lines, but words.tsv has 7 pairs with 3 different sources' --hypothesis two --input words.tsv

# different numbers of lines are reported
expect 3 'two has 2 lines, but by_source has 3' --hypothesis two --reference by_source
expect 3 'two has 2 lines, but by_source has 3' --hypothesis by_source --reference by_source --reference two
expect 3 'two has 2 lines, but by_source has 3' --hypothesis by_source --reference by_source --source two
expect 3 'two has 2 lines, but by_source has 3' --hypothesis by_source --reference by_source --against two

# intervals contain the score; the paired test distinguishes different systems, but not equal ones
set -- --hypothesis "$lines/system.txt" --reference "$lines/reference.txt" --metric bleu --json
"$attend" evaluate "$@" --bootstrap 500 >json
awk -v s="$(number score <json)" -v l="$(number low <json)" -v h="$(number high <json)" \
    'BEGIN { exit !(l > 40 && l < s && s < h && h < 75 && h - l > 5) }' || { echo "the interval: $(cat json)"; failed=1; }
is 'the same seed again' "$("$attend" evaluate "$@" --bootstrap 500)" "$(cat json)"
"$attend" evaluate "$@" --against "$lines/other.txt" >json
awk -v p="$(number p <json)" 'BEGIN { exit !(p > 0 && p < 0.01) }' || { echo "the paired test: $(cat json)"; failed=1; }
is 'the second score' "$(sed 's/.*"against": {"score": \([0-9.]*\).*/\1/' json | cut -c1-5)" 21.93
cp "$lines/system.txt" again
is 'p of equal systems' "$("$attend" evaluate "$@" --against again | number p)" 1.000000
expect 0 'p 0.00' --hypothesis "$lines/system.txt" --against "$lines/other.txt" --reference "$lines/reference.txt" --metric ter

# the score of a range of lengths is that of its lines; every line is in one range
for side in reference second; do # lengths by sources, then by references
    if [ $side = second ]; then set -- --source "$lines/second.txt"; else set --; fi
    "$attend" evaluate --hypothesis "$lines/system.txt" --reference "$lines/reference.txt" "$@" --metric chrf --by-length 5,12 >table
    grep -q "by words of the $([ $side = second ] && echo source || echo reference):" table || { echo "$side: $(cat table)"; failed=1; }
    all=0
    for bounds in '0 5' '6 12' '13 999'; do
        for file in system reference; do
            paste -d'\t' "$lines/$side.txt" "$lines/$file.txt" | awk -F'\t' -v b="$bounds" \
                '{ split(b, n, " "); k = split($1, w, " "); if (k >= n[1] && k <= n[2]) print $2 }' >part.$file
        done
        count=$(wc -l <part.system) all=$((all + count))
        score=$("$attend" evaluate --hypothesis part.system --reference part.reference --metric chrf | awk '{ print $2 }')
        grep -q " $count  *$score\$" table || { echo "lengths $bounds: $count lines, $score is not in $(cat table)"; failed=1; }
    done
    is 'lines in buckets' "$all" 22
done
expect 0 '"length": "characters of the reference", "by_length": [{"from": 0, "to": 20, "lines": 5, "exact": {"score": 60' --json --metric exact \
    --hypothesis "$lines/system.txt" --reference "$lines/reference.txt" --by-length 20 --length-unit characters
for bounds in 5,5 0 x 5, ''; do expect 2 'increasing lengths' --hypothesis two --reference two --by-length "$bounds"; done

# the plot has one point per range and system and one in the legend, escaped names, and counts
cp "$lines/other.txt" 'o<&>'
expect 0 'bleu by words of the reference' --hypothesis "$lines/system.txt" --against 'o<&>' --reference "$lines/reference.txt" --metric bleu \
    --by-length 5,10 --plot plot.svg
is 'points' "$(grep -o '<circle' plot.svg | wc -l)" 8
is 'the end of the plot' "$(tail -1 plot.svg)" '</svg>'
grep -q 'o&#60;&#38;&#62;' plot.svg && grep -q "n = $(awk 'NF <= 5' "$lines/reference.txt" | wc -l)<" plot.svg || { echo "the plot lacks a name or a count"; failed=1; }
cp "$lines/other.txt" "$(printf 'x\377y')"
expect 0 '"system": "x\ufffdy"' --hypothesis "$(printf 'x\377y')" --reference "$lines/reference.txt" --json
cp "$lines/other.txt" "ab$(printf 'ä%.0s' 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20)"
expect 0 '"system": "abääääääääääääääääää",' --hypothesis abä* --reference "$lines/reference.txt" --json
expect 5 'none/plot.svg' --hypothesis two --reference two --plot none/plot.svg

# usage errors and bad files
expect 2 '--model FILE or --hypothesis FILE is required' --reference two
expect 2 '--input PAIRS or --reference FILE is required' --hypothesis two
expect 2 "did you mean 'bleu'?" --hypothesis two --reference two --metric chrf,blue
expect 2 'leave out --reference and --source' --hypothesis two --reference two --input words.tsv
expect 2 '--model requires' --model m --reference two
expect 2 "--model is given twice, the second time with 'n'" --model m --model n --input words.tsv
cp words.tsv kept.tsv
expect 2 '--output kept.tsv is also the input of --input' --model m --input kept.tsv --output kept.tsv
expect 2 '--plot kept.tsv is also the input of --reference' --hypothesis two --reference two --reference kept.tsv --plot kept.tsv
same 'pairs that would be overwritten' words.tsv kept.tsv
expect 2 '--model and --hypothesis cannot be combined' --model m --hypothesis two --input words.tsv
expect 5 'none' --hypothesis none --reference two
expect 5 'none' --hypothesis two --reference none
: >empty
expect 3 'empty has no lines' --hypothesis empty --reference empty
printf 'a\n\0b\n' >zero
expect 3 'zero:2' --hypothesis zero --reference two
# lines that a metric refuses: the message has the file of the line, whichever side it is on
awk 'BEGIN { for (i = 0; i < 40000; i++) printf "a " }' >far
(echo b && cat far) >far.txt
printf 'b\nc\n' >near.txt
refused='the line has 40000 words; the maximum of TER is 32768'
expect 3 "far.txt:2: $refused" --hypothesis near.txt --reference far.txt --metric ter
expect 3 "far.txt:2: $refused" --hypothesis far.txt --reference near.txt --metric ter
expect 3 "far.txt:2: $refused" --hypothesis near.txt --reference near.txt --reference far.txt --metric ter
expect 3 "far.txt:2: $refused" --hypothesis near.txt --reference near.txt --against far.txt --metric ter
expect 0 'bleu' --hypothesis near.txt --reference far.txt --metric bleu
(printf 'x\tb\nx\tc\ny\t' && cat far) >far.tsv
expect 3 "far.tsv:3: $refused" --hypothesis near.txt --input far.tsv --metric ter
printf 'x\tb\nx\tc\ny\td\n' >near.tsv
(printf 'b\nb\n' && cat far) >by_line
expect 3 "by_line:3: $refused" --hypothesis by_line --input near.tsv --metric ter
printf 'a\tb\nc\n' >notab.tsv
expect 3 'notab.tsv:2' --hypothesis two --input notab.tsv
expect 0 'attend evaluate --model g2p' --help
exit $failed
