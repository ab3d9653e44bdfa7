#!/bin/bash
# ranks.sh ATTEND PLUGIN [CUDA_PLUGIN]: training under mpirun: the same model, checkpoint and log as alone on any number of ranks and threads; ranks that
# are killed, stopped, without room on a disk, of another version or given other data, and resuming with another number of ranks; several ranks on one device.
# Exits with 77 where mpirun or the MPI plug-in is missing.
if [ ! -e "$2" ] || ! command -v mpirun >/dev/null; then
    echo 'skipped: mpirun (openmpi-bin) or the plug-in attend-mpi.so is missing'
    exit 77
fi
. "$(dirname "$0")/cases.sh"
. "$(dirname "$0")/rank_jobs.sh"
export ATTEND_MPI=$2
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
cd "$folder" || exit 1
awk 'BEGIN { srand(1); for (i = 0; i < 1200; i++) { s = ""; t = ""; n = 2 + int(rand() * 6);
    for (j = 0; j < n; j++) { w = substr("abcdefgh", 1 + int(rand() * 8), 1); s = s (j ? " " : "") w; t = w (j ? " " : "") t }
    print s "\t" t } }' >pairs.tsv
head -100 pairs.tsv >valid.tsv
options="--train pairs.tsv --valid valid.tsv --hidden 32 --dropout 0.2 --batch-tokens 1300 --accumulate 2 --average 0.99 --log-every 3 --patience 0 --no-check --rank-timeout 2 --updates 12 --valid-every 5 --save-every 4"
rnn="$options --tokens bpe --vocab-size 300 --bpe-dropout 0.1 --embedding 16 --keep 2 --average-last 2"
transformer="$options --tokens word --architecture transformer --heads 2 --layers 2 --feed-forward-width 48 --valid-metric chrf"
lstmn="$options --tokens char --architecture lstmn --embedding 16 --optimizer sgd --learning-rate 0.1"

seconds='s/, "seconds": [ 0-9.]*//'
same_training() { # DESCRIPTION REFERENCE OTHER
    for suffix in '' .checkpoint; do
        cmp -s "$2$suffix" "$3$suffix" || fail "$1: $2$suffix and $3$suffix differ"
    done
    diff <(sed "$seconds" "$2.log.jsonl") <(sed "$seconds" "$3.log.jsonl") >differences || fail "$1: the logs differ: $(head -3 differences)"
}
ranks() { # COUNT OPTIONS...: trains on ranks; what they print in the file `printed`
    count=$1
    shift
    timeout 100 mpirun -n "$count" "$attend" train "$@" >printed 2>&1
}

# ---- any number of ranks and threads ----

for kind in rnn transformer lstmn; do
    "$attend" train ${!kind} --model $kind --threads 1 >/dev/null 2>&1 || fail "$kind does not train"
    for count in 2 3 4; do
        threads=$((1 + count % 3))
        ranks $count ${!kind} --model other --threads $threads || fail "$kind on $count ranks: $(tail -5 printed)"
        same_training "$kind on $count ranks with $threads threads" $kind other
        rm -f other other.*
    done
done
ranks 2 $rnn --model other --threads 1
grep -q '^ranks       2 on 1 machine' printed || fail "the ranks are not reported: $(cat printed)"
[ "$(grep -c '^done: other' printed)" = 1 ] || fail "not one rank speaks: $(cat printed)"
rm -f other other.*

# ---- machines without a common directory: only that of rank 0 must have a place for the outputs ----
mkdir -p here/logs away && cp pairs.tsv valid.tsv here && cp pairs.tsv valid.tsv away
timeout 100 mpirun -wdir "$folder/here" -n 1 "$attend" train $rnn --model m --log logs/m --threads 1 \
    : -wdir "$folder/away" -n 1 "$attend" train $rnn --model m --log logs/m --threads 1 >printed 2>&1 || fail "two directories: $(tail -5 printed)"
is 'the files of rank 1' 'away/pairs.tsv away/valid.tsv' "$(echo away/*)"
grep -q '^no scores: not every rank finds this model' printed || fail "scores without a common directory: $(tail -5 printed)"
cp rnn away/m
timeout 100 mpirun -wdir "$folder/here" -n 1 "$attend" train $rnn --fresh --seed 5 --model m --threads 1 \
    : -wdir "$folder/away" -n 1 "$attend" train $rnn --fresh --seed 5 --model m --threads 1 >printed 2>&1 || fail "another model there: $(tail -5 printed)"
grep -q '^no scores: not every rank finds this model' printed || fail "scores of another model: $(tail -5 printed)"
rm -r here away

# ---- ranks that are killed or stopped ----

long="$rnn --updates 120 --save-every 10 --threads 1"
long=${long/--updates 12 /}
"$attend" train $long --model long >/dev/null 2>&1 || failed=1
for fault in KILL:1 STOP:2 STOP:0 USR1:1; do
    signal=${fault%:*} rank=${fault#*:}
    mpirun -n 3 "$attend" train $long --model other >printed 2>&1 &
    job=$!
    for _ in $(seq 100); do [ -e other.update-10 ] && break; sleep 0.1; done
    process=$(rank_process $job "$rank")
    began=$(date +%s%N)
    [ -n "$process" ] && kill -"$signal" "$process"
    wait_for_job $job
    echo "$signal to rank $rank: ended after $took ms"
    [ $took -lt 7000 ] || fail "$signal to rank $rank: noticed after $took ms"
    case $signal in
    KILL) grep -q "rank $rank .* signal 9" printed || fail "mpirun does not name the killed rank: $(cat printed)" ;;
    STOP) grep -q "rank $rank on .*: nothing was heard from it for [0-9]* s; it was stopped" printed || fail "a stopped rank is not named: $(cat printed)" ;;
    USR1) grep -q '^stopped; the same command resumes' printed || fail "SIGUSR1 does not stop the ranks: $(cat printed)" ;;
    esac
    ranks $((1 + rank)) $long --model other || fail "training does not resume after $signal: $(tail -5 printed)"
    rm -f .*.tmp
    same_training "after $signal" long other
    rm -f other other.*
done

# ---- several ranks on one device: each sends from a copy in the host's memory ----

tiny="--train pairs.tsv --valid few.tsv --tokens char --hidden 4 --embedding 4 --dropout 0.2 --batch-tokens 40 --accumulate 4 --patience 0 --no-check --rank-timeout 60 --updates 2 --valid-every 2 --threads 1"
head -4 pairs.tsv >few.tsv
on_device() { # NAME OPTIONS...: the numbers of CUDA are not those of the CPU, but those of one process are those of two
    device=$1
    shift
    "$attend" train "$@" --device "$device" --model "$device" >printed 2>&1 || fail "training on $device: $(tail -3 printed)"
    ranks 2 "$@" --device "$device" --model other || fail "two ranks on $device: $(tail -5 printed)"
    grep -q '^ranks       2 on 1 machine' printed || fail "the ranks on $device are not reported: $(cat printed)"
    same_training "two ranks on $device" "$device" other
    rm -f other other.*
}
on_device guard $rnn --threads 1
same_training 'guard and the CPU' rnn guard
[ -e "$3" ] && ATTEND_CUDA=$3 on_device cuda $tiny

# ---- full disks ----

disk=$folder/disk
mkdir "$disk"
trap 'umount "$disk" 2>/dev/null; chmod -R u+w "$folder" 2>/dev/null; rm -rf "$folder"' EXIT
# Without the right to mount a small disk, the size of each file is limited: in blocks of 1024 bytes.
small_disk() { mount -t tmpfs -o size=16k none "$disk" 2>/dev/null; }
has_disk=false small="ulimit -f 16" large="ulimit -f 100"
small_disk && has_disk=true small=: large=:
timeout 100 mpirun -n 2 bash -c "[ \$OMPI_COMM_WORLD_RANK = 0 ] || { export TMPDIR='$disk'; $small; }; exec '$attend' train $rnn --rank-timeout 20 --threads 1 --model x" >printed 2>&1 && fail 'a full TMPDIR of a rank is accepted'
grep -q "^attend train: rank 1 on .*: cannot write a temporary file in $disk: .*; set TMPDIR" printed || fail "a full TMPDIR of a rank: $(cat printed)"
[ -z "$(ls "$disk")" ] || fail "files are left in a full TMPDIR: $(ls "$disk")"
timeout 100 mpirun -n 2 bash -c "[ \$OMPI_COMM_WORLD_RANK = 1 ] || { $large; }; exec '$attend' train $rnn --rank-timeout 20 --threads 1 --model '$disk/m'" >printed 2>&1 && fail 'a full disk under the model is accepted'
grep -q "^attend train: .*$disk/m.*\(No space left on device\|File too large\)" printed || fail "a full disk under the model: $(cat printed)"
[ -e "$disk/m" ] && fail 'a model on a full disk'
# the same command, when there is room
! $has_disk || mount -o remount,size=20m "$disk" || fail 'the disk does not grow'
ranks 2 $rnn --threads 1 --model "$disk/m" || fail "training after a full disk: $(tail -5 printed)"
same_training 'after a full disk' rnn "$disk/m"
! $has_disk || umount "$disk"

# ---- what is refused ----

version=$("$attend" --version | sed 's/^attend \([0-9.]*\).*/\1/') another=$(printf %s "$version" | tr 0-9 9)
LC_ALL=C sed "s/$(printf %s "$version" | sed 's/[.]/\\./g')/$another/g" "$attend" >another && chmod +x another
is 'the copy of another version' "attend $another" "$(./another --version | cut -d ' ' -f 1-2)"
timeout 100 mpirun -n 2 sh -c "[ \$OMPI_COMM_WORLD_RANK = 0 ] && program='$attend' || program=./another; exec \$program train $rnn --model x" >printed 2>&1 && fail 'a rank of another version is accepted'
grep -q "^attend train: rank 1 on .* is attend $another, and rank 0 is $version: install the same version on all machines" printed || fail "another version: $(cat printed)"
cut -f 1 few.tsv >few.txt
timeout 100 mpirun -n 2 sh -c "[ \$OMPI_COMM_WORLD_RANK = 0 ] && program='$attend' || program=./another; exec \$program translate --model rnn --input few.txt" >printed 2>&1 && fail 'a rank of another version translates'
grep -q "^attend translate: rank 1 on .* is attend $another, and rank 0 is $version" printed || fail "another version, translating: $(cat printed)"

head -1000 pairs.tsv >other.tsv
timeout 100 mpirun -n 2 sh -c "[ \$OMPI_COMM_WORLD_RANK = 0 ] || cp other.tsv mine.tsv; [ \$OMPI_COMM_WORLD_RANK = 0 ] && file=pairs.tsv || file=mine.tsv
    exec '$attend' train ${rnn/--train pairs.tsv/} --train \$file --model x" >printed 2>&1 && fail 'other data on a rank are accepted'
grep -q 'rank 1 on .* has read other data' printed || fail "other data: $(cat printed)"
timeout 100 mpirun -n 2 sh -c "[ \$OMPI_COMM_WORLD_RANK = 0 ] && file=pairs.tsv || file=none.tsv
    exec '$attend' train ${rnn/--train pairs.tsv/} --train \$file --model x" >printed 2>&1 && fail 'a missing file of a rank is accepted'
grep -q 'rank 1 on .*none.tsv' printed || fail "a missing file: $(cat printed)"
cut -f 1 pairs.tsv >lines.tsv
timeout 100 mpirun -n 2 sh -c "[ \$OMPI_COMM_WORLD_RANK = 0 ] && file=pairs.tsv || file=lines.tsv
    exec '$attend' train --train \$file --valid valid.tsv --updates 2 --rank-timeout 20 --model x" >printed 2>&1 && fail 'lines without pairs on a rank are accepted'
grep -q '^attend train: rank 1 on .*: .*; stop: lines without a TAB: 1200; .*; This data prevents training' printed || fail "lines without pairs: $(cat printed)"
timeout 100 mpirun -n 2 sh -c "[ \$OMPI_COMM_WORLD_RANK = 0 ] || ulimit -v 350000
    exec '$attend' train --train pairs.tsv --valid valid.tsv --hidden 1024 --layers 2 --updates 2 --rank-timeout 20 --threads 1 --model x" >printed 2>&1 && fail 'a rank without memory goes on'
grep -q '^attend train: rank 1 on .*memory' printed || fail "a rank without memory: $(cat printed)"
timeout 100 mpirun -n 2 sh -c "[ \$OMPI_COMM_WORLD_RANK = 0 ] || export ATTEND_KERNEL=plain; exec '$attend' train $rnn --model x" >printed 2>&1 && fail 'mixed kernels are accepted'
grep -q "rank 1 on .* computes with the kernels 'plain'" printed || fail "mixed kernels: $(cat printed)"
ranks 2 $rnn --model x --train - <pairs.tsv && fail 'standard input is accepted'
grep -q 'can be read only once' printed || fail "standard input: $(cat printed)"
ATTEND_MPI=$folder/none.so timeout 100 mpirun -n 2 "$attend" train $rnn --model x >printed 2>&1 && fail 'a missing plug-in is accepted'
grep -q 'install the package attend-mpi' printed || fail "a missing plug-in: $(cat printed)"
[ -e x ] && fail 'a refused training writes a model'
exit $failed
