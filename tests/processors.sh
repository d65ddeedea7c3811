#!/usr/bin/env bash
# A program on a processor that lacks what it is built for says so and ends: in an emulator, as a processor of 2008, and
# as one of 2013 where the build needs AVX-512. Argument: the program, target/release/greeksd unless given, built for
# AVX2 at least.
set -euo pipefail
cd "$(dirname "$0")/.."
greeksd=${1:-target/release/greeksd}
command -v qemu-x86_64 > /dev/null || { echo "missing, the emulator: Debian's qemu-user" >&2; exit 1; }

refuses() {
    local status=0
    said=$(qemu-x86_64 -cpu "$1" "$greeksd" --version 2>&1) || status=$?
    if [ $status != 1 ] || ! grep -qE "^greeksd: this build is for .*: .*\b$2\b" <<< "$said"; then
        printf '%s: exit code %s, and %s is not said to be lacking:\n%s\n' "$1" $status "$2" "$said" >&2
        exit 1
    fi
    echo "$1: $2 is said to be lacking"
}
refuses Nehalem avx2
if grep -qw avx512f <<< "$said"; then refuses Haswell avx512f; fi
