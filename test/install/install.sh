#!/bin/sh
# install.sh BUILD EXAMPLES MODEL: installs what is in BUILD, and builds and runs programs with it, by pkg-config and by CMake. MODEL reverses a line (examples/train_reversal.sh).
set -eu
build=$1 examples=$2 model=$3 here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
prefix="$folder/a place"
cmake --install "$build" --prefix "$prefix" >/dev/null

for file in bin/attend share/man/man1/attend.1.gz share/man/man1/attend-train.1.gz share/bash-completion/completions/attend \
    share/zsh/site-functions/_attend share/fish/vendor_completions.d/attend.fish share/doc/attend/README.md \
    share/doc/attend/LICENSE share/doc/attend/docs/training.md include/attend/attend.h; do
    [ -s "$prefix/$file" ] || { echo "$file is not installed"; exit 1; }
done
"$prefix/bin/attend" --version >/dev/null

# by pkg-config; a prefix with a blank in it comes with a backslash, which eval takes away
library=$(find "$prefix" -name attend.pc)
export PKG_CONFIG_PATH="${library%/*}"
eval "cc -std=c11 '$examples/embed.c' $(pkg-config --cflags --libs attend) -o '$folder/embed'"
[ "$("$folder/embed" "$model" "a b c")" = "c b a
   2-0 1-1 0-2" ] || { echo "embed printed another translation"; exit 1; }
eval "cc -std=c11 '$examples/own_score.c' $(pkg-config --cflags --libs attend_double) -o '$folder/own_score'"
"$folder/own_score" >/dev/null

# by CMake, from where it was moved to: nothing in the package knows its place
unset PKG_CONFIG_PATH
mv "$prefix" "$folder/moved"
cmake -S "$here" -B "$folder/outside" -DCMAKE_PREFIX_PATH="$folder/moved" -DEXAMPLES="$examples" >"$folder/log" 2>&1 &&
    cmake --build "$folder/outside" >>"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
"$folder/outside/three_arrays" >/dev/null
"$folder/outside/own_score_check" >/dev/null

# into DESTDIR, for packages: the prefix stays what it is
DESTDIR="$folder/root" cmake --install "$build" --prefix /usr >/dev/null
grep -q '^prefix=/usr$' "$(find "$folder/root" -name attend.pc)" || { echo "attend.pc has another prefix than /usr"; exit 1; }
