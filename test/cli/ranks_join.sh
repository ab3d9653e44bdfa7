#!/bin/bash
# ranks_join.sh ATTEND PLUGIN FIXTURES: ranks that fail before they have joined, that never come or never leave, and commands that do not run on several
# ranks. Exits with 77 where mpirun or the MPI plug-in is missing.
if [ ! -e "$2" ] || ! command -v mpirun >/dev/null; then
    echo 'skipped: mpirun (openmpi-bin) or the plug-in attend-mpi.so is missing'
    exit 77
fi
. "$(dirname "$0")/cases.sh"
export ATTEND_MPI=$2
fixtures=$3
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
cd "$folder" || exit 1
export attend model=$fixtures/rnn-bpe.model
head -20 "$fixtures/input.txt" >lines

on_rank_1() { # RANKS WITH WITHOUT: translates lines; WITH are further options of rank 1, and WITHOUT those of the others
    timeout 60 mpirun -n "$1" sh -c "[ \$OMPI_COMM_WORLD_RANK = 1 ] && set -- $2 || set -- $3
        exec \"\$attend\" translate --model \"\$model\" --input lines --rank-timeout 20 \"\$@\"" >out 2>err
}
took() { # DESCRIPTION SECONDS: since $began
    local milliseconds=$((($(date +%s%N) - began) / 1000000))
    echo "$1: ended after $milliseconds ms"
    [ $milliseconds -lt "$2"000 ] || fail "$1: noticed after $milliseconds ms"
}

# ---- a rank that fails before it has joined ----

began=$(date +%s%N)
on_rank_1 3 --beem=2 && fail 'an unknown option of a rank is accepted'
grep -q "^attend translate: rank 1 on .*: unknown option --beem" err || fail "an unknown option of rank 1: $(cat err)"
on_rank_1 3 --dictionary=/none && fail 'an option that needs another is accepted'
grep -q "rank 1 on .*: --dictionary requires" err || fail "a wrong combination on rank 1: $(cat err)"
on_rank_1 3 --beem=2 --beem=2 && fail 'an unknown option is accepted'
[ "$(grep -c 'unknown option --beem' err)" = 1 ] || fail "an unknown option of all ranks is not reported once: $(cat err)"
took 'ranks with other options' 30

# ---- a rank that has other options or files ----

on_rank_1 2 --beam=7 --beam=3 && fail 'another beam of a rank is accepted'
grep -q "rank 1 on .* has another value of --beam than rank 0: '7', not '3'" err || fail "another beam: $(cat err)"
printf 'one\tuno\n' >dictionary
printf 'one\tuna\n' >other
on_rank_1 2 '--replace-unknown --dictionary other' '--replace-unknown --dictionary dictionary' && fail 'another dictionary of a rank is accepted'
grep -q 'rank 1 on .* has another dictionary than rank 0' err || fail "another dictionary: $(cat err)"
cp dictionary other
on_rank_1 2 '--replace-unknown --dictionary other --threads 2' '--replace-unknown --dictionary dictionary --quiet' ||
    fail "a copy of the dictionary, and other threads: $(cat err)"
for option in '--hidden 16' --fresh '--save-every 7' '--learning-rate 0.5'; do
    timeout 60 mpirun -n 2 sh -c "[ \$OMPI_COMM_WORLD_RANK = 0 ] || set -- $option
        exec '$attend' train --train '$fixtures/pairs.tsv' --updates 2 --model trained --rank-timeout 20 \"\$@\"" >out 2>err &&
        fail "another rank with $option is accepted"
    grep -q "rank 1 on .* has another value of ${option%% *} than rank 0" err || fail "another rank with $option: $(cat err)"
done

# ---- a rank that does not come, or does not leave ----

for rank in 1 0; do
    began=$(date +%s%N)
    timeout 60 mpirun -n 2 sh -c "[ \$OMPI_COMM_WORLD_RANK = $rank ] && exec sleep 40
        exec \"\$attend\" translate --model \"\$model\" --input lines --rank-timeout 2" >out 2>err && fail 'a rank that does not come is accepted'
    took "rank $rank does not come" 30
    grep -q "attend: rank $((1 - rank)) on .* has waited 10 s for the other ranks to join" err || fail "rank $rank does not come: $(cat err)"
done

# ---- commands that run in one process ----

for verb in 'info --model x' 'convert --model x --output y' 'tune --train x' 'check x' 'show --model x'; do
    timeout 60 mpirun -n 3 "$attend" $verb >out 2>err && fail "several processes are accepted: $verb"
    [ "$(grep -c "^attend ${verb%% *}: this verb does not run on several ranks, and 3 processes" err)" = 1 ] || fail "$verb on ranks: $(cat err)"
done
timeout 60 mpirun -n 1 "$attend" info "$model" >out 2>err || fail "one rank: $(cat err)"

# srun without PMI: a step with several tasks that know nothing of each other
for rank in 0 1; do
    SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=$rank "$attend" translate --model "$model" --input lines >out 2>err && fail 'tasks of srun without PMI are accepted'
    grep -q 'srun has started 2 processes that cannot find each other' err || fail "srun without PMI, task $rank: $(cat err)"
done
SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=0 "$attend" convert --model "$model" --output copy >out 2>err && fail 'tasks of srun convert'
SLURM_STEP_NUM_TASKS=1 SLURM_PROCID=0 "$attend" translate --model "$model" --input lines >out 2>err || fail "one task of srun: $(cat err)"
SLURM_NTASKS=4 SLURM_PROCID=0 "$attend" translate --model "$model" --input lines >out 2>err || fail "the script of a job: $(cat err)"
exit $failed
