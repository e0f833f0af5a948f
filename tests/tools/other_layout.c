/* SPDX-License-Identifier: MIT */
/*
 * A process with a libslab of another layout, as far as can be seen: a note, and
 * a root that is of version 9.9.9. Built with DANGLING, the note leads to where
 * no memory is.
 */
#include "core/root.h"

#include <slab/inspect.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct slab_root other_root __attribute__((used)) = {
	.magic = ROOT_MAGIC,
	.bytes = sizeof(struct slab_root),
	.version = "9.9.9",
};

#ifdef DANGLING
#define TARGET "0x7f0000000000"
#else
#define TARGET "other_root - 1b"
#endif

__asm__(".pushsection .note.libslab, \"a\", %note\n\t"
	".balign 4\n\t"
	".long 8, 8, 1\n\t"
	".asciz \"" SLAB_INSPECT_NOTE_OWNER "\"\n\t"
	"1: .quad " TARGET "\n\t"
	".popsection");

int main(void)
{
	char byte;

	puts("ready 0");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	return 0;
}
