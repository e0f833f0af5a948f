#!/bin/sh
# SPDX-License-Identifier: MIT
#
# unshare -Ur -m emulated.sh INTERPRETER COMMAND...: run a program for aarch64, which may run others.
# In namespaces of its own the kernel (Linux 6.7) starts INTERPRETER for such programs, so nothing
# changes for the rest of the machine.
set -eu
interpreter=$1
shift
magic='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc
printf %s ":aarch64:M::$magic:$mask:$interpreter:PF" >/proc/sys/fs/binfmt_misc/register
exec "$@"
