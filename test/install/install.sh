#!/bin/sh
# install.sh BUILD EXAMPLES MODEL: installs what is in BUILD, checks the installed files, and builds and runs programs with them by pkg-config and by CMake,
# with shared and static libraries, with and without pictures. MODEL reverses a line (examples/train_reversal.sh).
set -eu
build=$1 examples=$2 model=$3 here=$(cd "$(dirname "$0")" && pwd)
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
prefix="$directory/a prefix"
fail() {
    echo "$1"
    exit 1
}
cmake --install "$build" --strip --prefix "$prefix" >/dev/null

for file in bin/attend share/man/man1/attend.1.gz share/man/man1/attend-train.1.gz share/bash-completion/completions/attend \
    share/zsh/site-functions/_attend share/fish/vendor_completions.d/attend.fish share/doc/attend/README.md \
    share/doc/attend/LICENSE share/doc/attend/docs/training.md include/attend/attend.h include/attend/picture.h; do
    [ -s "$prefix/$file" ] || fail "$file is not installed"
done
"$prefix/bin/attend" --version >/dev/null
libraries=$(dirname "$(find "$prefix" -name libattend.so)")

# ---- the shared libraries: sonames, exports, sizes ----

# versions 0.x may be incompatible with each other: libattend.so.0.2, and from 1.0 on libattend.so.1
soversion=$("$prefix/bin/attend" --version | sed 's/^attend //; s/^\(0\.[0-9]*\)\..*/\1/; s/^\([1-9][0-9]*\)\..*/\1/')
for name in attend attend-view; do
    objdump -p "$libraries/lib$name.so" | grep -q "SONAME *lib$name.so.$soversion\$" || fail "lib$name.so has another soname than lib$name.so.$soversion"
done
# exported: what the public headers declare, and nothing else
cat "$prefix"/include/attend/*.h | grep -o 'attend_[a-z0-9_]*' | sort -u >"$directory/declared"
nm -D --defined-only "$libraries/libattend.so" "$libraries/libattend-view.so" | sed -n 's/^[0-9a-f]* [TDRB] \([^@]*\).*/\1/p' | sort -u >"$directory/exported"
[ "$(comm -13 "$directory/declared" "$directory/exported")" = "" ] || fail "exported, and in no public header: $(comm -13 "$directory/declared" "$directory/exported")"
sed -n 's/^    \(attend_[a-z0-9_]*\);$/\1/p' "$build/src/attend.map" "$build/src/attend-view.map" | sort -u >"$directory/listed"
[ "$(comm -23 "$directory/listed" "$directory/exported")" = "" ] || fail "declared, and not exported: $(comm -23 "$directory/listed" "$directory/exported")"

# small FILE: under 2 MB
small() {
    size=$(wc -c <"$1")
    echo "$(basename "$1"): $size bytes"
    [ "$size" -lt 2000000 ] || fail "$1 has $size bytes, 2 MB or more"
}
# links FILE yes|no: whether it needs cairo and pango
links() {
    ldd "$1" >"$directory/ldd"
    ! grep -q 'not found' "$directory/ldd" || fail "$1 does not find its libraries: $(cat "$directory/ldd")"
    found=no
    if grep -q 'libcairo\|libpango' "$directory/ldd"; then found=yes; fi
    [ $found = "$2" ] || fail "$1 is linked with cairo or pango: $found, expected $2"
}
small "$prefix/bin/attend"
small "$libraries/libattend.so"
links "$libraries/libattend.so" no
links "$libraries/libattend-view.so" yes

# translates PROGRAM: examples/embed.c
translates() {
    [ "$("$1" "$model" "a b c")" = "c b a
   2-0 1-1 0-2" ] || fail "$1 printed another translation"
}

# ---- by pkg-config; it escapes a space in the prefix by a backslash, which eval removes ----

export PKG_CONFIG_PATH="$libraries/pkgconfig" LD_LIBRARY_PATH="$libraries"
build_with() { # OUTPUT SOURCE MODULE, shared
    eval "cc -std=c11 '$2' $(pkg-config --cflags --libs "$3") -o '$directory/$1'"
}
build_static() { # OUTPUT SOURCE MODULE
    flags=$(pkg-config --static --cflags --libs "$3" | sed 's/-lattend-view/-l:libattend-view.a/; s/-lattend /-l:libattend.a /')
    eval "cc -std=c11 '$2' $flags -Wl,--gc-sections,--as-needed -s -o '$directory/$1'"
}
build_with embed "$examples/embed.c" attend
build_static embed_static "$examples/embed.c" attend
build_with draw "$here/draw.c" attend-view
build_static draw_static "$here/draw.c" attend-view
build_with own_score "$examples/own_score.c" attend_double

# a score plug-in, with the installed headers and the installed command
eval "cc -std=c11 -shared -fPIC '$examples/l2_score.c' $(pkg-config --cflags attend) -o '$directory/l2.so'"
"$prefix/bin/attend" info "$model" --score-plugin "$directory/l2.so" >/dev/null || fail "the installed command does not load a score plug-in"
for program in embed embed_static; do
    translates "$directory/$program"
    links "$directory/$program" no
    small "$directory/$program"
done
for program in draw draw_static; do
    "$directory/$program"
    links "$directory/$program" yes
done
ldd "$directory/embed" | grep -q "libattend\.so\.$soversion" || fail "embed is not linked with libattend.so.$soversion"
ldd "$directory/embed_static" | grep -q 'libattend' && fail "embed_static is linked with a shared libattend"
"$directory/own_score" >/dev/null
unset PKG_CONFIG_PATH LD_LIBRARY_PATH

# ---- by CMake, from another directory: no installed file contains the path of its prefix ----

mv "$prefix" "$directory/moved"
cmake -S "$here" -B "$directory/outside" -DCMAKE_PREFIX_PATH="$directory/moved" -DEXAMPLES="$examples" >"$directory/log" 2>&1 &&
    cmake --build "$directory/outside" >>"$directory/log" 2>&1 || fail "$(cat "$directory/log")"
translates "$directory/outside/embed_attend"
translates "$directory/outside/embed_attend_static"
links "$directory/outside/embed_attend" no
links "$directory/outside/embed_attend_static" no
"$directory/outside/draw_view"
"$directory/outside/draw_view_static"
"$directory/outside/own_score_check" >/dev/null

# ---- into DESTDIR, for packages: the prefix in attend.pc is that of the package; debug information is a component of its own ----

DESTDIR="$directory/root" cmake --install "$build" --strip --prefix /usr >/dev/null
grep -q '^prefix=/usr$' "$(find "$directory/root" -name attend.pc)" || fail "attend.pc has another prefix than /usr"
[ ! -e "$directory/root/usr/lib/debug" ] || fail "debug information is installed without being asked for"
DESTDIR="$directory/root" cmake --install "$build" --prefix /usr --component debug >/dev/null
[ "$(find "$directory/root/usr/lib/debug/.build-id" -name '*.debug' | wc -l)" = 3 ] || fail "not every program has its debug information"
