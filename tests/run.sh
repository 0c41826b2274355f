#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test:   tests/run.sh [release|dev|tsan|fuzz]...
#
# Without arguments: release (all tests, the ones on a real llama-server included), dev (address and
# undefined-behaviour sanitizers; all but those), and fuzz (each fuzzer for 30 s; skipped where
# clang 19 cannot be had). The real llama-server is unpacked into build/
# without installing it, or is the one that REAL_LLAMA_SERVER names; where there is none, the tests
# that need it are reported as skipped; so it is with varnishtest.
set -euo pipefail
cd "$(dirname "$0")/.."

presets=("$@")
[ ${#presets[@]} -gt 0 ] || presets=(release dev fuzz)
for preset in "${presets[@]}"; do
    case $preset in
    release | dev | tsan | fuzz) ;;
    *) echo "usage: tests/run.sh [release|dev|tsan|fuzz]..." >&2; exit 2 ;;
    esac
done

step() { printf '\n== %s (%s s)\n' "$1" "$SECONDS"; }

step "packages"
packaging/install-packages test

step "llama-server"
if [ -z "${REAL_LLAMA_SERVER:-}" ]; then
    export REAL_LLAMA_SERVER=$PWD/build/llama/llama-server
    tests/support/get-llama-server build/llama ||
        echo "no llama-server could be had: the tests that need one are skipped"
fi

step "varnishtest"
if [ -z "${VARNISHTEST:-}" ]; then
    if tests/support/get-varnishtest build/varnishtest; then
        export VARNISHTEST=$PWD/build/varnishtest/varnishtest
    else
        echo "no varnishtest could be had: the test that needs it is skipped"
    fi
fi

# Other versions lay out some lines differently.
if [ -e .git ] && [[ $(clang-format --version 2>/dev/null) == *"version 14."* ]]; then
    step "format"
    git ls-files '*.hpp' '*.cpp' | xargs clang-format --dry-run -Werror
fi

skipped=()
for preset in "${presets[@]}"; do
    if [ "$preset" = fuzz ]; then
        step "fuzz"
        if packaging/install-packages fuzz; then
            tests/fuzz/run.sh 30
        else
            skipped+=("    the fuzzers: no clang 19")
        fi
        continue
    fi
    step "build $preset"
    # Several files at a time, but for what is shipped: there each has to include what it uses.
    unity=-DHIBERNATE_UNITY_TESTS=ON
    [ "$preset" = release ] || unity=-DCMAKE_UNITY_BUILD=ON
    packaging/build "$preset" -DHIBERNATE_TESTS=ON "$unity" -DHIBERNATE_REAL_LLAMA_SERVER="$REAL_LLAMA_SERVER"
    step "test $preset"
    which=()
    [ "$preset" = release ] || which=(-LE real)
    log=build/$preset-tests.log
    ctest --preset "$preset" "${which[@]}" -j 2 | tee "$log"
    # What ctest lists as "did not run".
    mapfile -t -O "${#skipped[@]}" skipped \
        < <(sed -n "s/^[[:space:]]*[0-9]* - \(.*\) (Skipped).*/    $preset: \1/p" "$log")
done
if [ ${#skipped[@]} -eq 0 ]; then
    step "all passed"
else
    step "passed, but these were skipped"
    printf '%s\n' "${skipped[@]}"
fi
