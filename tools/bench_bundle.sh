#!/bin/sh
# Puts the benchmark into a directory that runs on machines without the packages of attend, even without a C library of the same
# version:  bench_bundle.sh BUILD OUT.  OUT/bench is linked statically; OUT/peers has the scripts of PyTorch and CTranslate2. BUILD
# is a build directory with tests. With ATTEND_DATA, the first pairs of Multi30k are copied too: run with ATTEND_DATA=OUT/data.
set -eu
build=$1 out=$2
source=$(cd "$(dirname "$0")/.." && pwd)
cmake --build "$build" --target bench >/dev/null
mkdir -p "$out/peers"
cc -static -Wl,--gc-sections -s -o "$out/bench" "$build"/bench/CMakeFiles/bench.dir/*.o "$build/src/libattend.a" \
    -l:libutf8proc.a -l:libz.a -lpthread -lm 2>/dev/null
cp "$source"/bench/peers/*.py "$out/peers"
data=${ATTEND_DATA:-}/multi30k
if [ -r "$data/train.en.gz" ]; then
    mkdir -p "$out/data/multi30k"
    for side in en de; do
        gzip -dc "$data/train.$side.gz" | head -n 3200 | gzip -n >"$out/data/multi30k/train.$side.gz"
    done
fi
