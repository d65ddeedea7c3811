#!/usr/bin/env bash
# The kernels and golden files on another instruction set: builds the engine for aarch64 and runs its tests in an
# emulator, some hundred times slower. Needs the target's standard library, a cross linker and qemu; says which of them
# is missing. Arguments are cargo's: `tests/aarch64.sh --test identities` runs others.
set -euo pipefail
cd "$(dirname "$0")/.."
target=aarch64-unknown-linux-gnu
libraries=${AARCH64_SYSROOT:-/usr/aarch64-linux-gnu}

missing=()
[ -d "$(rustc --print sysroot)/lib/rustlib/$target" ] || missing+=("the standard library: rustup target add $target")
command -v aarch64-linux-gnu-gcc >/dev/null || missing+=("the linker: Debian's gcc-aarch64-linux-gnu, libc6-dev-arm64-cross")
command -v qemu-aarch64 >/dev/null || missing+=("the emulator: Debian's qemu-user")
if [ ${#missing[@]} -gt 0 ]; then
    printf 'missing, %s\n' "${missing[@]}" >&2
    exit 1
fi

export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L $libraries"
[ $# -gt 0 ] || set -- --lib --test kernel
# a folder of its own: other builds need not wait
cargo test --release --locked -p greeksd-kernel -p greeksd-engine --target "$target" --target-dir target/aarch64 "$@"
