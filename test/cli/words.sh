#!/bin/sh
# words.sh ATTEND: the plan for few pairs of words: what is chosen, what a training that resumes keeps, crops, Hangul.
. "$(dirname "$0")/cases.sh"
cd "$folder" || exit 1
verb=train

# words and their sounds, a capital for each letter; FIRST are the letters that a word may begin with
words() { # SEED COUNT FIRST
    awk -v seed="$1" -v count="$2" -v first="$3" 'BEGIN { srand(seed); for (i = 0; i < count; i++) {
        s = substr(first, 1 + int(rand() * length(first)), 1); n = 2 + int(rand() * 5)
        for (j = 0; j < n; j++) s = s substr("abcdefgh", 1 + int(rand() * 8), 1)
        t = toupper(s); gsub(/./, "& ", t); sub(/ $/, "", t); print s "\t" t } }' | sort -u
}
words 2 400 ab >words.tsv
words 3 100 cdefgh >others.tsv
small='--train words.tsv --hidden 32 --embedding 16 --threads 2'

# crops: words that begin with letters that no training word begins with
expect 0 'batch-tokens 100, schedule cosine, average 0.999, crop 0.5, patience 0' $small --model crops --epochs 30 --learning-rate 0.001
expect 0 'done: whole' $small --model whole --epochs 30 --learning-rate 0.001 --crop 0 --average 0.99
for m in crops whole; do
    "$attend" evaluate --model $m --input others.tsv --metric exact --json --quiet | sed 's/.*"score": \([0-9]*\).*/\1/' >$m.score
done
[ "$(cat crops.score)" -ge 80 ] || fail "with crops, $(cat crops.score) % of words with other first letters are right"
[ "$(cat whole.score)" -le 60 ] || fail "without crops, $(cat whole.score) % of words with other first letters are right: the test is too easy"

# a training that resumes keeps what its checkpoint was made with, not what is chosen now
old='--schedule plateau --average 0 --crop 0 --batch-tokens 200 --dropout 0.2 --source-tokens char --patience 10'
# shellcheck disable=SC2086 # several options
{
    expect 0 'done: once' $small --model once $old --updates 60
    expect 0 'done: twice' $small --model twice $old --updates 30
    expect 0 'dropout 0.2' $small --model twice --updates 60
}
case $printed in *'schedule plateau, average 0, crop 0'*) ;; *) fail "the plan of a resumed training: $printed" ;; esac
same 'a resumed training, and one run' once twice
# shellcheck disable=SC2086 # several options
{
    verb=compare
    expect 0 'dot' $small --valid others.tsv --vary attention=dot --output compared $old --updates 20
    expect 0 'dot' $small --valid others.tsv --vary attention=dot --output compared --updates 20 # 2, if it had other options
    verb=train
}
expect 2 "schedule 'plateau', and now it is 'cosine'" $small --model twice --schedule cosine --updates 60

# refusals
cut -f1 words.tsv >lines.txt
expect 2 'crop and BPE dropout cannot be combined' $small --model bad --crop 0.5 --bpe-dropout 0.1 --updates 1
expect 0 'done: dropped' $small --model dropped --source-tokens bpe --bpe-dropout 0.1 --updates 1 # crops are not chosen
expect 2 'a language model is trained on lines' --task language-model --train lines.txt --model bad --crop 0.5 --updates 1
expect 2 '--crop' $small --model bad --crop 1 --updates 1

# Hangul syllables are split into letters, and joined again: every word is translated alike
printf '각나\t강산\n나각\t강산\n산나\t강산\n' >korean.tsv
expect 0 'characters and Hangul letters, 256 bytes' --train korean.tsv --tokens jamo --valid none --model named --hidden 8 --updates 1
expect 0 'source-tokens jamo, target-tokens jamo' --train korean.tsv --valid none --model korean --hidden 32 --learning-rate 0.01 --crop 0 --updates 150
is 'a Korean word' 강산 "$(echo 나산 | "$attend" translate --model korean --quiet)"
exit $failed
