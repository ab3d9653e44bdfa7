#!/bin/bash
# ranks_lines.sh ATTEND PLUGIN FIXTURES: translate, score and evaluate under mpirun write the same bytes as alone, to standard output and as warnings, in
# order, for files and for standard input; ranks that have another model, that are killed or stopped. Exits with 77 where mpirun or the MPI plug-in is
# missing.
if [ ! -e "$2" ] || ! command -v mpirun >/dev/null; then
    echo 'skipped: mpirun (openmpi-bin) or the plug-in attend-mpi.so is missing'
    exit 77
fi
. "$(dirname "$0")/cases.sh"
. "$(dirname "$0")/rank_jobs.sh"
export ATTEND_MPI=$2
fixtures=$3
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
cd "$folder" || exit 1

# Lines of several lengths, empty ones, unknown words, and one that is not UTF-8
for i in 1 2 3 4 5 6 7 8 9 10; do
    sed "s/\$/ one two w$i xyzzy$((i % 3))/" "$fixtures/input.txt"
    echo
    printf 'one \xff two\n'
    head -3 "$fixtures/input.txt" | tr '\n' ' '
    echo
done >lines
sed 's/ .*//' lines | head -20 >first
for _ in 1 2 3 4 5; do cat "$fixtures/pairs.tsv"; printf 'one two\t\n'; done >pairs.tsv
for _ in 1 2 3; do cat "$fixtures/lines.txt"; done >lines.txt

ranks() { # COUNT ARGUMENTS...: standard output in `out`, standard error without what mpirun says in `err`
    count=$1
    shift
    timeout 100 mpirun -n "$count" "$attend" "$@" >out 2>err
}
same() { # DESCRIPTION COUNT ARGUMENTS...: with standard input from the file $input
    what=$1 count=$2
    shift 2
    "$attend" "$@" <"${input:-/dev/null}" >expected 2>expected.err || fail "$what alone: $(cat expected.err)"
    ranks "$count" "$@" <"${input:-/dev/null}" || fail "$what on $count ranks: $(cat err)"
    cmp -s expected out || fail "$what on $count ranks: other output: $(diff expected out | head -3)"
    cmp -s expected.err err || fail "$what on $count ranks: other warnings: $(diff expected.err err | head -3)"
}

input=lines
for model in rnn-bpe transformer-learned; do
    same "$model" 3 translate --model "$fixtures/$model.model" --n-best 2
    same "$model, json" 2 translate --model "$fixtures/$model.model" --json --alignment soft --threads 2
done
same 'no lines' 3 translate --model "$fixtures/rnn-bpe.model" --input /dev/null
same 'one line' 4 translate --model "$fixtures/rnn-bpe.model" 'one two'
same sampling 3 translate --model "$fixtures/rnn-bpe.model" --sample --seed 7 --n-best 2
same 'a language model' 2 translate --model "$fixtures/language-model.model" --input first
same sentences 2 translate --model "$fixtures/rnn-location.model" --split-sentences
head -20 lines >prefixed
same prefixes 3 translate --model "$fixtures/rnn-bpe.model" --input prefixed --prefix first
input=
for count in 2 3 4; do
    same 'scores' $count score --model "$fixtures/rnn-location.model" --input pairs.tsv --per-token
done
same 'scores as JSON' 3 score --model "$fixtures/transformer-learned.model" --input pairs.tsv --json --per-token
same 'scores of a language model' 2 score --model "$fixtures/language-model.model" --input lines.txt
same evaluation 3 evaluate --model "$fixtures/transformer-learned.model" --input "$fixtures/pairs.tsv" --bootstrap 100
same 'evaluation of a language model' 2 evaluate --model "$fixtures/language-model.model" --input lines.txt
"$attend" evaluate --model "$fixtures/rnn-bpe.model" --input "$fixtures/pairs.tsv" --output alone.txt >/dev/null 2>&1
ranks 2 evaluate --model "$fixtures/rnn-bpe.model" --input "$fixtures/pairs.tsv" --output shared.txt || fail "evaluate --output: $(cat err)"
cmp -s alone.txt shared.txt || fail 'evaluate --output writes other translations'
ranks 2 translate --model "$fixtures/rnn-bpe.model" --input lines --output translated || fail "translate --output: $(cat err)"
"$attend" translate --model "$fixtures/rnn-bpe.model" --input lines 2>/dev/null | cmp -s - translated || fail 'translate --output differs'

# ---- faults ----

timeout 100 mpirun -n 2 sh -c "[ \$OMPI_COMM_WORLD_RANK = 0 ] && model=rnn-bpe || model=rnn-location
    exec '$attend' translate --model '$fixtures/'\$model.model --input lines" >out 2>err && fail 'another model on a rank is accepted'
grep -q 'rank 1 on .* has another model' err || fail "another model: $(cat err)"
timeout 100 mpirun -n 2 sh -c "[ \$OMPI_COMM_WORLD_RANK = 0 ] || export ATTEND_KERNEL=plain
    exec '$attend' score --model '$fixtures/rnn-bpe.model' --input pairs.tsv" >out 2>err && fail 'mixed kernels are accepted'
grep -q "rank 1 on .* computes with the kernels 'plain'" err || fail "mixed kernels: $(cat err)"
timeout 100 mpirun -n 2 sh -c "[ \$OMPI_COMM_WORLD_RANK = 0 ] || export ATTEND_KERNEL=plain
    exec '$attend' score --model '$fixtures/rnn-bpe.model' --input pairs.tsv --mixed-ranks" >out 2>err || fail "--mixed-ranks: $(cat err)"
ranks 2 translate --model "$fixtures/rnn-bpe.model" --input missing && fail 'a missing input is accepted'
grep -q 'missing' err || fail "a missing input: $(cat err)"
ranks 2 translate --model "$fixtures/rnn-bpe.model" --input lines --prefix first && fail 'too few prefixes are accepted'
grep -q 'fewer lines' err || fail "too few prefixes: $(cat err)"
timeout 100 mpirun -n 2 "$attend" translate --model "$fixtures/rnn-bpe.model" --input lines 2>err | head -1 >out
[ -s out ] || fail 'a closed pipe: nothing is written'

# Rank 0 waits for lines from a pipe; more come after the fault.
mkfifo pipe
for fault in KILL:1 STOP:1 STOP:0; do
    signal=${fault%:*} rank=${fault#*:}
    rm -f partial
    mpirun -n 3 "$attend" translate --model "$fixtures/rnn-bpe.model" --input pipe --output partial --rank-timeout 2 >out 2>err &
    job=$!
    exec 9>pipe
    cat lines >&9
    for _ in $(seq 200); do [ -s partial ] && break; sleep 0.1; done
    process=$(rank_process $job "$rank")
    began=$(date +%s%N)
    [ -n "$process" ] && kill -"$signal" "$process" || fail "$signal: rank $rank has ended already"
    cat lines >&9
    exec 9>&-
    wait_for_job $job && fail "$signal to rank $rank: the job succeeds"
    echo "$signal to rank $rank: ended after $took ms"
    [ $took -lt 7000 ] || fail "$signal to rank $rank: noticed after $took ms"
    grep -q "rank $rank " err || fail "$signal: rank $rank is not named: $(tail -5 err)"
done
exit $failed
