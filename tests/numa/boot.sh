#!/bin/sh
# SPDX-License-Identifier: MIT
#
# boot.sh INIT TEST...: run test programs in a machine of two NUMA nodes, each with one
# CPU, which qemu makes up (without KVM, if there is none). Needs qemu-system-x86_64, cpio
# and a kernel with NUMA: $SLAB_NUMA_KERNEL, or the newest /boot/vmlinuz-*. Exit status: 0
# passed, 77 something is missing, 1 failed.
set -eu

skip()
{
	echo "boot.sh: $*" >&2
	exit 77
}

# shellcheck disable=SC2012 # the newest
kernel=${SLAB_NUMA_KERNEL:-$(ls -t /boot/vmlinuz-* 2>/dev/null | head -n 1)}
command -v qemu-system-x86_64 >/dev/null || skip "qemu-system-x86_64 is missing"
command -v cpio >/dev/null || skip "cpio is missing"
[ -r "$kernel" ] || skip "no kernel; name one in SLAB_NUMA_KERNEL"

init=$1
shift
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir "$root/fs" "$root/fs/bin"
cp "$init" "$root/fs/init"
for test in "$@"; do
	cp "$test" "$root/fs/bin/"
	for engine in rseq cmpxchg16b mutex; do
		name=$(basename "$test")
		printf '%s\t200\tSLAB_ENGINE=%s\t%s\n' "$name.$engine" "$engine" "/bin/$name" >>"$root/fs/tests"
	done
	# Their libraries, where the loader looks for them.
	ldd "$test" | grep -o '/[^ ]*' | while read -r library; do
		mkdir -p "$root/fs$(dirname "$library")"
		cp -L "$library" "$root/fs$library"
	done
done
(cd "$root/fs" && find . | cpio --quiet -o -H newc >../initramfs)

qemu-system-x86_64 -machine q35,accel=tcg -cpu max -smp 2 -m 768 -nographic -no-reboot \
	-object memory-backend-ram,id=m0,size=512M -object memory-backend-ram,id=m1,size=256M \
	-numa node,nodeid=0,cpus=0,memdev=m0 -numa node,nodeid=1,cpus=1,memdev=m1 \
	-kernel "$kernel" -initrd "$root/initramfs" \
	-append "console=ttyS0 quiet panic=-1 random.trust_cpu=on" </dev/null >"$root/log" 2>&1 ||
	true
cat "$root/log"
grep -q '^init: passed' "$root/log"
