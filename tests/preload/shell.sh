#!/bin/sh
# SPDX-License-Identifier: MIT
# Forks of a shell whose malloc is libslab.
for i in 1 2 3 4; do
	echo $i | cat
done | grep -q 4
