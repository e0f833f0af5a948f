/* SPDX-License-Identifier: MIT */
/*
 * The environment variables that libslab reads, as one table.
 *
 * slab_options() reads the environment once, on first use, with secure_getenv(), so a setuid
 * program gets the defaults. For an invalid value libslab writes one line to stderr and uses the
 * default. No function here allocates memory, because malloc() may be built on libslab.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum slab_engine_choice {
	SLAB_ENGINE_AUTO,
	SLAB_ENGINE_RSEQ,
	SLAB_ENGINE_CMPXCHG16B,
	SLAB_ENGINE_MUTEX,
};

/* AUTO: not before the process is large or creates a cache (control/server.h). */
enum slab_control { SLAB_CONTROL_OFF, SLAB_CONTROL_AUTO, SLAB_CONTROL_ON, SLAB_CONTROL_FULL };

/* Leaves room for "/slab/PID.sock" in the 108 bytes of a socket address. */
#define SLAB_RUNTIME_DIR_MAX 80
#define SLAB_FAKE_NODES_MAX 64
/* The size of a value that names caches, including the terminating zero. */
#define SLAB_OPTION_TEXT 4096
#define SLAB_FAIL_NAMES 1024

/* Fault injection, with the meaning of the kernel's failslab (fail.h). */
struct slab_fail {
	unsigned probability; /* per cent of the candidates that fail */
	unsigned interval;    /* every interval-th call is a candidate */
	long times;           /* the most failures in all; -1: no limit */
	bool set;             /* fault injection is on */
	char names[SLAB_FAIL_NAMES]; /* comma-separated list of patterns; empty: no names */
};

enum slab_huge { SLAB_HUGE_AUTO, SLAB_HUGE_ALWAYS, SLAB_HUGE_NEVER };

struct slab_options {
	unsigned engine; /* enum slab_engine_choice */
	unsigned apart; /* every cache behaves as with SLAB_APART */
	unsigned fake_nodes; /* 0: the machine's own nodes */
	unsigned control; /* enum slab_control */
	bool control_is_set; /* SLAB_CONTROL is auto, on, full or off */
	int control_signal;  /* the signal that opens the control socket; 0: none */
	unsigned debug_abort;
	unsigned leak_check; /* report leaks when the process exits */
	unsigned random;     /* fresh slabs allocate their objects in random order */
	unsigned harden;     /* every cache behaves as with SLAB_HARDEN_FREE */
	unsigned zero_alloc; /* zero objects without constructor when they are allocated */
	unsigned zero_free;  /* zero objects without constructor when they are freed */
	unsigned huge;       /* enum slab_huge */
	long decay_ms;       /* return memory unused for this time; 0: at once, -1: never */
	unsigned tools;      /* report objects to valgrind and AddressSanitizer */
	unsigned symbols;    /* pass reports through slab-symbolize (report/filter.c) */
	size_t limit;        /* most bytes of slabs and large allocations; 0: no limit */
	size_t soft_limit;   /* libslab acts above it; 0: no limit */
	unsigned limit_percent, soft_percent; /* of what the process may have; 0: see above */
	size_t profile;      /* mean bytes between two samples of the heap profile; 0: off */
	struct slab_fail fail;
	char runtime_dir[SLAB_RUNTIME_DIR_MAX + 1]; /* empty: the default */
	/* These are constant empty strings or lie in texts. */
	const char *debug; /* SLAB_DEBUG (debug_spec.h) */
	const char *sample;
	const char *log; /* empty: stderr */
	struct slab_option_texts *texts;
};

/* Room for long values, which few processes have: it takes no memory without them. */
struct slab_option_texts {
	char debug[SLAB_OPTION_TEXT];
	char sample[SLAB_OPTION_TEXT];
	char log[PATH_MAX];
};

/* One row of the table, as documented in docs/environment.md. */
struct slab_option_info {
	const char *name;
	const char *accepted;
	const char *fallback;
	const char *help;
};

/* slab_options: the options of this process. Read on first use, constant afterwards. */
const struct slab_options *slab_options(void);

/*
 * slab_options_parse: fill *options with the defaults and then with the values from `get`, a
 * function like getenv(). Long values go to *texts. `complain` gets one error message for each
 * invalid value. Returns the number of messages.
 */
int slab_options_parse(struct slab_options *options, struct slab_option_texts *texts,
		       char *(*get)(const char *name), void (*complain)(const char *message));

/* slab_option_info: row `i` of the table; NULL behind the last row. */
const struct slab_option_info *slab_option_info(unsigned i);

/* debug_text_flags() and sample_text_interval() of this process's SLAB_DEBUG and SLAB_SAMPLE. */
uint64_t debug_options_flags(const char *cache_name, bool *ret_no_growth);
unsigned long sample_options(const char *cache_name);

/* The rule for all limits: 0 is no limit. Any other limit is at least one slab, because no
 * allocation can succeed below that. For the process that is the smallest slab. */
#define LIMIT_LEAST_OF_PROCESS ((size_t)16 << 10)
static inline bool limit_is_possible(uint64_t bytes, size_t least)
{
	return !bytes || bytes >= least;
}
