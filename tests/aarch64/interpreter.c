/* SPDX-License-Identifier: MIT */
/*
 * What the kernel starts for a program for aarch64 (emulated.sh): QEMU with the CPU, and the folder
 * SYSROOT for the program's libraries. As arguments, because programs of tests run others without
 * an environment. Arguments: path and argv[0] of the program, then its arguments.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char **words = calloc((size_t)argc + 7, sizeof(*words));
	int n = 0;

	if (!words || argc < 3)
		return 126;
	words[n++] = (char *)QEMU;
	words[n++] = (char *)"-cpu";
	words[n++] = (char *)CPU;
	words[n++] = (char *)"-L";
	words[n++] = (char *)SYSROOT;
	words[n++] = (char *)"-0";
	words[n++] = argv[2];
	words[n++] = argv[1];
	for (int i = 3; i < argc; i++)
		words[n++] = argv[i];
	execv(QEMU, words);
	perror(QEMU);
	return 126;
}
