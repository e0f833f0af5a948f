#!/bin/sh
# SPDX-License-Identifier: MIT
#
# boot.sh FOLDER: a whole aarch64 machine with four CPUs, which qemu makes up, runs the tests
# of the engines and the stress tests with each engine. All is built in FOLDER. Needs
# qemu-system-aarch64, the cross compilers, cpio, the packages googletest and liburcu-dev, and
# a kernel: $SLAB_AARCH64_KERNEL, or Debian's, which apt brings. Exit status: 0 passed, 77
# something is missing, 1 failed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=$1

skip()
{
	echo "boot.sh: $*" >&2
	exit 77
}

for program in qemu-system-aarch64 aarch64-linux-gnu-gcc aarch64-linux-gnu-g++ cpio ninja; do
	command -v $program >/dev/null || skip "$program is missing"
done
[ -e /usr/src/googletest/CMakeLists.txt ] || skip "the package googletest is missing"
kernel=${SLAB_AARCH64_KERNEL:-$("$here/kernel.sh" "$folder/kernel")} || skip "no kernel"

cmake -S "$here/cross" -B "$folder/build" -G Ninja --toolchain "$here/cross/toolchain.cmake" \
	-DCMAKE_BUILD_TYPE=RelWithDebInfo >/dev/null
ninja -C "$folder/build"

rm -rf "$folder/root"
mkdir -p "$folder/root/bin"
cp "$folder/build/init" "$folder/root/init"
for test in engine_test engine_fence_test slots_test; do
	echo "rseq /bin/$test"
done >"$folder/root/tests"
for engine in rseq cmpxchg16b mutex; do
	for test in cpu_ids_test cache_test bulk_test stress_test; do
		echo "$engine /bin/$test"
	done
done >>"$folder/root/tests"
echo "rseq /bin/engine_stress_test" >>"$folder/root/tests" # each engine in turn
for test in "$folder"/build/*_test; do
	aarch64-linux-gnu-strip -g -o "$folder/root/bin/$(basename "$test")" "$test"
done
(cd "$folder/root" && find . | cpio --quiet -o -H newc >../initramfs)

qemu-system-aarch64 -machine virt -accel tcg,thread=multi -cpu max -smp 4 -m 2048 -nographic \
	-no-reboot -nic none -kernel "$kernel" -initrd "$folder/initramfs" \
	-append "console=ttyAMA0 quiet panic=-1" </dev/null | tee "$folder/log"
grep -q '^init: passed' "$folder/log"
