#!/usr/bin/env bash
# Shows the main job before your eyes: a chat, a stop, a start, the same chat again.
#
#     packaging/demo.sh [--server PATH] [-m MODEL.gguf] [--tokens N]
#
# Installs what is missing (Debian 12 or later; root or sudo), builds, and finds a llama-server:
# --server, $LLAMA_SERVER, the one on PATH, else it unpacks Debian's into build/ without installing
# it. Without -m it makes a small model on the spot. The prompt has about N tokens, 2000 if you do not
# say. Run it as often as you like.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)

server=${LLAMA_SERVER:-}
model=
tokens=2000
usage() { sed -n '2,9s/^# \{0,1\}//p' "$0"; }
wrong() { echo "demo.sh: $1" >&2; exit 2; }
while [ $# -gt 0 ]; do
    case $1 in
    --server | -m | --model | --tokens) [ -n "${2:-}" ] || wrong "$1 needs a value" ;;
    esac
    case $1 in
    --server) server=$2; shift 2 ;;
    -m | --model) model=$2; shift 2 ;;
    --tokens) tokens=$2; shift 2 ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; wrong "unknown argument $1" ;;
    esac
done
[[ $tokens =~ ^[1-9][0-9]*$ ]] || wrong "--tokens is $tokens; it must be a whole number from 1"
if [ -n "$server" ]; then
    found=$(command -v "$server") || wrong "there is no program $server"
    server=$(realpath -s "$found") # we change the folder below
fi
if [ -n "$model" ]; then
    [[ -f $model && -r $model ]] || wrong "cannot read $model"
    model=$(realpath "$model")
fi

"$top/packaging/install-packages" demo
"$top/packaging/build" release
cd "$top"

if [ -z "$server" ]; then
    server=$(command -v llama-server || true)
fi
if [ -z "$server" ]; then
    [ -x build/llama/llama-server ] || echo "no llama-server on PATH; unpacking Debian's into build/llama ..."
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
