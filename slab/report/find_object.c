/* SPDX-License-Identifier: MIT */
/*
 * _dl_find_object() for libgcc's unwinder where the C library has none: musl, and glibc before 2.35
 * (SLAB_GLIBC in cmake/SlabPlatform.cmake). The compiler of a newer machine brings an unwinder that
 * calls it, and libslab contains the unwinder. This function is not exported.
 *
 * It takes the dynamic linker's lock, as reports do on such C libraries (symbol.c).
 */
#define _GNU_SOURCE
#include <link.h>
#include <stddef.h>
#include <stdint.h>

/* The result as glibc lays it out. The unwinder reads the address of the segment
 * PT_GNU_EH_FRAME. */
struct found_object {
	unsigned long long flags;
	void *start, *end;
	struct link_map *link_map;
	void *eh_frame;
	unsigned long long reserved[7];
};

struct search {
	uintptr_t address;
	struct found_object *found;
};

/* <link.h> may declare glibc's function, with its own struct. */
int find_object_of_code(void *pc, struct found_object *found) __asm__("_dl_find_object")
	__attribute__((visibility("hidden")));

static int look_at_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	const struct search *search = arg;
	void *eh_frame = NULL;
	int inside = 0;

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + part->p_vaddr;

		if (part->p_type == PT_GNU_EH_FRAME)
			eh_frame = (void *)start;
		if (part->p_type != PT_LOAD || search->address - start >= part->p_memsz)
			continue;
		inside = 1;
		search->found->start = (void *)start;
		search->found->end = (void *)(start + part->p_memsz);
	}
	search->found->eh_frame = eh_frame;
	return inside && eh_frame;
}

int find_object_of_code(void *pc, struct found_object *found)
{
	struct search search = {(uintptr_t)pc, found};

	*found = (struct found_object){0};
	return dl_iterate_phdr(look_at_object, &search) ? 0 : -1;
}
