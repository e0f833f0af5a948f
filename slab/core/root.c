/* SPDX-License-Identifier: MIT */
/* The root, and the ELF note that leads to it (root.h). */
#include "core/root.h"
#include "core/registry.h"

#include <slab/inspect.h>

struct slab_root slab_root __attribute__((used)) = {
	.magic = ROOT_MAGIC,
	.bytes = sizeof(struct slab_root),
	.version = SLAB_VERSION,
	.layout = ROOT_LAYOUT,
	.process = &slab_process,
	.pages = &slab_pages,
	.registry_changes = &registry_changes,
	.registry = &registry_first,
	.stacks = &depot_stacks,
	.areas = &cpu_area_count,
	.cpus = &cpu_possible_count,
	.shards = &shards_per_node,
	.profile = &heap_profile,
	.arenas = metadata_arenas,
	.marks = segment_marks,
	.window = &segment_window,
	.far_marks = segment_far_marks,
	.thread_names = &track_names,
};

/*
 * The note. It contains the distance to the root, which only the linker knows and C cannot
 * express, so it is written in assembly.
 */
__asm__(".pushsection .note.libslab, \"a\", %note\n\t"
	".balign 4\n\t"
	".long 8, 8, 1\n\t" /* bytes of the note's name and of the descriptor, type */
	".asciz \"" SLAB_INSPECT_NOTE_OWNER "\"\n\t"
	"1: .quad slab_root - 1b\n\t"
	".popsection");

_Static_assert(sizeof(SLAB_INSPECT_NOTE_OWNER) == 8 && SLAB_INSPECT_NOTE_TYPE == 1 &&
		       sizeof(struct slab_inspect_note) == 8,
	       "the note is what it says");
