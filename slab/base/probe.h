/* SPDX-License-Identifier: MIT */
/*
 * SLAB_PROBE(): static probes (USDT) of the provider "libslab", for bpftrace, perf and gdb. A probe
 * is a nop and a note in the file that says where its arguments are. slab(7) lists the probes;
 * without <sys/sdt.h>, or with -DSLAB_PROBES=OFF, there are none.
 *
 * Arguments are evaluated whether a tool traces or not, so they are values that the function has
 * anyway or that cost a load. Restartable sequences and the fast paths have no probe.
 */
#pragma once

#ifdef SLAB_PROBES

/* Tools do not understand operands such as %fs:4(%rax), so arguments are in registers. */
#define STAP_SDT_ARG_CONSTRAINT nr
#define SDT_USE_VARIADIC
#include <sys/sdt.h>

#ifdef __clang__ /* warns about the header's macros in the file that uses them */
#define SLAB_PROBE(name, ...)                                                                      \
	do {                                                                                       \
		_Pragma("clang diagnostic push");                                                  \
		_Pragma("clang diagnostic ignored \"-Wpedantic\"");                                \
		STAP_PROBEV(libslab, name, __VA_ARGS__);                                           \
		_Pragma("clang diagnostic pop");                                                   \
	} while (0)
#else
#define SLAB_PROBE(name, ...) STAP_PROBEV(libslab, name, __VA_ARGS__)
#endif

#else

/* Not evaluated, but used: no warning about a parameter that only a probe has. Has no body. */
int slab_no_probe(int first, ...);
#define SLAB_PROBE(name, ...) ((void)sizeof(slab_no_probe(0, __VA_ARGS__)))

#endif
