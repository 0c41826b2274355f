#!/usr/bin/env bash
# clang-format over everything, clang-tidy over the sources named, or over all of them (many minutes):
#     tests/lint.sh [src/part/file.cpp...]
# Wants clang-format 14 and clang-tidy 19 (Debian: clang-format, clang-tidy-19, clang-19).
set -euo pipefail
cd "$(dirname "$0")/.."
git ls-files '*.hpp' '*.cpp' | xargs clang-format --dry-run -Werror
cmake --preset clang -DHIBERNATE_TESTS=OFF >/dev/null
files=("$@")
[ ${#files[@]} -gt 0 ] || mapfile -t files < <(git ls-files 'src/*.cpp')
printf '%s\n' "${files[@]}" | xargs -P "$(nproc)" -n 1 clang-tidy-19 -p build/clang --quiet
