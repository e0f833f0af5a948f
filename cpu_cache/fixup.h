/* SPDX-License-Identifier: MIT */
/*
 * A load that may fault: it finds the user of a pointer that the application passed. A machine with
 * fix-ups has a table of these instructions, with an address at which to resume. The SIGSEGV
 * handler resumes the thread there as if the word had another value. The load costs as much as a
 * plain load.
 */
#ifndef CPU_CACHE_FIXUP_H
#define CPU_CACHE_FIXUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The section slab_fixups is a table of {instruction that may fault, address to resume at}. Both
 * are relative to their own position, so the table needs no relocation. "R": the linker keeps the
 * section even if it drops unreferenced sections.
 */
#define FIXUP(fault, resume)                                                                       \
	".pushsection slab_fixups, \"aR\", @progbits\n\t.balign 4\n\t"                             \
	".long " #fault " - ., " #resume " - .\n\t.popsection\n\t"

#if defined(__x86_64__)
#include "arch/x86_64/fixup.h"
#elif defined(__aarch64__)
#include "arch/aarch64/fixup.h"
#else
#include "arch/generic/fixup.h"
#endif

/* An entry of the table, which the linker joins from all sections of this name. */
struct fixup {
	int32_t fault, resume;
};

/* Weak, because a program that links none of these loads has no table. */
extern const struct fixup __start_slab_fixups[] __attribute__((weak, visibility("hidden")));
extern const struct fixup __stop_slab_fixups[] __attribute__((weak, visibility("hidden")));

/* The address at which a thread resumes whose instruction at pc has faulted; 0: pc is not in the
 * table. */
static inline uintptr_t fixup_find(uintptr_t pc)
{
	for (const struct fixup *f = __start_slab_fixups; f < __stop_slab_fixups; f++)
		if ((uintptr_t)&f->fault + (uintptr_t)(intptr_t)f->fault == pc)
			return (uintptr_t)&f->resume + (uintptr_t)(intptr_t)f->resume;
	return 0;
}

#endif /* CPU_CACHE_FIXUP_H */
