#!/bin/sh
# Usage: tools/check_deb.sh DIRECTORY
# Installs the packages in DIRECTORY in a new minimal Debian and tests them there: the command trains and translates, and programs are built with
# the libraries; attend-mpi and python3-attend, if they were made, train and translate, too. Needs root and a network. MIRROR and SUITE select the
# Debian to install; ROOT is a directory for it that is kept and reused.
set -eu
debs=$1
source=$(cd "$(dirname "$0")/.." && pwd)
suite=${SUITE:-bookworm}
root=${ROOT:-}
if [ -z "$root" ]; then
    root=$(mktemp -d)
    chmod 755 "$root"
    trap 'rm -rf --one-file-system "$root"' EXIT
fi
[ -e "$root/bin/sh" ] || debootstrap --variant=minbase "$suite" "$root" ${MIRROR:+"$MIRROR"} >"$root.log" 2>&1 || {
    tail "$root.log"
    exit 1
}
rm -f "$root.log"

inside() {
    chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
}

mkdir -p "$root/packages"
cp "$debs"/*.deb "$source/examples/three_arrays.c" "$root/packages"
inside apt-get update -qq
inside sh -c 'apt-get install -y -qq --no-install-recommends /packages/attend_*.deb >/dev/null'
inside attend --version
inside attend --help >/dev/null
inside dpkg --verify attend
inside test -e /usr/lib/systemd/system/attend.service

# Training pairs: words in lower case and in upper case.
pairs() {
    awk -v count="$1" -v seed="$2" 'BEGIN {
        srand(seed)
        for (i = 0; i < count; i++) {
            word = ""
            for (n = 2 + int(5 * rand()); n > 0; n--) word = word substr("abcdefgh", 1 + int(8 * rand()), 1)
            print word "\t" toupper(word)
        }
    }'
}
pairs 2000 1 >"$root/packages/train.tsv"
pairs 100 2 >"$root/packages/valid.tsv"
cut -f 2 "$root/packages/valid.tsv" >"$root/packages/right"
inside sh -c 'cd /packages && rm -f m m.* &&
    attend train --train train.tsv --valid valid.tsv --model m --tokens char --hidden 64 --embedding 32 --learning-rate 0.005 --updates 4000 --quiet &&
    cut -f 1 valid.tsv | attend translate --model m >translated'
right=$(paste "$root/packages/right" "$root/packages/translated" | awk '$1 == $2' | wc -l)
echo "attend learned $right of 100 words"
[ "$right" -ge 80 ]

if ls "$debs"/attend-mpi_*.deb >/dev/null 2>&1; then
    inside sh -c 'apt-get install -y -qq --no-install-recommends /packages/attend-mpi_*.deb openmpi-bin >/dev/null'
    # two ranks on a machine of any number of cores; the chroot may have neither ssh nor a user but root
    inside sh -c 'cd /packages && rm -f one one.* two two.* &&
        export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_plm_rsh_agent= OMPI_MCA_rmaps_base_oversubscribe=1 &&
        options="--train train.tsv --valid valid.tsv --tokens char --hidden 32 --updates 20 --threads 1 --quiet" &&
        attend train $options --model one && timeout 300 mpirun -n 2 attend train $options --model two &&
        cmp one two && cmp one.checkpoint two.checkpoint &&
        cut -f 1 valid.tsv >lines && timeout 300 mpirun -n 2 attend translate --model m --input lines --quiet | cmp - translated'
    inside dpkg --verify attend-mpi
    inside apt-get purge -y -qq attend-mpi openmpi-bin >/dev/null
    inside apt-get autoremove -y -qq >/dev/null
    echo "attend-mpi: two ranks train and translate as one process does"
fi

if ls "$debs"/python3-attend_*.deb >/dev/null 2>&1; then
    inside sh -c 'apt-get install -y -qq --no-install-recommends /packages/python3-attend_*.deb >/dev/null'
    inside sh -c 'cd /packages && cut -f 1 valid.tsv | python3 -c "
import sys, attend
for t in attend.Model.load(\"m\").translate(sys.stdin.read().splitlines()): print(t.text)" | cmp - translated'
    inside sh -c 'cd /packages && rm -f p p.* && python3 -c "
import attend
attend.train(\"train.tsv\", \"p\", valid=\"valid.tsv\", tokens=\"char\", hidden=32, updates=20, threads=1)
assert len(attend.Model.load(\"p\").translate([\"abc\", \"d\"])) == 2"'
    inside dpkg --verify python3-attend
    inside apt-get purge -y -qq python3-attend >/dev/null
    echo "python3-attend trains, and translates as the command does"
fi

# A program that does not draw needs cairo and pango neither at build time nor at run time.
inside dpkg --purge attend >/dev/null
inside apt-get autoremove -y -qq >/dev/null
inside sh -c 'apt-get install -y -qq --no-install-recommends gcc libc6-dev pkg-config /packages/libattend[0-9]*.deb /packages/libattend-dev_*.deb >/dev/null'
inside sh -c 'cd /packages && gcc three_arrays.c $(pkg-config --cflags --libs attend) -lm && ./a.out >/dev/null && ldd a.out | grep -q "libattend\.so\." &&
    ! dpkg -l | grep -E "^ii +lib(cairo|pango)"'
echo "a program is built with libattend-dev and runs, without cairo and pango"
inside sh -c 'apt-get install -y -qq --no-install-recommends /packages/libattend-view*.deb >/dev/null'
inside sh -c 'cd /packages && pkg-config --cflags --libs attend-view >/dev/null'
inside sh -c 'dpkg --purge $(dpkg-query -f "\${Package} " -W "libattend*")' >/dev/null
[ ! -e "$root/usr/bin/attend" ] && [ ! -e "$root/usr/share/doc/attend" ] && ! ls "$root"/usr/lib/*/libattend* 2>/dev/null
echo "the packages leave nothing behind when they are removed"
