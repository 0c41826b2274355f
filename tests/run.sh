#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test:   tests/run.sh [release|dev|tsan]...
#
# Without arguments: release (all tests, the ones on a real llama-server included) and dev (address
# and undefined-behaviour sanitizers; all but those). The real llama-server is unpacked into build/
# without installing it, or is the one that REAL_LLAMA_SERVER names; where the package archive
# cannot be reached, the tests that need it are reported as skipped.
set -euo pipefail
cd "$(dirname "$0")/.."

presets=("$@")
[ ${#presets[@]} -gt 0 ] || presets=(release dev)

step() { printf '\n== %s (%s s)\n' "$1" "$SECONDS"; }

step "packages"
packaging/install-packages test

step "llama-server"
if [ -z "${REAL_LLAMA_SERVER:-}" ]; then
    export REAL_LLAMA_SERVER=$PWD/build/llama/llama-server
    tests/support/get-llama-server build/llama || echo "no llama-server here: the real tests are skipped"
fi

if command -v clang-format >/dev/null; then
    step "format"
    git ls-files '*.hpp' '*.cpp' | xargs clang-format --dry-run -Werror
fi

for preset in "${presets[@]}"; do
    step "build $preset"
    packaging/build "$preset" -DHIBERNATE_TESTS=ON -DHIBERNATE_REAL_LLAMA_SERVER="$REAL_LLAMA_SERVER"
    step "test $preset"
    which=()
    [ "$preset" = release ] || which=(-LE real)
    ctest --preset "$preset" "${which[@]}" -j 2
done
step "all passed"
