#!/usr/bin/env bash
# Installs what the tests need, builds, runs all tests. The last line is "N passed, N failed, N skipped"; exit code 0
# when nothing failed. Safe to repeat. Logs are in build/check/.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

jobs=$(nproc 2>/dev/null || echo 2)
fuzz_seconds=${INGOT_FUZZ_SECONDS:-30}
logs=build/check
passed=0 failed=0 skipped=0 began=$SECONDS

mkdir -p "$logs"
trap 'echo; echo "check.sh: interrupted" >&2; exit 130' INT TERM

summary() {
    echo "==> all stages took $((SECONDS - began)) s"
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" = 0 ]
    exit
}

ok() { passed=$((passed + 1)); echo "ok   $1 ($2 s)"; }
fail() { failed=$((failed + 1)); echo "FAIL $1"; }
skip() { skipped=$((skipped + 1)); echo "skip $1: $2"; }

# one NAME COMMAND...: a command that is one test. Its output is shown when it fails.
one() {
    local name=$1 start=$SECONDS log
    log=$logs/${name//[^a-z0-9]/-}.log
    shift
    if "$@" >"$log" 2>&1; then
        ok "$name" $((SECONDS - start))
        return 0
    fi
    tail -n 40 "$log" | sed 's/^/  /'
    fail "$name"
    return 1
}

# many NAME COMMAND...: a command that counts its own tests and ends with their line. Passed tests are not shown.
many() {
    local name=$1 start=$SECONDS log rc line
    log=$logs/${name//[^a-z0-9]/-}.log
    shift
    "$@" 2>&1 | tee "$log" | grep --line-buffered -Ev '^ok  '
    rc=${PIPESTATUS[0]}
    line=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$log" | tail -n 1)
    if [ -z "$line" ]; then
        tail -n 20 "$log" | sed 's/^/  /'
        fail "$name ended without counting its tests (exit code $rc)"
        return 1
    fi
    local p f s
    read -r p _ f _ s _ <<<"$line"
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    [ "$rc" = 0 ] || [ "$f" -gt 0 ] || fail "$name: exit code $rc although no test failed"
    echo "==> $name: $((SECONDS - start)) s"
}

build() { # $1 preset, then options
    local preset=$1
    shift
    cmake --preset "$preset" "$@" && cmake --build "build${preset:+-$preset}" -j "$jobs"
}
build_release() { cmake --preset release && cmake --build build -j "$jobs"; }
no_warnings() { ! grep -n 'warning:' "$logs/build-release.log"; }

runner_tells_outcomes_apart() {
    { build/ingot-selftest --timeout 1 || true; } | grep -v '^  ' | sed 's/ ([0-9.]* s)$//' | diff - tests/selftest/expected.txt
}

run_fuzz() { # $1 target
    local corpus=build-fuzz/corpus-$1 seeds=tests/fuzz/seeds/$1
    mkdir -p "$corpus"
    [ -d "$seeds" ] || seeds=""
    "build-fuzz/$1" -max_total_time="$fuzz_seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="$logs/" "$corpus" $seeds
}

echo "==> system packages"
scripts/setup.sh build || { fail "setup/build"; summary; }
clang=true
scripts/setup.sh check || clang=false

echo "==> test models"
for model in smollm2 gemma3-270m; do one "models/$model" scripts/get-model.sh $model; done

echo "==> release build"
one "build/release" build_release || summary
one "build/no warnings" no_warnings

echo "==> structure"
one "includes/planted violations are found" scripts/check-includes.py --self-test
one "includes/only allowed arrows" scripts/check-includes.py
one "runner/outcomes are told apart" runner_tells_outcomes_apart
many "installed package" scripts/check-install.sh build

echo "==> tests in C"
many "tests in C" build/ingot-tests
# The case tables of kernels go through all levels by themselves; this runs on the lower ones what is above the kernels.
for level in $(build/ingot-tests --levels | sed '$d'); do
    many "tests in C at level $level" build/ingot-tests --level "$level" -f cache/ -f model/ -f engine/ \
        -x "resident bytes" # counts memory: slow in plain C, and the same at each level
done

echo "==> tests of the program"
many "tests of the program" python3 tests/cli/run.py

echo "==> sanitizers"
if one "build/sanitize" build sanitize; then
    many "tests in C under sanitizers" build-sanitize/ingot-tests --timeout 600 -x "resident bytes" # counts memory, slowly
    many "bad input to the program under sanitizers" python3 tests/cli/run.py --program build-sanitize/ingot \
        -f cli/hostile -f cli/input -f cli/usage -f cli/output
fi

echo "==> fuzzing, $fuzz_seconds s each"
if $clang; then
    if one "build/fuzz (clang)" build fuzz -DINGOT_WERROR=ON; then
        for source in tests/fuzz/fuzz_*.c; do
            target=$(basename "$source" .c)
            one "fuzz/$target" run_fuzz "$target"
        done
    fi
else
    skip "fuzz" "no clang with libFuzzer here"
fi

echo "==> planted faults"
many "planted faults" python3 tests/faults/run.py

summary
