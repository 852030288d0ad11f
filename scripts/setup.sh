#!/bin/sh
# Makes sure that what Ingot needs is installed:  scripts/setup.sh [build] [check]
#   build  what the program needs to build       check  what the tests need on top
# On Debian and Ubuntu missing packages are installed (as root, or through sudo); elsewhere they are named.
set -eu

packages_build="gcc libc6-dev make cmake pkg-config libpcre2-dev libutf8proc-dev libxxhash-dev libjansson-dev libedit-dev python3 python3-pip"
packages_check="clang libclang-rt-dev"

has_library() { pkg-config --exists "$1" 2>/dev/null; }

# Prints what is missing of one group, by the name a person would look for.
missing_of() {
    case $1 in
    build)
        # The version that CMakeLists.txt asks for.
        if command -v cmake >/dev/null 2>&1; then
            newest=$(printf '3.25\n%s\n' "$(cmake --version | sed -n '1s/[^0-9]*//p')" | sort -V | tail -n 1)
            [ "$newest" != 3.25 ] || cmake --version | grep -q '3\.25' || echo "CMake 3.25 or later"
        fi
        for tool in cc make cmake pkg-config python3; do command -v $tool >/dev/null 2>&1 || echo $tool; done
        python3 -m pip --version >/dev/null 2>&1 || echo "pip for python3"
        for library in libpcre2-8 libutf8proc libxxhash jansson libedit; do has_library $library || echo "$library (with headers)"; done
        ;;
    check)
        # libFuzzer comes in a package of its own.
        echo 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return d && !n; }' |
            clang -fsanitize=fuzzer -x c - -o /dev/null 2>/dev/null || echo "clang with libFuzzer"
        ;;
    *)
        echo "setup.sh: unknown group '$1' (build, check)" >&2
        exit 2
        ;;
    esac
}

missing() { for group in "$@"; do missing_of "$group"; done; }
one_line() { printf '%s' "$1" | tr '\n' ',' | sed 's/,/, /g'; }

[ $# -gt 0 ] || set -- build
lacking=$(missing "$@")
[ -n "$lacking" ] || exit 0

if ! command -v apt-get >/dev/null 2>&1; then
    echo "setup.sh: cannot install packages on this system; please install: $(one_line "$lacking")" >&2
    exit 1
fi
if [ "$(id -u)" = 0 ]; then
    sudo=""
elif command -v sudo >/dev/null 2>&1; then
    sudo=sudo
else
    echo "setup.sh: neither root nor sudo here; please install: $(one_line "$lacking")" >&2
    exit 1
fi

packages=""
for group in "$@"; do
    case $group in
    build) packages="$packages $packages_build" ;;
    check) packages="$packages $packages_check" ;;
    esac
done
echo "==> installing what is missing: $(one_line "$lacking")"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install() { $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $packages >"$log" 2>&1; }
# The lists of a fresh system are empty or old: fetch them when the first try fails.
if ! install; then
    $sudo apt-get update >>"$log" 2>&1 || true
    install || { tail -n 5 "$log" >&2; echo "setup.sh: apt-get could not install:$packages" >&2; exit 1; }
fi
lacking=$(missing "$@")
[ -z "$lacking" ] || { echo "setup.sh: still missing after the installation: $(one_line "$lacking")" >&2; exit 1; }
