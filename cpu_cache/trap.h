/* SPDX-License-Identifier: MIT */
/* What a SIGSEGV handler can find out about the thread that faulted, and change in it. */
#ifndef CPU_CACHE_TRAP_H
#define CPU_CACHE_TRAP_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "fixup.h"

enum trap_access {
	TRAP_ACCESS, /* this machine does not report which */
	TRAP_READ,
	TRAP_WRITE,
};

#if defined(__x86_64__)
#include "arch/x86_64/trap.h"
#elif defined(__aarch64__)
#include "arch/aarch64/trap.h"
#else
#include "arch/generic/trap.h"
#endif

#endif /* CPU_CACHE_TRAP_H */
