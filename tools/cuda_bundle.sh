#!/bin/bash
# tools/cuda_bundle.sh BUILD FILE
# Packs what tools/test_cuda.sh needs into FILE (.tar.gz), for a machine with a GPU on which attend cannot be built: the test programs, the command,
# the plug-ins, and the shared libraries that they are linked with, but for those of the system and of CUDA. There:
#     tar xzf FILE && attend-cuda/test_cuda.sh attend-cuda
# BUILD: a build directory with tests and the plug-in, in which the target device_programs is built.
set -eu
build=$(cd "$1" && pwd) file=$2
source=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
to=$work/attend-cuda
mkdir -p "$to/test" "$to/lib"
while read -r name; do cp "$build/test/$name" "$to/test/"; done <"$build/test/on_devices.txt"
cp "$build/test/conformance_onnx" "$to/test/"
cp "$build/attend" "$build/libattend_cuda.so" "$build/libattend_cuda_double.so" "$to/"
cp "$source/tools/test_cuda.sh" "$source/test/cli/kill.sh" "$to/"
cp "$build/test/on_devices.txt" "$to/test/"
mkdir "$to/golden"
cp "$source"/test/golden/golden/*.golden "$to/golden/" 2>/dev/null || cp "$source"/test/golden/*.golden "$to/golden/"
find "$to" -type f -perm -u+x ! -name '*.sh' -exec strip --strip-unneeded {} +
for program in "$to"/test/* "$to/attend" "$to"/*.so; do ldd "$program" 2>/dev/null || true; done | awk '$3 ~ /^\// { print $3 }' | sort -u |
    grep -v -e '/libc\.so' -e '/libm\.so' -e '/libpthread' -e '/libdl\.' -e '/librt\.' -e '/libcu' -e '/libstdc++' -e '/libgcc_s' |
    while read -r library; do cp -L "$library" "$to/lib/"; done
mkdir -p "$(dirname "$file")"
tar czf "$file" -C "$work" attend-cuda
du -sh "$to" "$file"
