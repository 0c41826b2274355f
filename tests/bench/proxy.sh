#!/usr/bin/env bash
# CPU, latency and memory of the proxy beside HAProxy's and nginx's:   tests/bench/proxy.sh [ROUNDS] [SECONDS]
# Builds its two helpers in the release build; proxy.py measures, and says what the columns are.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -f build/release/build.ninja ] || cmake --preset release
cmake --build --preset release --target bench_proxy bench_sse >&2
exec python3 -B tests/bench/proxy.py "$@"
