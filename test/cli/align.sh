#!/bin/sh
# align.sh ATTEND: score, align and evaluate. A model trained to reverse sequences of letters aligns target word i of every held-out sentence with source word
# n - 1 - i, alone and combined with a second model.
. "$(dirname "$0")/cases.sh"
cd "$folder" || exit 1

awk 'BEGIN { srand(7); for (i = 0; i < 3000; i++) { s = ""; t = ""; l = ""; n = 2 + int(rand() * 7);
    for (j = 0; j < n; j++) { w = substr("abcdefghijklmnop", 1 + int(rand() * 16), 1); s = s (j ? " " : "") w; t = w (j ? " " : "") t
        l = l (j ? " " : "") (n - 1 - j) "-" j }
    print s "\t" t > (i < 200 ? "test.tsv" : "train.tsv"); if (i < 200) print l > "gold" } }'
for seed in 1 2; do
    "$attend" train --train train.tsv --model m$seed --tokens word --hidden 64 --embedding 32 --dropout 0 --batch-tokens 400 \
        --learning-rate 0.004 --threads 2 --updates 700 --seed $seed --quiet || { echo "training failed"; exit 1; }
done

# hard links
"$attend" align --model m1 --input test.tsv >links && same 'links and the reversal' links gold
"$attend" align --reverse-model m2 --input test.tsv >links && sed 's/ /\n/g' links >a && sed 's/ /\n/g' gold >b && sort a >c && sort b >d &&
    same 'links of the reverse model and the reversal' c d
printf 'a b c d\td c\n' >uneven.tsv # a link for each of the four, to one of the two
"$attend" align --reverse-model m2 --input uneven.tsv | grep -qx '\(0-[01]\|1-[01]\|2-[01]\|3-[01]\| \)*' || { echo "reverse links are not source-target"; failed=1; }
for rule in intersection union grow-diag grow-diag-final grow-diag-final-and; do
    "$attend" align --model m1 --reverse-model m2 --symmetrize $rule --input test.tsv >links && same "links by $rule and the reversal" links gold
done
"$attend" align --model m1 --input test.tsv --threads 3 --json | sed 's/{"links": \[//; s/\]}$//; s/\[\([0-9]*\), \([0-9]*\)\],*/\1-\2/g' >links
same 'links as JSON' links gold

# soft alignments: one row per target word; it sums to at most 1, and the largest weight is at the link
"$attend" align --model m1 --input test.tsv --alignment soft >soft
awk -F'"weights": ' '{ n = split($2, row, "], "); for (i = 1; i <= n; i++) { gsub(/[^0-9., ]/, "", row[i]); k = split(row[i], w, ", "); sum = 0
    for (j = 1; j <= k; j++) sum += w[j]; if (k != n || sum > 1.001 || w[n + 1 - i] < 0.5) bad++ } } END { exit bad > 0 || NR != 200 }' soft ||
    { echo "soft weights: $(head -2 soft)"; failed=1; }
printf 'a b c\tc b a\n\tx\n' >two.tsv
expect 0 '{"source": ["a", "b", "c"], "target": ["c", "b", "a"], "weights": [[' align --model m1 --input two.tsv --alignment soft
expect 0 '"target": ["c", "b", "a", "</s>"]' align --model m1 --input two.tsv --alignment soft --tokens
expect 0 'pair 2 is not aligned: a side is empty' align --model m1 --input two.tsv

# a side of single words is linked by its letters, also on a page and in translations; --unit says otherwise
tr -d ' ' <train.tsv | awk -F'\t' '{ gsub(/./, "& ", $2); print $1 "\t" $2 }' | sed 's/ $//' >letters.tsv
"$attend" train --train letters.tsv --model letters --hidden 16 --embedding 8 --dropout 0 --updates 2 --threads 2 --quiet || { echo "training failed"; exit 1; }
printf 'aéc\tc b a\n' >letter.tsv
expect 0 '{"source": ["a", "é", "c"], "target": ["c", "b", "a"], "weights": [[' align --model letters --input letter.tsv --alignment soft
expect 0 '{"source": ["aéc"], "target": ["c", "b", "a"], "weights": [[' align --model letters --input letter.tsv --alignment soft --unit word
expect 0 '"target": ["c", "b", "a"], "weights": [[' align --model letters --input letter.tsv --alignment soft --unit piece
expect 0 '{"source": ["a", "b", "c"], "target": ["c", "b", "a"]' align --model m1 --input two.tsv --alignment soft --unit character
[ "$("$attend" align --model letters --input letter.tsv --unit word)" = '0-0 0-1 0-2' ] || { echo "links of a single word"; failed=1; }
expect 0 'by characters of the source' evaluate --model letters --input letters.tsv --metric exact --by-length auto
expect 0 'by tokens of the source' evaluate --model letters --input letters.tsv --metric exact --by-length auto --unit piece
expect 2 'unit piece requires --model' evaluate --hypothesis train.tsv --reference train.tsv --by-length auto --unit piece
expect 2 "unit" align --model m1 --input two.tsv --unit letter
# the same for maps: letters, words, tokens; a model of words has no letters
columns() { "$attend" show --model "$1" 'abc' --target 'c b a' --quiet $2 | grep '(rest)' | sed 's/ *(rest)//; s/^ *//; s/  */ /g'; }
[ "$(columns letters)" = 'a b c' ] || { echo "letters of a map: $(columns letters)"; failed=1; }
[ "$(columns letters '--unit character')" = 'a b c' ] || { echo "--unit character of a map"; failed=1; }
[ "$(columns letters '--unit piece')" = 'a b c' ] || { echo "--unit piece of a map"; failed=1; }
[ "$(columns letters '--unit word')" = 'abc' ] || { echo "--unit word of a map: $(columns letters '--unit word')"; failed=1; }
[ "$("$attend" show --model letters abc --target 'c b a' --tokens | grep -c '</s>')" = 2 ] || { echo "--tokens of a map"; failed=1; }
expect 0 '"source_words": ["abc"], "target_words": ["c", "b", "a"]' show --model letters 'abc' --target 'c b a' --unit word --format json
expect 0 '"unit":"words"' show --model letters 'abc' --target 'c b a' --unit word --format html
expect 0 '"unit":"letters"' show --model letters 'abc' --target 'c b a' --format html
expect 0 '"source_words": ["ab", "c"]' show --model m1 'ab c' --target 'c' --unit character --format json
expect 2 '--tokens shows tokens; it cannot be combined with --unit word' show --model letters abc --tokens --unit word

# a model that copies letters: its links in Pharaoh form, and the diagonal of its maps
awk 'BEGIN { srand(7); for (i = 0; i < 2000; i++) { s = ""; n = 2 + int(rand() * 6); for (j = 0; j < n; j++) s = s substr("abcdefgh", 1 + int(rand() * 8), 1)
    if (s != "badcfeh" && s != "abcba") print s "\t" s } }' >copies.tsv
"$attend" train --train copies.tsv --valid none --model copy --tokens char --hidden 64 --embedding 32 --dropout 0 --context after --readout plain --input-feeding \
    --batch-tokens 500 --learning-rate 0.01 --updates 400 --threads 2 --quiet --no-check || { echo "training failed"; exit 1; }
printf 'badcfeh\tbadcfeh\nabcba\tabcba\nhg\thg\n' >copied.tsv
"$attend" align --model copy --input copied.tsv >links
is 'links of letters' '0-0 1-1 2-2 3-3 4-4 5-5 6-6|0-0 1-1 2-2 3-3 4-4|0-0 1-1|' "$(tr '\n' '|' <links)"
is 'a translation with its links' 'badcfeh ||| 0-0 1-1 2-2 3-3 4-4 5-5 6-6' "$("$attend" translate --model copy badcfeh --alignment hard)"
for word in badcfeh abcba; do # the row of letter i is dark in column i, from character 8 + 4 i, and nowhere else
    "$attend" show --model copy $word --quiet >map
    awk -v word=$word 'NF && $1 ~ /^[a-h]$/ && $2 ~ /^[01][.]/ { i = rows++; cell = substr($0, 8 + 4 * i, 3); light = substr($0, 8, 4 * i) substr($0, 11 + 4 * i)
        if ($1 != substr(word, i + 1, 1) || cell !~ /^[*#%@]+$/ || light ~ /[*#%@]/) wrong = 1 } END { exit wrong || rows != length(word) }' map ||
        fail "the map of $word has no diagonal: $(cat map)"
done

# alignment error of one model, and of two with every symmetrisation; gold links in any order
expect 0 'AER 0.0000  precision 1.0000  recall 1.0000' align --model m1 --input test.tsv --gold gold
expect 0 'grow-diag-final-and' align --model m1 --reverse-model m2 --input test.tsv --gold gold
[ "$("$attend" align --model m1 --reverse-model m2 --input test.tsv --gold gold | grep -c '^AER 0.0000')" = 7 ] || { echo "expected seven alignments"; failed=1; }
expect 0 '"union": {"aer": 0.000000' align --model m1 --reverse-model m2 --symmetrize union --input test.tsv --gold gold --json
awk '{ for (i = NF; i > 0; i--) { split($i, p, "-"); print NR, p[1] + 1, p[2] + 1, "S" } }' gold | sort -rn >gold.numbers
expect 0 'AER 0.0000' align --model m1 --input test.tsv --gold gold.numbers
head -199 gold >gold.short
expect 3 'gold.short has 199 lines, but there are 200 pairs' align --model m1 --input test.tsv --gold gold.short
echo '201 1 1 S' >gold.far
expect 3 'links of pair 201' align --model m1 --input test.tsv --gold gold.far
for wrong in '1 1 1 X' '1 0 1' '0-0 1' '0-' '0-0x' '-1-0' '1 1' 'x'; do
    echo "$wrong" >gold.wrong
    expect 3 'gold.wrong:1' align --model m1 --input test.tsv --gold gold.wrong
done
printf '0-0\n1 1 1\n' >gold.wrong
expect 3 'gold.wrong:2' align --model m1 --input test.tsv --gold gold.wrong
expect 2 'requires two models' align --model m1 --input test.tsv --symmetrize union
expect 2 '--alignment soft cannot be combined with --reverse-model' align --model m1 --reverse-model m2 --input test.tsv --alignment soft

# several heads: alignment by a given head, and selection of the best
"$attend" train --train train.tsv --model heads --tokens word --hidden 32 --embedding 16 --dropout 0 --batch-tokens 400 --heads 2 --learning-rate 0.004 \
    --threads 2 --updates 60 --quiet || { echo "training failed"; exit 1; }
"$attend" align --model heads --input test.tsv >by.mean
for head in 0 1; do "$attend" align --model heads --input test.tsv --head $head >by.$head; done
"$attend" align --model heads --input test.tsv --layer 0 --head -1 >links && same 'the mean, given and by default' links by.mean
cmp -s by.0 by.1 && fail 'two heads have the same links'
expect 2 'there is no layer 0 with head 2: layers are 0 to 0, heads 0 to 1' align --model heads --input test.tsv --head 2
expect 2 'there is no layer 1' align --model heads --input test.tsv --layer 1
expect 2 'every layer and head' align --model heads --input test.tsv --evaluate-maps --head 1
expect 0 'aligns by            layer 0, mean of 2 heads' info heads
[ "$("$attend" align --model heads --input test.tsv --evaluate-maps | grep -c '^AER')" = 6 ] || fail 'expected three maps, each read in two ways'
expect 0 'best by the word aligner: layer 0, ' align --model heads --input test.tsv --evaluate-maps
is 'maps against gold' "$("$attend" align --model heads --input test.tsv --gold gold | cut -c1-10)" \
    "$("$attend" align --model heads --input test.tsv --gold gold --evaluate-maps | grep '^AER.*mean of 2 heads$' | cut -c1-10)"
cp heads chosen
cp heads.checkpoint copy.checkpoint
expect 2 'is a training checkpoint' align --model heads.checkpoint --input test.tsv --select-map
same 'a checkpoint that was refused' heads.checkpoint copy.checkpoint
expect 3 'gold.short has 199 lines' align --model chosen --input test.tsv --gold gold.short --select-map
# pairs without links select nothing
cp chosen before
printf 'a a a a\tb\n' >no.links # no word of the source is likelier than the others, so that no link is sure
expect 3 'none can be selected; chosen is unchanged' align --model chosen --input no.links --select-map
same 'a model without a selection' before chosen
same 'the model before a failed selection, and after it' heads chosen
for head in 1 0; do # the links of a head are the gold links, so it must be the best
    expect 0 "best: layer 0, head $head" align --model chosen --input test.tsv --gold by.$head --select-map --threads $((1 + head))
    expect 0 "\"alignment\": {\"layer\": 0, \"head\": $head, \"shifted\": false}" info chosen --json
    "$attend" align --model chosen --input test.tsv >links && same "links of head $head, selected and given" links by.$head
    "$attend" align --model chosen --input test.tsv --layer 0 >links && same "the mean, of a model with a selection" links by.mean
    cut -f1 test.tsv | head -20 | "$attend" translate --model chosen --alignment hard --threads 1 --quiet >by.translate.$head
done
cmp -s by.translate.0 by.translate.1 && fail 'translations are not aligned by the selected map'
awk -F'\t' '{ print $2 "\t" $1 }' test.tsv >back.tsv
awk '{ for (i = 1; i <= NF; i++) { split($i, p, "-"); printf "%s%s-%s", (i > 1 ? " " : ""), p[2], p[1] } print "" }' by.1 >reversed.1
expect 0 '"model": "reverse", "against": "gold"' align --reverse-model heads --input back.tsv --gold reversed.1 --evaluate-maps --json
expect 0 '"best": {"layer": 0, "head": 1, "shifted": false}}' align --reverse-model heads --input back.tsv --gold reversed.1 --evaluate-maps --json
expect 0 'reverse:' align --model m1 --reverse-model heads --input back.tsv --evaluate-maps

# a map that is read one step later: row i + 1 is that of token i
rows() { "$attend" align --model heads --input test.tsv --alignment soft --tokens --head 1 "$@" | sed 's/.*"weights": \[\[//; s/\]\].*//; s/\], \[/|/g; s/ //g'; }
rows >plain
rows --shift >shifted
awk 'NR == FNR { plain[FNR] = $0; next }
    { n = split(plain[FNR], p, "|"); m = split($0, q, "|"); if (n != m || n < 2) exit 1
      for (i = 1; i <= n; i++) if (q[i] != p[i < n ? i + 1 : n]) exit 1 }' plain shifted || fail 'a shifted map has other rows'
"$attend" align --model heads --input test.tsv --head 1 --shift >by.shift
cp heads chosen
expect 0 'best: layer 0, head 1, one step later' align --model chosen --input test.tsv --gold by.shift --select-map
expect 0 'layer 0, head 1, one step later' info chosen
"$attend" align --model chosen --input test.tsv >links && same 'links of a shifted map, selected and given' links by.shift
expect 2 '--shift requires --model' align --input test.tsv --shift

# guided alignment: an alignment head that aligns after few updates, and the dictionary of the word aligner
"$attend" train --train train.tsv --valid none --model guided --tokens word --hidden 32 --embedding 16 --dropout 0 --batch-tokens 400 \
    --learning-rate 0.01 --updates 300 --guided-alignment auto --quiet || failed=1
expect 0 'the alignment head' info guided
expect 0 'AER 0.0' align --model guided --input test.tsv --gold gold
expect 2 'an alignment head learns from links' train --train train.tsv --model x --alignment-head yes --updates 1
expect 0 '' align --input train.tsv --dictionary words.dictionary
[ -s words.dictionary ] || fail 'the dictionary is empty'
expect 0 '' align --input train.tsv --dictionary words.dictionary --save words.aligner
expect 0 '' align --input train.tsv --dictionary words.dictionary --save words.aligner
expect 2 'words.aligner exists and is not' align --input train.tsv --dictionary words.aligner
expect 2 'without --model' align --model heads --input test.tsv --dictionary x

# training with validation pairs selects a map at its end
"$attend" train --train train.tsv --valid test.tsv --model valid --tokens word --hidden 32 --embedding 16 --dropout 0 --batch-tokens 400 --heads 2 \
    --learning-rate 0.004 --threads 2 --updates 60 --quiet || { echo "training failed"; exit 1; }
is 'the map that training selected' "$("$attend" align --model valid --input test.tsv --evaluate-maps | sed -n 's/^best by the word aligner: //p')" \
    "$("$attend" info valid | sed -n 's/^  aligns by *//p')"

# without a model: the word aligner, trained on the pairs, saved, and used on other pairs
expect 0 '' align --input train.tsv --save words.aligner
"$attend" align --aligner words.aligner --input test.tsv >links || fail 'the aligner failed'
"$attend" align --aligner words.aligner --input test.tsv --threads 1 >links.1 && same 'links on one thread' links links.1
is 'lines of links' "$(wc -l <links)" 200
"$attend" align --aligner words.aligner --input test.tsv --gold gold | grep -q '^AER 0\.0.*agreed$' || fail "the aligner has an error above 0.1: $("$attend" align --aligner words.aligner --input test.tsv --gold gold)"
is 'methods of the aligner' "$("$attend" align --aligner words.aligner --input test.tsv --gold gold | grep -c '^AER')" 8
expect 0 '"agreed": {"aer": 0.0' align --aligner words.aligner --input test.tsv --gold gold --json
expect 0 '{"links": [[' align --aligner words.aligner --input test.tsv --json
expect 0 'intersection' align --aligner words.aligner --input test.tsv --gold gold --symmetrize intersection
"$attend" align --input train.tsv --threads 1 >one && "$attend" align --input train.tsv --threads 3 >three && same 'links on one and three threads' one three
cat train.tsv | "$attend" align --input /dev/stdin >piped && same 'links of a pipe' one piped
fewer=$("$attend" align --aligner words.aligner --input test.tsv --threshold 0.99 | wc -w)
[ "$fewer" -lt "$(wc -w <links)" ] || fail 'a larger threshold gives no fewer links'
expect 0 'pair 2 is not aligned: a side is empty' align --aligner words.aligner --input two.tsv
expect 4 'is not a word aligner' align --aligner m1 --input test.tsv
head -c 1000 words.aligner >cut.aligner
expect 4 'cut.aligner' align --aligner cut.aligner --input test.tsv
expect 2 '--layer requires --model' align --input test.tsv --layer 0
expect 2 '--alignment soft requires --model' align --input test.tsv --alignment soft
expect 2 'without --model' align --model m1 --input test.tsv --threshold 0.3
expect 2 'excludes --aligner' align --aligner words.aligner --save again --input test.tsv
expect 2 '--input PAIRS is required' align
printf '\t\n' >nothing.tsv
expect 3 'no pair to learn' align --input nothing.tsv
head -100 letters.tsv >some.letters
expect 0 '2-0 1-1 0-2' align --input some.letters
expect 0 '0-0' align --input some.letters --unit word

# scores: the sum over tokens, and the perplexity
"$attend" score --model m1 --input test.tsv --per-token 2>summary |
    awk '{ s = 0; for (i = 2; i <= NF; i++) s += $i; d = s - $1; if (d * d > 1e-6) bad++; all += $1; rows += NF - 1 }
         END { printf "%.4f\n", exp(-all / rows); exit bad > 0 }' >perplexity || { echo "the log-probabilities of the tokens do not sum to that of the pair"; failed=1; }
grep -q "perplexity $(cut -c1-5 perplexity)" summary || { echo "perplexity $(cat perplexity), but $(cat summary)"; failed=1; }
expect 0 '"pieces": ["c", "b", "a", "</s>"], "tokens": [' score --model m1 --input two.tsv --per-token --json
expect 0 '1 pair not scored' score --model m1 --input two.tsv

# evaluate and translate give the same translations
cut -f1 test.tsv >test.source
cut -f2 test.tsv >test.target
"$attend" translate --model m1 --beam 3 --input test.source --output out
"$attend" evaluate --model m1 --beam 3 --source test.source --reference test.target --output out2 >scores
same 'translations' out out2
"$attend" evaluate --hypothesis out --reference test.target >scores2
same 'scores' scores scores2
expect 0 'by words of the source' evaluate --model m1 --input test.tsv --metric exact --by-length auto
expect 4 'plain text' evaluate --model test.tsv --input test.tsv
exit $failed
