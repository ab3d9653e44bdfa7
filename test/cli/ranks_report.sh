#!/bin/bash
# ranks_report.sh ATTEND PLUGIN FIXTURES: what training prints about its ranks before the first update: threads, cores, memory, ranks that are bound to
# fewer processors than they have threads, ranks that share processors, and batches with fewer shards than threads. Exits with 77 where mpirun or the
# MPI plug-in is missing.
if [ ! -e "$2" ] || ! command -v mpirun >/dev/null; then
    echo 'skipped: mpirun (openmpi-bin) or the plug-in attend-mpi.so is missing'
    exit 77
fi
. "$(dirname "$0")/cases.sh"
export ATTEND_MPI=$2
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
cd "$folder" || exit 1
cp "$3/pairs.tsv" pairs.tsv
for _ in 1 2 3 4 5 6; do cat pairs.tsv pairs.tsv >more && mv more pairs.tsv; done

processors=$(nproc --all) allowed=$(nproc)
train() { # RANKS OPTIONS...: what is printed in the file `printed`. $bind: a command in front of attend
    count=$1
    shift
    timeout 60 mpirun -n "$count" $bind "$attend" train --train pairs.tsv --valid none --no-check --updates 1 --fresh --model m --rank-timeout 10 "$@" >printed 2>&1 ||
        fail "training on $count ranks: $(cat printed)"
}
says() { # PATTERN
    grep -Eq "$1" printed || fail "not reported: '$1': $(cat printed)"
}
is_silent_about() { # PATTERN
    grep -Eq "$1" printed && fail "reported without a cause: '$1': $(cat printed)"
}

bind=
train 2 --hidden 8 --batch-tokens 4000 --threads 1
says '^ranks       2 on 1 machine, 1 thread each, [0-9]+ cores?$'
says '^exchange    [0-9.]+ MB by each rank in an update, about [0-9]+ % of its time$'
is_silent_about 'fewer shards|some have no work|may run on'
[ "$processors" -ge 2 ] && is_silent_about 'use fewer ranks or threads there'

train 2 --hidden 8 --batch-tokens 400 --threads $((processors + 1))
says "^ranks       2 on 1 machine, $((processors + 1)) threads each, "
says "an update has about [0-9]+ shards? for $((2 * processors + 2)) threads, so that some have no work: use larger"
if [ "$processors" = "$allowed" ]; then
    says "^2 ranks on .* run $((2 * processors + 2)) threads on $processors processors?: use fewer ranks or threads there"
fi

if [ "$processors" -gt 1 ] && command -v taskset >/dev/null; then
    bind='taskset -c 0'
    train 2 --hidden 8 --batch-tokens 4000 --threads 2
    says 'rank 0 on .* has 2 threads and may run on 1 processor only: give each rank more \(mpirun --bind-to none'
    train 2 --hidden 8 --batch-tokens 4000
    says '^ranks       2 on 1 machine, 1 thread each, 1 core$'
    says '^2 ranks on .* run 2 threads on 1 processor, to which all of them are bound: use fewer ranks'
    is_silent_about 'may run on 1 processor'
    bind=
fi

# The optimizer's moments are divided among the ranks; the first part of an estimate that follows from the number of ranks
memory() { # RANKS
    train "$1" --hidden 256 --embedding 256 --layers 2 --batch-tokens 6000 --average 0.9 --threads 1
    sed -n 's/^memory      about \([0-9]*\) MiB$/\1/p' printed
}
two=$(memory 2) four=$(memory 4)
[ "$two" -gt "$four" ] || fail "2 ranks take $two MiB each, and 4 ranks $four"
exit $failed
