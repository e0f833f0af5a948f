#!/bin/sh
# SPDX-License-Identifier: MIT
#
# phases.sh NAME [FILE=BYTES]...: in a machine, the load aging.phases of benchmarks/memory, at most
# 68 MB, in a control group with these limits. Its group must not kill it.
set -eu
group=/sys/fs/cgroup/$1
name=$1
shift

[ -e /sys/fs/cgroup/cgroup.procs ] || mount -t cgroup2 none /sys/fs/cgroup
echo +memory >/sys/fs/cgroup/cgroup.subtree_control
mkdir "$group"
for limit in "$@"; do
	echo "${limit#*=}" >"$group/${limit%%=*}"
done
echo $$ >"$group/cgroup.procs"
echo ab | LD_PRELOAD=/lib/libslab_malloc.so /bin/memory-malloc aging phases
read -r peak <"$group/memory.peak"
high=$(sed -n 's/^high //p' "$group/memory.events")
echo "row: $name: peak $((peak >> 20)) MiB, high $high times"
grep -qx 'oom_kill 0' "$group/memory.events"
