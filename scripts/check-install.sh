#!/bin/sh
# Installs a build into a scratch prefix and uses it as a stranger would: scripts/check-install.sh BUILD_DIRECTORY
set -eu
cd "$(dirname "$0")/.."
build=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

# check NAME COMMAND...: the command's output is shown only when it fails.
check() {
    name=$1
    shift
    if "$@" >"$work/log" 2>&1; then
        passed=$((passed + 1))
        echo "ok   install/$name"
    else
        failed=$((failed + 1))
        sed 's/^/  /' "$work/log"
        echo "FAIL install/$name"
    fi
}

prefix=$work/prefix
places=$(printf '%s\n' lib lib64 "lib/$(cc -dumpmachine)") # where systems put libraries below a prefix
library_path=$(printf '%s\n' "$places" | sed "s|^|$prefix/|" | paste -sd : -)
PKG_CONFIG_PATH=$(printf '%s\n' "$places" | sed "s|.*|$prefix/&/pkgconfig|" | paste -sd : -)
export PKG_CONFIG_PATH
want='ingot [0-9.]*: -8.0 7.0'

with_pkg_config() { # $1 program source, $2 package, $3 expected output
    # shellcheck disable=SC2046
    cc -std=c11 "tests/link/$1" -o "$work/$2" $(pkg-config --cflags --libs "$2") &&
        LD_LIBRARY_PATH=$library_path "$work/$2" | tee "$work/out" && grep -q "$3" "$work/out"
}
with_find_package() {
    cmake -S tests/link -B "$work/link" -DCMAKE_PREFIX_PATH="$prefix" && cmake --build "$work/link" &&
        "$work/link/link_test" | tee "$work/out" && grep -q "$want" "$work/out"
}
needs_no_engine() { ! pkg-config --libs --static ingot | grep -E 'pcre2|utf8proc|engine'; }
# Each public header alone, as C11 and as C++11.
headers_alone() {
    for header in "$prefix"/include/ingot/*.h; do
        cc -std=c11 -Wall -Wextra -Wpedantic -Werror -I"$prefix/include" -fsyntax-only "$header" || return 1
    done
}
headers_in_cxx() {
    for header in "$prefix"/include/ingot/*.h; do
        echo "#include \"$header\"" >"$work/one.cc"
        ${CXX:-c++} -std=c++11 -Wall -Wextra -Wpedantic -Werror -I"$prefix/include" -fsyntax-only "$work/one.cc" || return 1
    done
}

check "into a scratch prefix" cmake --install "$build" --prefix "$prefix"
check "public headers stand alone in C" headers_alone
skipped=0
if command -v "${CXX:-c++}" >/dev/null 2>&1; then
    check "public headers stand alone in C++" headers_in_cxx
else
    skipped=1
    echo "skip install/public headers stand alone in C++: no C++ compiler"
fi
check "libingot alone through pkg-config" with_pkg_config main.c ingot "$want"
check "libingot needs nothing of the engine" needs_no_engine
check "libingot alone through find_package" with_find_package
check "libingot-engine through pkg-config" with_pkg_config engine.c ingot-engine 'missing.gguf'
check "the program starts" "$prefix/bin/ingot" --help
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
