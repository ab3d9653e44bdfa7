#!/bin/sh
# Usage: tools/fuzz.sh DIRECTORY [libFuzzer options]
# Runs every fuzzer built in DIRECTORY/test, one per core at a time (JOBS), with the seeds and the corpus of earlier runs in
# DIRECTORY/corpus-NAME. Writes DIRECTORY/fuzz-NAME.log and prints a summary.
# An input that makes a fuzzer fail is kept as DIRECTORY/found-NAME-*; DIRECTORY/test/fuzz_NAME FILE runs it again.
set -eu
folder=$1
shift

run_one() {
    name=$1
    shift
    mkdir -p "$folder/corpus-$name"
    "$folder/test/fuzz_$name" --seeds "$folder/corpus-$name" >/dev/null
    # A small quarantine, so that the memory limit measures attend and not AddressSanitizer.
    if ASAN_OPTIONS=quarantine_size_mb=8 "$folder/test/libfuzzer_$name" -rss_limit_mb=256 -artifact_prefix="$folder/found-$name-" \
        -print_final_stats=1 "$@" "$folder/corpus-$name" >"$folder/fuzz-$name.log" 2>&1; then
        echo "fuzz $name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$folder/fuzz-$name.log") inputs, no finding"
    else
        tail -60 "$folder/fuzz-$name.log" >&2
        echo "fuzz $name: FAILED; the input is in $folder/found-$name-*" >&2
        return 1
    fi
}

if [ "${FUZZ_ONE:-}" ]; then
    run_one "$FUZZ_ONE" "$@"
    exit
fi
for fuzzer in "$folder"/test/libfuzzer_*; do
    echo "${fuzzer##*/libfuzzer_}"
done | xargs -P "${JOBS:-$(nproc)}" -I '{}' env FUZZ_ONE='{}' "$0" "$folder" "$@"
