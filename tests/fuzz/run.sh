#!/usr/bin/env bash
# Fuzzes every reader of foreign bytes for so many seconds each (60), from the kept corpus, two at a
# time:
#     tests/fuzz/run.sh [SECONDS] [NAME...]
# Wants clang 19 and its runtime (packaging/install-packages fuzz). What is found is left in
# build/fuzz/found/ as <name>-crash-..., and the exit status is 1. New inputs that reach new code
# gather in build/fuzz/corpus/; tests/fuzz/make_corpus.py makes the seeds.
set -euo pipefail
cd "$(dirname "$0")/../.."

seconds=${1:-60}
shift || true
names=("$@")
[ ${#names[@]} -gt 0 ] || names=(gguf state_file manifest head chunks request_lineage receipt)
# Elsewhere if somebody wants it elsewhere.
build=${FUZZ_BUILD:-build/fuzz}

launcher=()
if command -v ccache >/dev/null; then
    launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi
mkdir -p "$build"
if ! { cmake --preset fuzz -B "$build" "${launcher[@]}" && cmake --build "$build" --target fuzzers; } >"$build/build.log" 2>&1; then
    tail -n 40 "$build/build.log" >&2
    echo "the build of the fuzzers failed; all of its output is in $build/build.log" >&2
    exit 1
fi

fuzz() {
    local name=$1 log=$build/$1.log
    mkdir -p "$build/corpus/$name" "$build/found"
    if "$build/tests/fuzz/${name}_fuzz" "$build/corpus/$name" "tests/fuzz/corpus/$name" \
        -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -max_len=16384 \
        -artifact_prefix="$build/found/$name-" -print_final_stats=1 >"$log" 2>&1; then
        echo "$name: $seconds s, $(sed -n 's/stat::number_of_executed_units: *//p' "$log") inputs, nothing found"
    else
        tail -n 60 "$log"
        echo "$name: FAILED; all of its output is in $log"
        return 1
    fi
}

status=0
running=0
for name in "${names[@]}"; do
    if [ "$running" -ge 2 ]; then
        wait -n || status=1
        running=$((running - 1))
    fi
    fuzz "$name" &
    running=$((running + 1))
done
while [ "$running" -gt 0 ]; do
    wait -n || status=1
    running=$((running - 1))
done
exit $status
