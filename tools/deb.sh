#!/bin/sh
# Usage: tools/deb.sh BUILD DIRECTORY
# Makes Debian packages from the build directory BUILD and writes them to DIRECTORY:
#   attend                           the command
#   libattend0.2, libattend-view0.2  the shared libraries, named after their sonames
#   libattend-dev, libattend-view-dev  headers, static libraries, pkg-config files and CMake package
#   attend-mpi                       the plug-in for several ranks, if BUILD has it
#   attend-cuda                      the plug-in for GPUs, if BUILD has it
#   python3-attend                   the Python package, if BUILD has it
#   attend-dbgsym                    debug information of the command and the shared libraries
# DEBFULLNAME and DEBEMAIL name the maintainer. Root is not needed. The same sources and tools give the same bytes.
set -eu
umask 022
build=$1 directory=$2
source=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$directory"
directory=$(cd "$directory" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
roots=$work/debian # dpkg-shlibdeps finds packages below debian/ by their directories DEBIAN
mkdir "$roots"

number() { sed -n "s/^#define ATTEND_VERSION_$1 //p" "$source/include/attend/version.h"; }
version=$(number MAJOR).$(number MINOR).$(number PATCH)-1
soversion=$(number MAJOR) # as in src/CMakeLists.txt
[ "$soversion" -gt 0 ] || soversion=0.$(number MINOR)
architecture=$(dpkg --print-architecture)
maintainer="${DEBFULLNAME:-The attend authors} <${DEBEMAIL:-attend@example.org}>"
if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
    SOURCE_DATE_EPOCH=$(git -C "$source" log -1 --format=%ct 2>/dev/null || date -r "$source/CHANGELOG.md" +%s)
fi
export SOURCE_DATE_EPOCH

# documents PACKAGE: the documents that every package contains
documents() {
    at=$roots/$1/usr/share/doc/$1
    mkdir -p "$at" "$roots/$1/DEBIAN"
    cp "$source/tools/debian/copyright" "$at/copyright"
    gzip -9nc "$source/CHANGELOG.md" >"$at/changelog.gz"
    gzip -9nc >"$at/changelog.Debian.gz" <<END
attend ($version) unstable; urgency=medium

  * Packed from the sources by make deb; changelog.gz lists the changes.

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
    dpkg-deb --root-owner-group -Zxz --build "$root" "$directory/$1_${version}_$architecture.deb"
}

# fill PACKAGE COMPONENT: installs a component of the build into a package
fill() {
    mkdir -p "$roots/$1/DEBIAN"
    DESTDIR=$roots/$1 cmake --install "$build" --strip --prefix /usr --component "$2" >/dev/null
    documents "$1"
}

fill attend command
fill libattend$soversion library
fill libattend-view$soversion view-library
fill libattend-dev development
fill libattend-view-dev view-development
fill attend-dbgsym debug
if [ -e "$build/attend-mpi.so" ]; then fill attend-mpi mpi; fi
if [ -e "$build/libattend_cuda.so" ]; then fill attend-cuda cuda; fi
if [ -e "$build/python/attend/_core.abi3.so" ]; then
    fill python3-attend python
    mkdir -p "$roots/python3-attend/usr/lib/python3/dist-packages"
    mv "$roots/python3-attend/usr/attend" "$roots/python3-attend/usr/lib/python3/dist-packages/attend"
    examples=$roots/python3-attend/usr/share/doc/python3-attend/examples
    mkdir -p "$examples"
    cp "$source"/examples/python/*.py "$examples"
fi
rm "$roots/attend/usr/share/doc/attend/CHANGELOG.md" # changelog.gz has it
# zsh reads the completions of packages from vendor-completions
zsh=$roots/attend/usr/share/zsh
mv "$zsh/site-functions" "$zsh/vendor-completions"

strip --remove-section=.comment --remove-section=.note "$roots/attend/usr/bin/attend"
find "$roots" -name '*.a' -exec strip --strip-debug --remove-section=.comment --enable-deterministic-archives {} +
find "$roots" -name 'lib*.so.*' -type f -exec strip --strip-unneeded --remove-section=.comment {} + -exec chmod 644 {} +

# The packages of the shared libraries: which package provides which soname, and ldconfig when they are installed or removed.
{
    printf 'Source: attend\n'
    for package in attend libattend$soversion libattend-view$soversion; do printf '\nPackage: %s\nArchitecture: any\n' $package; done
} >"$roots/control"
for name in attend attend-view; do
    echo "lib$name $soversion lib$name$soversion (>= $version)" >"$roots/lib$name$soversion/DEBIAN/shlibs"
    echo "activate-noawait ldconfig" >"$roots/lib$name$soversion/DEBIAN/triggers"
done

# needs PACKAGE FILE [OPTIONS]: the packages of the shared libraries that the file is linked with
needs() {
    package=$1 file=$2
    shift 2
    (cd "$work" && dpkg-shlibdeps "$@" -O -ldebian/libattend$soversion/usr/lib/"$multiarch" "debian/$package/$file" | sed -n 's/^shlibs:Depends=//p')
}
library=$(cd "$roots/libattend$soversion" && find usr -name 'libattend.so.*' -type f)
view_library=$(cd "$roots/libattend-view$soversion" && find usr -name 'libattend-view.so.*' -type f)
multiarch=$(dirname "$library" | sed 's,^usr/lib/*,,')

# libraries PATTERN: the development packages of attend's build whose names match, separated by commas. xxhash is compiled in; microhttpd is the command's.
libraries() {
    sed -n 's/^build //p' "$source/packages.txt" | tr -s ' ' '\n' | grep -e '-dev$' | grep -v 'xxhash\|microhttpd' | grep $1 'pango\|cairo' | paste -s -d , | sed 's/,/, /g'
}

pack attend science "$(needs attend usr/bin/attend)" "sequence-to-sequence with attention
 Trains a model on a file of pairs of lines and translates, scores, aligns and
 evaluates with it: sentences and their translations, words and their
 pronunciations, and other pairs of lines. It runs on the CPU. The result does
 not depend on the number of threads."
pack libattend$soversion libs "$(needs libattend$soversion "$library")" "sequence-to-sequence with attention, shared library
 Programs that use attend's C library need this package."
pack libattend-view$soversion libs "$(needs libattend-view$soversion "$view_library")" "attention maps as pictures, shared library
 Programs that draw attention maps as SVG or PNG with attend's C library
 need this package."
pack libattend-dev libdevel "libattend$soversion (= $version), $(libraries -v)" "sequence-to-sequence with attention, for C programs
 The library of the command attend, with headers, pkg-config files and CMake
 package: tensors and a tape for automatic differentiation, attention on plain
 arrays, encoder-decoder models, beam search, metrics and training."
pack libattend-view-dev libdevel "libattend-dev (= $version), libattend-view$soversion (= $version), $(libraries -e)" "attention maps as pictures, for C programs
 Draws attention maps as SVG and PNG with cairo and pango."
if [ -e "$build/attend-mpi.so" ]; then
    plugin=$(cd "$roots/attend-mpi" && find usr -name attend-mpi.so)
    strip --strip-unneeded --remove-section=.comment "$roots/attend-mpi/$plugin"
    chmod 644 "$roots/attend-mpi/$plugin"
    pack attend-mpi science "attend (= $version), openmpi-bin, $(needs attend-mpi "$plugin")" "training on several machines, MPI plug-in of attend
 With this package, mpirun and srun start attend on several machines, which
 train one model together. The result does not depend on their number."
fi
if [ -e "$build/libattend_cuda.so" ]; then
    plugin=$(cd "$roots/attend-cuda" && find usr -name libattend_cuda.so)
    strip --strip-unneeded --remove-section=.comment "$roots/attend-cuda/$plugin"
    chmod 644 "$roots/attend-cuda/$plugin"
    # cuBLAS is not in Debian unless the toolkit is Debian's: then the package depends on it
    libraries=$(dirname "$(sed -n 's/^ATTEND_CUBLAS:FILEPATH=//p' "$build/CMakeCache.txt")")
    cublas=$(cd "$roots/attend-cuda" && readelf -d "$plugin" | sed -n 's/.*(NEEDED).*\[\(libcublas\.so.*\)\]/\1/p')
    pack attend-cuda science "attend (= $version), $(needs attend-cuda "$plugin" --ignore-missing-info "-l$libraries")" "training and translation on NVIDIA GPUs, plug-in of attend
 With this package, the command attend and programs that use its library
 compute on a GPU. It needs an NVIDIA driver and cuBLAS ($cublas), which
 NVIDIA distributes."
fi
if [ -d "$roots/python3-attend" ]; then
    modules=usr/lib/python3/dist-packages/attend
    strip --strip-unneeded --remove-section=.comment "$roots/python3-attend/$modules"/*.so
    chmod 644 "$roots/python3-attend/$modules"/*.so
    # bytecode is made when the package is installed
    cat >"$roots/python3-attend/DEBIAN/postinst" <<'END'
#!/bin/sh
set -e
if [ "$1" = configure ] && command -v py3compile >/dev/null; then py3compile -p python3-attend; fi
END
    cat >"$roots/python3-attend/DEBIAN/prerm" <<'END'
#!/bin/sh
set -e
if command -v py3clean >/dev/null; then py3clean -p python3-attend; fi
END
    chmod 755 "$roots/python3-attend/DEBIAN/postinst" "$roots/python3-attend/DEBIAN/prerm"
    pack python3-attend python "python3 (>= 3.11), $(needs python3-attend "$modules/_core.abi3.so")" "sequence-to-sequence with attention, for Python
 Translates, trains, scores and aligns as the command attend does, and
 computes attention on arrays. Arrays share their memory with NumPy and
 PyTorch, and neither is needed."
fi
pack attend-dbgsym debug "attend (= $version) | libattend$soversion (= $version)" "debug information of attend and its libraries
 Debuggers find it by the build IDs of the command attend and of the shared
 libraries libattend and libattend-view."
