#!/bin/sh
# Usage: tools/packages.sh PURPOSE...
# Installs the missing ones of the Debian packages that packages.txt lists for these purposes. If this needs a password,
# prints the command to run instead.
set -eu
list=$(dirname "$0")/../packages.txt
wanted=""
for purpose in "$@"; do
    packages=$(sed -n "s/^$purpose  *//p" "$list")
    if [ -z "$packages" ]; then
        echo "attend: packages.txt has no line '$purpose'" >&2
        exit 2
    fi
    wanted="$wanted $packages"
done

if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "attend: this is not a Debian system; install the equivalents of these packages:" $wanted >&2
    exit 0
fi

missing=""
for package in $wanted; do
    case $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true) in
    installed*) ;;
    *) missing="$missing $package" ;;
    esac
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ]; then
    as_root=""
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    as_root="sudo"
else
    echo "attend: packages are missing and installing them takes an administrator. Please run, as root:" >&2
    echo "    apt-get update && apt-get install -y$missing" >&2
    exit 1
fi

echo "attend: installing$missing" >&2
$as_root apt-get update -qq
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
