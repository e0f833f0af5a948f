/* SPDX-License-Identifier: MIT */
/*
 * Tracks: stack, thread, CPU and time of an allocation or a free.
 *
 * The compiler's run-time library unwinds stacks by the unwind tables that every program has, so
 * frame pointers are not needed. It takes no lock and no memory, with glibc 2.35 and later and
 * as long as the program registers no tables at run time. Unwinding is the main cost of a track:
 * a tenth of a microsecond for each frame. What stays the same for a thread is looked up once
 * and kept in thread-local data.
 */
#include <errno.h>
#include <sched.h>
#include <slab/debug.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <unwind.h>

#include "pages/os.h"
#include "report/track.h"

#define CPU_UNKNOWN 4095u
#define INSIDE_MAX 16u /* most frames of libslab itself, at the top of the stack */
#define NAME_CALLS 256u

/* Data of the calling thread. The initial-exec model never allocates. */
static __thread struct {
	uint32_t tid; /* 0: not known yet */
	uint32_t name;
	uint16_t calls; /* calls of thread_name() */
	bool unwinding;
} self __attribute__((tls_model("initial-exec")));

/* --- names of threads ------------------------------------------------------------ */

/*
 * A hash table of thread names of two words each. An entry whose first word is set belongs to
 * the names that begin with that word; the second word makes it the entry of one name. Entry 0
 * stays unused.
 */
void *track_names;

typedef uint64_t name_words[2];

/* Set a word unless it has another value. Returns whether it has this value now. */
static bool settle(uint64_t *word, uint64_t value)
{
	uint64_t found = __atomic_load_n(word, __ATOMIC_ACQUIRE);

	if (found == 0 && __atomic_compare_exchange_n(word, &found, value, false, __ATOMIC_ACQ_REL,
						      __ATOMIC_ACQUIRE))
		return true;
	return found == value;
}

static uint32_t intern_name(const char name[16])
{
	name_words word, *names;
	uint32_t hash;

	memcpy(word, name, sizeof(word));
	names = word[0] ? os_map_once(&track_names, TRACK_NAMES * sizeof(*names)) : NULL;
	if (!names)
		return 0;
	word[1] |= TRACK_NAME_COMPLETE;
	hash = (uint32_t)(((word[0] ^ word[1] >> 1) * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
	for (uint32_t i = 0; i < TRACK_NAMES; i++) {
		uint32_t at = (hash + i) % TRACK_NAMES;

		if (at && settle(&names[at][0], word[0]) && settle(&names[at][1], word[1]))
			return at;
	}
	return 0;
}

static void name_text(uint32_t name, char text[16])
{
	name_words word = {0, 0}, *names = __atomic_load_n(&track_names, __ATOMIC_ACQUIRE);

	if (name && names) {
		word[0] = __atomic_load_n(&names[name][0], __ATOMIC_ACQUIRE);
		word[1] = __atomic_load_n(&names[name][1], __ATOMIC_ACQUIRE) & ~TRACK_NAME_COMPLETE;
	}
	memcpy(text, word, sizeof(word));
}

/* A thread usually gets its name early, so the name is read again at calls 1, 2, 4, …, 256, 512,
 * 768, … */
static uint32_t thread_name(void)
{
	uint32_t call = self.calls++;
	char name[16] = "";

	if (call % NAME_CALLS == 0 || (call < NAME_CALLS && (call & (call - 1)) == 0)) {
		prctl(PR_GET_NAME, name);
		self.name = intern_name(name);
	}
	return self.name;
}

/* --- the rest of a track ------------------------------------------------------------ */

uint64_t track_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static uint32_t thread_id(void)
{
	if (!self.tid)
		self.tid = (uint32_t)syscall(SYS_gettid);
	return self.tid;
}

void track_after_fork_child(void)
{
	self.tid = 0;
}

static unsigned this_cpu(void)
{
	int cpu = sched_getcpu();

	return cpu >= 0 && (unsigned)cpu < CPU_UNKNOWN ? (unsigned)cpu : CPU_UNKNOWN;
}

/* --- stacks -------------------------------------------------------------------------- */

struct walk {
	const void *caller;
	unsigned n;
	unsigned start; /* index of the caller, if it was found */
	bool found, more; /* the caller; callers beyond the recorded ones */
	const void *frames[INSIDE_MAX + SLAB_STACK_MAX];
};

static _Unwind_Reason_Code walk_frame(struct _Unwind_Context *context, void *arg)
{
	struct walk *walk = arg;
	/* Not 0: a signal interrupted this frame, so pc is the next instruction. Readers expect
	 * return addresses, and pc + 1 reads as one. */
	int exact = 0;
	const char *pc = (const char *)_Unwind_GetIPInfo(context, &exact);

	if (!pc)
		return _URC_END_OF_STACK;
	pc += exact != 0;
	walk->more = walk->n == (walk->found ? walk->start : INSIDE_MAX) + SLAB_STACK_MAX;
	if (walk->more)
		return _URC_END_OF_STACK;
	if (pc == walk->caller && !walk->found && walk->n < INSIDE_MAX) {
		walk->found = true;
		walk->start = walk->n;
	}
	walk->frames[walk->n++] = pc;
	return _URC_NO_REASON;
}

/* The index of the first frame outside libslab: the caller of the public function, or the
 * caller's caller if the caller is a public function too. walk->n: it is not known. */
#ifdef SLAB_SHARED
/* The linker's symbols for the beginning and the end of libslab.so. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

static unsigned first_outside(const struct walk *walk)
{
	unsigned i = walk->start;

	while (i < walk->n && (const char *)walk->frames[i] >= __ehdr_start &&
	       (const char *)walk->frames[i] < _end)
		i++;
	return i;
}
#else
/* In the static library, libslab's frames cannot be told from those of the program or library
 * that contains it. */
static unsigned first_outside(const struct walk *walk)
{
	return walk->found ? walk->start : walk->n;
}
#endif

static uint32_t save_stack(const void *caller)
{
	struct walk walk = {.caller = caller};
	unsigned first;

	/* This is a signal handler, or a malloc() that the unwinder calls: record the caller
	 * only. */
	if (self.unwinding)
		return depot_save(&caller, caller != NULL);
	self.unwinding = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	_Unwind_Backtrace(walk_frame, &walk);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	self.unwinding = 0;
	first = first_outside(&walk);
	if (first == walk.n)
		return depot_save(&caller, caller != NULL);
	if (walk.more)
		walk.frames[walk.n - 1] = NULL;
	return depot_save(walk.frames + first, walk.n - first);
}

void track_fill(struct track *track, const void *caller)
{
	int saved = errno;

	track->stack = save_stack(caller);
	track->tid = thread_id();
	track->when = track_now() & ((UINT64_C(1) << TRACK_WHEN_BITS) - 1);
	track->cpu = this_cpu() & CPU_UNKNOWN;
	track->name = thread_name() & (TRACK_NAMES - 1);
	errno = saved;
}

void track_describe(const struct track *track, struct slab_track *to)
{
	const void *const *frames;
	uint64_t now = track_now();

	memset(to, 0, sizeof(*to));
	if (!track->tid)
		return;
	to->tid = (int)track->tid;
	to->cpu = track->cpu == CPU_UNKNOWN ? -1 : (int)track->cpu;
	to->age_ms = now > track->when ? now - track->when : 0;
	name_text(track->name, to->thread);
	to->frames = depot_load(track->stack, &frames);
	if (to->frames)
		memcpy(to->frame, frames, to->frames * sizeof(*frames));
}
