#!/bin/sh
# Usage: tools/deb.sh BUILD FOLDER
# Packs what is built in BUILD as Debian packages in FOLDER: attend (the command) and libattend-dev (the library, for programs). DEBFULLNAME and
# DEBEMAIL say who made them. No root is needed; the same sources and tools give the same bytes.
set -eu
umask 022
build=$1 folder=$2
source=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
roots=$work/debian # where dpkg-shlibdeps looks for them, by their folder DEBIAN
mkdir "$roots"

version=$(sed -n 's/^project(attend VERSION \([0-9.]*\).*/\1/p' "$source/CMakeLists.txt")-1
architecture=$(dpkg --print-architecture)
maintainer="${DEBFULLNAME:-The attend authors} <${DEBEMAIL:-attend@example.org}>"
if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
    SOURCE_DATE_EPOCH=$(git -C "$source" log -1 --format=%ct 2>/dev/null || date -r "$source/CHANGELOG.md" +%s)
fi
export SOURCE_DATE_EPOCH

# documents PACKAGE: those that every package has
documents() {
    at=$roots/$1/usr/share/doc/$1
    mkdir -p "$at" "$roots/$1/DEBIAN"
    cp "$source/tools/debian/copyright" "$at/copyright"
    gzip -9nc "$source/CHANGELOG.md" >"$at/changelog.gz"
    gzip -9nc >"$at/changelog.Debian.gz" <<END
attend ($version) unstable; urgency=medium

  * Packed from the sources by make deb; changelog.gz says what is new.

 -- $maintainer  $(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")
END
}

# pack PACKAGE SECTION DEPENDS DESCRIPTION: control file, sums, package
pack() {
    root=$roots/$1
    size=$(du -k -s --apparent-size --exclude=DEBIAN "$root" | cut -f 1)
    cat >"$root/DEBIAN/control" <<END
Package: $1
Source: attend
Version: $version
Architecture: $architecture
Maintainer: $maintainer
Installed-Size: $size
Depends: $3
Section: $2
Priority: optional
Description: $4
END
    (cd "$root" && find usr -type f | LC_ALL=C sort | xargs md5sum) >"$root/DEBIAN/md5sums"
    find "$root" -newermt "@$SOURCE_DATE_EPOCH" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
    dpkg-deb --root-owner-group -Zxz --build "$root" "$folder/$1_${version}_$architecture.deb"
}

DESTDIR=$roots/attend cmake --install "$build" --prefix /usr --component command >/dev/null
DESTDIR=$roots/libattend-dev cmake --install "$build" --prefix /usr --component development >/dev/null
documents attend
documents libattend-dev
rm "$roots/attend/usr/share/doc/attend/CHANGELOG.md" # which is changelog.gz
# zsh reads what packages bring from vendor-completions
zsh=$roots/attend/usr/share/zsh
mv "$zsh/site-functions" "$zsh/vendor-completions"

strip --remove-section=.comment --remove-section=.note "$roots/attend/usr/bin/attend"
find "$roots/libattend-dev" -name '*.a' -exec strip --strip-debug --remove-section=.comment --enable-deterministic-archives {} +

# What the command needs, by the libraries it is linked with.
printf 'Source: attend\n\nPackage: attend\nArchitecture: any\n' >"$roots/control"
needs=$(cd "$work" && dpkg-shlibdeps -O debian/attend/usr/bin/attend | sed -n 's/^shlibs:Depends=//p')

# What a program that links the library needs: what attend itself is built with, but for what is compiled in.
development=$(sed -n 's/^build //p' "$source/packages.txt" | tr -s ' ' '\n' | grep -e '-dev$' | grep -v xxhash | paste -s -d , | sed 's/,/, /g')

pack attend science "$needs" "sequence-to-sequence with attention
 Takes a file of pairs, trains a model that turns the one side into the
 other, and translates, scores, aligns and evaluates with it: translations,
 pronunciations, whatever comes as lines. It runs on the CPU and gives the
 same result on any number of threads."
pack libattend-dev libdevel "$development" "sequence-to-sequence with attention, for C programs
 The library the command attend is made of, static, with its headers,
 pkg-config files and CMake package: tensors and a tape that differentiates,
 attention with any score and window on plain arrays, encoder-decoder models,
 beam search, metrics and training."
