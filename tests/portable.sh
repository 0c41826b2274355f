#!/usr/bin/env bash
# Proves, on Linux, that -DHIBERNATE_PORTABLE=ON leaves out what only Linux has, and tests that build:
#
#     tests/portable.sh [CMake -D options...]
#
# Three things have to hold. Our sources compile with Linux's own headers forbidden to them
# (cmake/shipped.cmake); what they compile to calls no function and names no file that only Linux has;
# and the tests pass, but for those of what is lost, which know of it. Boost and the C++ library are
# not judged: they bring their own ports. Not part of every run: it is a build of everything.
set -euo pipefail
cd "$(dirname "$0")/.."

calls='prctl|syscall|gettid|epoll_[a-z0-9_]+|eventfd[a-z_]*|timerfd_[a-z]+|signalfd|inotify_[a-z0-9_]+'
calls+='|fanotify_[a-z_]+|pidfd_[a-z_]+|ioprio_[a-z]+|renameat2|fallocate|posix_fadvise|posix_fallocate|readahead'
calls+='|splice|tee|vmsplice|sendfile|copy_file_range|close_range|pipe2|accept4|dup3|ppoll|memfd_create|statx'
calls+='|sysinfo|sched_[a-z]+affinity|unshare|setns|process_vm_[a-z]+|getrandom|secure_getenv|mremap'
files='^/(proc|sys)/'

# Without the optimizer: it is built sooner, and calls the same, each call in the function that makes it.
packaging/build portable -DHIBERNATE_TESTS=ON -DHIBERNATE_UNITY_TESTS=ON -DCMAKE_BUILD_TYPE=Debug "$@"

echo "== what our headers include"
if grep -rnE '#include <(linux/|syscall\.h|sys/(epoll|eventfd|prctl|syscall|signalfd|timerfd|inotify|pidfd)\.h)' \
    include src --include='*.hpp'; then
    echo "portable.sh: these are Linux's own headers" >&2
    exit 1
fi

echo "== what our objects call, and which files they name"
# The functions of an object that refer to a symbol. Those of Boost and of the C++ library are in our
# objects where their headers have them inline.
callers() {
    objdump --disassemble --reloc "$1" | awk -v "call=^$2([-+@]|\$)" '
        /^[0-9a-f]+ <.*>:$/ { caller = substr($2, 2, length($2) - 3) }
        $2 ~ /^R_/ && $3 ~ call { print caller }' | sort --unique
}
theirs='^_Z+N?K?(5boost|St)'

objects=$(find build/portable/CMakeFiles -path '*/src/*' -name '*.o' ! -name 'third_party*')
bad=0
for object in $objects; do
    while read -r call; do
        by=$(callers "$object" "$call")
        if [ -z "$by" ] || grep -vE "$theirs" <<<"$by"; then
            echo "    calls $call in $object" >&2
            bad=1
        fi
    done < <(nm --undefined-only --just-symbols "$object" | grep -xE "($calls)(64)?(@.*)?" | sed 's/@.*//')
    if strings -n 5 "$object" | grep -E "$files"; then
        echo "    named in $object" >&2
        bad=1
    fi
done
[ "$bad" -eq 0 ] || exit 1
wc -w <<<"$objects" | sed 's/$/ objects, none of them/'

echo "== tests"
ctest --preset portable -LE real -j 2
