#!/usr/bin/env bash
# Shows the main job before your eyes: a chat, a stop, a start, the same chat again.
#
#     packaging/demo.sh [--server PATH] [-m MODEL.gguf] [--tokens N]
#
# Installs what is missing (Debian 12 or later; root or sudo), builds, and finds a llama-server:
# --server, $LLAMA_SERVER, the one on PATH, else it unpacks Debian's into build/ without installing
# it. Without -m it makes a small model on the spot. Run it as often as you like.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)

server=${LLAMA_SERVER:-}
model=
tokens=2000
usage() { sed -n '2,8s/^# \{0,1\}//p' "$0"; }
while [ $# -gt 0 ]; do
    case $1 in
    --server) server=${2:?--server needs a path}; shift 2 ;;
    -m | --model) model=${2:?-m needs a file}; shift 2 ;;
    --tokens) tokens=${2:?--tokens needs a number}; shift 2 ;;
    -h | --help) usage; exit 0 ;;
    *) echo "demo.sh: unknown argument $1" >&2; usage >&2; exit 2 ;;
    esac
done
[ -z "$server" ] || server=$(command -v "$server") || { echo "demo.sh: there is no llama-server at $server" >&2; exit 1; }
[ -z "$model" ] || [ -r "$model" ] || { echo "demo.sh: cannot read $model" >&2; exit 1; }
[ -z "$model" ] || model=$(realpath "$model")

"$top/packaging/install-packages" demo
echo "building (a few minutes the first time) ..."
"$top/packaging/build" release -DHIBERNATE_TESTS=OFF
cd "$top"

if [ -z "$server" ]; then
    server=$(command -v llama-server || true)
fi
if [ -z "$server" ]; then
    echo "no llama-server on PATH; unpacking Debian's into build/llama ..."
    mkdir -p build
    tests/support/get-llama-server build/llama >build/get-llama-server.log 2>&1 || {
        tail -n 5 build/get-llama-server.log >&2
        echo "demo.sh: no llama-server could be had; name one with --server" >&2
        exit 1
    }
    server=$top/build/llama/llama-server
fi
if [ -z "$model" ]; then
    model=$top/build/models/bench-llama.gguf
    [ -r "$model" ] || python3 tests/support/make_models.py build/models bench-llama >/dev/null
fi
exec python3 -B packaging/demo.py "$top/build/release/llama-hibernate" "$server" "$model" "$tokens"
