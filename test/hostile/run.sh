#!/bin/sh
# run.sh BUILD SECONDS [SEED]: the hostile campaigns (campaign.h) with the programs of a build directory, one after another, each for SECONDS; then wrong
# arguments for every function of the library, and a million lines. Prints what each tried and what held. A seed is chosen from the date unless it is given.
build=$1 seconds=$2 seed=${3:-$(date +%Y%m%d)}
data=$(dirname "$0")/../data/v0.1
failed=
summary=
export LSAN_OPTIONS="suppressions=$(cd "$(dirname "$0")/.." && pwd)/lsan.supp:print_suppressions=0" # as for the other tests
campaign() { # NAME COMMAND...
    name=$1
    shift
    printed=$("$@" 2>&1) || failed="$failed $name"
    [ -z "$printed" ] || echo "$printed"
    summary="$summary
  $name: $(echo "$printed" | sed -n 's/.*\(tried [0-9]*, held [0-9]*\).*/\1/p' | tail -1)"
}
for name in lying_models numbers odd_files changing_files; do
    campaign $name "$build/test/hostile_$name" "$build/attend" "$data" "$seed" "$seconds"
done
campaign clock_jumps "$build/test/hostile_clock_jumps" "$build/test/attend_jumping_clock" "$data" "$seed" "$seconds"
[ ! -x "$build/test/test_misuse" ] || # it needs python3
    campaign misuse env ASAN_OPTIONS=allocator_may_return_null=1:max_allocation_size_mb=2000:detect_leaks=0 "$build/test/test_misuse"
campaign lines "$(dirname "$0")/lines.sh" "$build" "$data" "${HOSTILE_LINES:-1000000}"
echo "seed $seed$summary"
[ -z "$failed" ] || { echo "not held:$failed"; exit 1; }
