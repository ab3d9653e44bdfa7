#!/bin/sh
# progress.sh ATTEND: what attend train shows while it runs: on terminals of any width no stale line stays, in a pipe there are plain lines; the time left, and how
# often training validates.
. "$(dirname "$0")/cases.sh"
cd "$folder" || exit 1
has_terminal

awk 'BEGIN { srand(1); for (i = 0; i < 400; i++) { s = ""; t = ""; n = 1 + int(rand() * 5);
    for (j = 0; j < n; j++) { w = substr("abcdefgh", 1 + int(rand() * 8), 1); s = s (j ? " " : "") w; t = w (j ? " " : "") t }
    print s "\t" t } }' >pairs.tsv
small="--tokens word --hidden 32 --embedding 16 --dropout 0 --batch-tokens 100 --threads 1 --no-check"

# The screen after a command on a terminal with some columns: CR and ESC [ K begin a line anew. A line that fills the width would wrap, and is marked.
screen() { # COLUMNS COMMAND
    script -qec "stty cols $1; TERM=${term:-xterm} $2" /dev/null </dev/null | tr -d '\001' | awk -v columns="$1" '{
        sub(/\r$/, ""); count = split($0, parts, "\r\033\\[K")
        for (i = 1; i < count; i++) if (length(parts[i]) >= columns) print "WRAPS: " parts[i]
        print parts[count] }'
}

for columns in 200 40 12; do
    screen $columns "'$attend' train --train pairs.tsv --model t$columns $small --updates 250 --learning-rate 0.05" >shown
    grep -q 'WRAPS' shown && fail "$columns columns: a status line wraps: $(grep WRAPS shown | head -1)"
    grep -v '^time ' shown | grep -q 'left\|\[=*>\|\]' && fail "$columns columns: a stale line stays: $(cat shown)"
    is "$columns columns: lines of validations" 8 "$(grep -c '^epoch' shown)" # every 32nd update, and the last one
    grep -q 'learning rate is now' shown || fail "$columns columns: the learning rate is not announced: $(cat shown)"
done
grep -q '"event": "learning rate reduced", "rate": 0.025}' t200.log.jsonl || fail "the log does not announce the learning rate: $(cat t200.log.jsonl)"
# without validation, the last state stays; on a dumb terminal there are no escape sequences
screen 100 "'$attend' train --train pairs.tsv --valid none --model last $small --updates 60" >shown
is 'the last line without validation' 1 "$(grep -c '^epoch .*update 60 ' shown)"
is 'lines without validation' 1 "$(grep -c '^epoch' shown)"
term=dumb screen 100 "'$attend' train --train pairs.tsv --valid none --model dumb $small --updates 60" >shown
grep -q "$(printf '\033')" shown && fail "escape sequences on a dumb terminal: $(cat -v shown)"

# ---- epochs: batches are not full, so that an epoch has more updates than its tokens fill ----
"$attend" train --train pairs.tsv --model epochs $small --epochs 6 --schedule cosine --patience 0 2>shown || fail "training by epochs: $(cat shown)"
grep -q '^updates     about [0-9]* per epoch, [0-9]* in 6 epochs; ' shown || fail "the number of epochs: $(grep ^updates shown)"
grep -q '^rate        learning rate 0.001; falls to [0-9.e-]* until update [0-9]*$' shown || fail "the schedule: $(grep ^rate shown)"
is 'the end of the last epoch' 'epoch 6 100%' "$(grep '^epoch' shown | tail -1 | cut -c 1-12)"
grep '^epoch 6 ' shown | grep -v 100% | grep -qv 'left$' && fail "no time left before the end: $(grep '^epoch 6' shown)"

# ---- the time left ----
left() { # TEXT OPTIONS...
    text=$1
    shift
    "$attend" train --train pairs.tsv --model left --fresh $small "$@" 2>&1 | grep '^epoch 1  ' | head -1 | grep -q "$text" || fail "no '$text' with $*"
}
left '[^t] [0-9]*s left$' --updates 60 --patience 0
left 'at least [0-9hm]*s* left$' --valid-every 10 --patience 2
left '[0-9] tokens/s  at most [0-9hm]*s* left$' --valid-every 10 --patience 2 --updates 3000

# ---- intervals ----
for updates in 1 7 8 10 100 1000; do
    "$attend" train --train pairs.tsv --model every$updates $small --updates $updates --quiet
    count=$(grep -c valid_loss every$updates.log.jsonl)
    [ "$count" -ge 8 ] || [ "$count" = "$updates" ] || fail "$updates updates have $count validations"
    [ "$count" -le 21 ] || fail "$updates updates have $count validations"
done
# resuming keeps the interval, also with another number of updates
"$attend" train --train pairs.tsv --model parts $small --updates 40 --quiet
expect 0 'validation every 5, checkpoint every 50' train --train pairs.tsv --model parts $small --updates 80
"$attend" train --train pairs.tsv --model whole $small --updates 80 --valid-every 5 --quiet
same 'models of a resumed and an uninterrupted training' parts whole
expect 2 "valid-every '5', and now it is '6'" train --train pairs.tsv --model parts $small --updates 90 --valid-every 6
exit $failed
