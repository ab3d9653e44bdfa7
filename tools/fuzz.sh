#!/bin/sh
# Usage: tools/fuzz.sh FOLDER [libFuzzer options]
# Runs every fuzzer built in FOLDER/test in turn, from fresh seeds and what earlier runs kept in FOLDER/corpus-NAME.
# The quarantine is kept small, so that the limit on memory is about attend and not about AddressSanitizer.
# What breaks one lands in FOLDER/found-NAME-*; FOLDER/test/fuzz_NAME FILE runs it again.
set -eu
folder=$1
shift
for fuzzer in "$folder"/test/libfuzzer_*; do
    name=${fuzzer##*/libfuzzer_}
    mkdir -p "$folder/corpus-$name"
    "$folder/test/fuzz_$name" --seeds "$folder/corpus-$name"
    echo "fuzzing $name" >&2
    ASAN_OPTIONS=quarantine_size_mb=8 "$fuzzer" -rss_limit_mb=256 -artifact_prefix="$folder/found-$name-" \
        -print_final_stats=1 "$@" "$folder/corpus-$name"
done
