/* SPDX-License-Identifier: MIT */
/* The root, and the note that leads to it. */
#include "inspect/root.h"
#include "base/seqcount.h"
#include "pages/account.h"
#include "pages/topology.h"
#include "registry/registry.h"
#include "report/depot.h"
#include "report/track.h"

#include <slab/inspect.h>
#include <string.h>

struct slab_root slab_root __attribute__((used)) = {
	.magic = ROOT_MAGIC,
	.bytes = sizeof(struct slab_root),
	.version = SLAB_VERSION,
	.layout = ROOT_LAYOUT,
	.pages = &slab_pages,
	.registry = &registry_first,
	.stacks = &depot_stacks,
	.slot_areas = &cpu_area_count,
	.cpus = &cpu_possible_count,
};

/*
 * The note. The distance to the root is known to the linker alone, and C cannot
 * ask it, so this is assembly.
 */
__asm__(".pushsection .note.libslab, \"a\", %note\n\t"
	".balign 4\n\t"
	".long 8, 8, 1\n\t" /* bytes of the owner's name and of the descriptor, type */
	".asciz \"" SLAB_INSPECT_NOTE_OWNER "\"\n\t"
	"1: .quad slab_root - 1b\n\t"
	".popsection");

_Static_assert(sizeof(SLAB_INSPECT_NOTE_OWNER) == 8 && SLAB_INSPECT_NOTE_TYPE == 1 &&
		       sizeof(struct slab_inspect_note) == 8,
	       "the note is what it says");

void root_init(void)
{
	struct slab_root *root = &slab_root;

	root->nodes = topology_nodes();
	strncpy(root->engine, cpu_engine->name, sizeof(root->engine) - 1);
	__atomic_store_n(&root->started, track_now(), __ATOMIC_RELEASE);
}

void root_after_fork_child(void)
{
	__atomic_store_n(&slab_root.started, track_now(), __ATOMIC_RELAXED);
}

void root_registry_begin(void)
{
	seqcount_write_begin(&slab_root.registry_changes);
}

void root_registry_end(void)
{
	seqcount_write_end(&slab_root.registry_changes);
}
