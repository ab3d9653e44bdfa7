#!/bin/sh
# Usage: tools/fuzz.sh DIRECTORY [libFuzzer options]
# Runs every fuzzer built in DIRECTORY/test, one per core at a time (JOBS), with the seeds and the corpus of earlier runs in
# DIRECTORY/corpus-NAME. Writes DIRECTORY/fuzz-NAME.log and prints a summary.
# An input that makes a fuzzer fail is kept as DIRECTORY/found-NAME-*; DIRECTORY/test/fuzz_NAME FILE runs it again.
set -eu
directory=$1
shift

run_one() {
    name=$1
    shift
    mkdir -p "$directory/corpus-$name"
    "$directory/test/fuzz_$name" --seeds "$directory/corpus-$name" >/dev/null
    # A small quarantine, so that the memory limit measures attend and not AddressSanitizer.
    if ASAN_OPTIONS=quarantine_size_mb=8 "$directory/test/libfuzzer_$name" -rss_limit_mb=256 -artifact_prefix="$directory/found-$name-" \
        -print_final_stats=1 "$@" "$directory/corpus-$name" >"$directory/fuzz-$name.log" 2>&1; then
        echo "fuzz $name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$directory/fuzz-$name.log") inputs, no finding"
    else
        tail -60 "$directory/fuzz-$name.log" >&2
        echo "fuzz $name: FAILED; the input is in $directory/found-$name-*" >&2
        return 1
    fi
}

if [ "${FUZZ_ONE:-}" ]; then
    run_one "$FUZZ_ONE" "$@"
    exit
fi
for fuzzer in "$directory"/test/libfuzzer_*; do
    echo "${fuzzer##*/libfuzzer_}"
done | xargs -P "${JOBS:-$(nproc)}" -I '{}' env FUZZ_ONE='{}' "$0" "$directory" "$@"
