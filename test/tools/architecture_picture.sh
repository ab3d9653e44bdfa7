#!/bin/sh
# architecture_picture.sh PYTHON ROOT: docs/pictures/architecture.svg is what tools/make_architecture_picture.py writes, and --help writes no file.
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
"$1" -B "$2/tools/make_architecture_picture.py" picture.svg || exit 1
cmp picture.svg "$2/docs/pictures/architecture.svg" || exit 1
"$1" -B "$2/tools/make_architecture_picture.py" --help 2>/dev/null
[ "$(ls)" = picture.svg ] || { echo "--help wrote a file: $(ls)"; exit 1; }
