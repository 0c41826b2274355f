#!/usr/bin/env bash
# Fuzzes every reader of foreign bytes for so many seconds each (60), from the kept corpus:
#     tests/fuzz/run.sh [SECONDS] [NAME...]
# Wants clang 19 and its runtime (packaging/install-packages fuzz). What is found is left in
# build/fuzz/found/ as <name>-crash-..., and the exit status is 1. New inputs that reach new code
# gather in build/fuzz/corpus/; tests/fuzz/make_corpus.py makes the seeds.
set -euo pipefail
cd "$(dirname "$0")/../.."

seconds=${1:-60}
shift || true
names=("$@")
[ ${#names[@]} -gt 0 ] || names=(gguf state_file manifest head chunks)
# Elsewhere if somebody wants it elsewhere.
build=${FUZZ_BUILD:-build/fuzz}

cmake --preset fuzz -B "$build" >/dev/null
cmake --build "$build" --target fuzzers

status=0
mkdir -p "$build/found"
for name in "${names[@]}"; do
    mkdir -p "$build/corpus/$name"
    printf '\n== %s: %s s\n' "$name" "$seconds"
    log=$build/$name.log
    if "$build/tests/fuzz/${name}_fuzz" "$build/corpus/$name" "tests/fuzz/corpus/$name" \
        -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -max_len=16384 \
        -artifact_prefix="$build/found/$name-" -print_final_stats=1 >"$log" 2>&1; then
        grep -E 'stat::number_of_executed_units|stat::peak_rss_mb' "$log"
        grep -E ' cov: ' "$log" | tail -n 1
    else
        tail -n 60 "$log"
        status=1
    fi
done
exit $status
