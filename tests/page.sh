#!/usr/bin/env bash
# The page in a real browser, Debian's chromium:   tests/page.sh [FOLDER]
# Installs that if it is missing, builds what it needs, and leaves screenshots in FOLDER
# (build/screenshots): look at them. It is no part of tests/run.sh, since a browser is large.
set -euo pipefail
cd "$(dirname "$0")/.."

packaging/install-packages page
cmake --preset release >/dev/null
cmake --build build/release --target llama-hibernate fake_llama_server
HIBERNATE_BIN=$PWD/build/release/llama-hibernate \
FAKE_LLAMA_SERVER=$PWD/build/release/tests/fake_llama_server \
SCREENSHOTS=${1:-build/screenshots} \
    python3 -B tests/page/page_test.py
echo "screenshots: ${1:-build/screenshots}"
