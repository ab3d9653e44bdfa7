#!/bin/bash
# kill.sh ATTEND KILLS [SECONDS]: a training run that is killed (SIGKILL) at random times, not before SECONDS (default: 0), and restarted ends with the
# same model, checkpoint and log, except for the times in it, as an uninterrupted run.
attend=$1 kills=$2 seconds_before=${3:-0}
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
awk 'BEGIN { srand(1); for (i = 0; i < 2000; i++) { s = ""; t = ""; n = 2 + int(rand() * 6);
    for (j = 0; j < n; j++) { w = substr("abcdefgh", 1 + int(rand() * 8), 1); s = s (j ? " " : "") w; t = w (j ? " " : "") t }
    print s "\t" t } }' >pairs.tsv
head -100 pairs.tsv >valid.tsv
train() { # exec: what is killed is the training itself, and not a shell around it
    exec "$attend" train --train pairs.tsv --valid valid.tsv --tokens bpe --vocab-size 300 --bpe-dropout 0.1 --hidden 32 --embedding 16 --dropout 0.2 --batch-tokens 200 \
        --valid-metric bleu --average 0.99 --valid-every 20 --save-every 7 --log-every 5 --keep 2 --average-last 3 --heads 2 --patience 0 --updates "$1" --quiet --no-check --threads "$2" --model "$3"
}
killed=0
updates=$((60 + 45 * kills))
(train $updates 1 reference) || exit 1
while :; do
    train $updates $((1 + RANDOM % 3)) other &
    child=$!
    if [ $killed -lt "$kills" ]; then
        sleep $seconds_before.$((RANDOM % 25 + 10))
        kill -9 $child 2>/dev/null && killed=$((killed + 1))
    fi
    wait $child 2>/dev/null
    [ $? = 0 ] && break
done
rm -f .*.tmp # stale temporary files
seconds='s/, "seconds": [ 0-9.]*//'
for suffix in '' .checkpoint $(for f in reference.update-* reference.single; do [ -e "$f" ] && echo "${f#reference}"; done); do
    cmp "reference$suffix" "other$suffix" || exit 1
done
diff <(sed "$seconds" reference.log.jsonl) <(sed "$seconds" other.log.jsonl) || exit 1
echo "killed $killed times, $updates updates: the same model, checkpoint and log"
