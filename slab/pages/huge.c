/* SPDX-License-Identifier: MIT */
/*
 * Huge pages.
 *
 * Where the system's setting is "always", the kernel uses huge pages without being asked, and where
 * it is "never", libslab does not ask. With "madvise" libslab populates 2 MiB at once: it writes to
 * one page and collapses the range (MADV_COLLAPSE, Linux 6.1). MADV_HUGEPAGE would do it, too, but
 * mark the range, and each range with a mark of its own is a further mapping; besides, khugepaged
 * would later fill holes in marked ranges with memory that no account has.
 *
 * A huge page takes 0.2 to 0.5 ms where the machine has free memory, a quarter of what 512 small
 * pages take. Where a hypervisor has taken free memory back, it takes 5 to 10 ms, much longer than
 * small pages. So SLAB_HUGE=auto stops at the first huge page that takes HUGE_SLOW_US.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "pages/huge.h"
#include "base/compiler.h"
#include "base/clock.h"
#include "base/options.h"
#include "pages/account.h"
#include "pages/os.h"
#include "sys_file.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

#define SETTING_MAX 64

/* Atomic: whether libslab populates huge pages. */
enum state { UNKNOWN, USED, UNUSED };
static SLAB_EARLY unsigned state;
/* Atomic: the bytes of slabs from which on SLAB_HUGE=auto populates the next one. */
static uint64_t next_from = HUGE_LEAST;

#ifdef SLAB_TESTING
const char *huge_system_setting;
unsigned huge_seems_to_take;

void huge_forget(void)
{
	__atomic_store_n(&state, UNKNOWN, __ATOMIC_RELAXED);
	__atomic_store_n(&next_from, HUGE_LEAST, __ATOMIC_RELAXED);
}

static const char *pretended_setting(void)
{
	return huge_system_setting;
}

static uint64_t pretended_time(uint64_t us)
{
	return huge_seems_to_take ? huge_seems_to_take : us;
}
#else
static const char *pretended_setting(void)
{
	return NULL;
}

static uint64_t pretended_time(uint64_t us)
{
	return us;
}
#endif

/* The system's setting, for a process that must not ask later; empty: its words do not hold for
 * this process. */
static SLAB_EARLY char learned[SETTING_MAX];
static SLAB_EARLY bool is_learned;

static void read_setting(char text[SETTING_MAX])
{
	if (prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 1)
		*text = '\0';
	else
		sys_file_read("/sys/kernel/mm/transparent_hugepage/enabled", text, SETTING_MAX);
}

/* Is this the word that the system has chosen? */
static bool system_setting_is(const char *word)
{
	char text[SETTING_MAX];

	if (pretended_setting())
		return strcmp(pretended_setting(), word) == 0;
	if (is_learned)
		return strstr(learned, word) != NULL;
	read_setting(text);
	return strstr(text, word) != NULL;
}

void huge_learn(void)
{
	read_setting(learned);
	is_learned = true;
}

bool huge_is_system_always(void)
{
	return system_setting_is("[always]");
}

static bool is_large_enough(void)
{
	return slab_options()->huge == SLAB_HUGE_ALWAYS ||
	       account_used() >= __atomic_load_n(&next_from, __ATOMIC_RELAXED);
}

bool huge_is_wanted(void)
{
	unsigned now = __atomic_load_n(&state, __ATOMIC_RELAXED);
	int saved = errno;

	if (now == UNUSED || slab_options()->huge == SLAB_HUGE_NEVER || !is_large_enough())
		return false;
	if (now == UNKNOWN) {
		now = system_setting_is("[madvise]") && os_page_size() == 4096 ? USED : UNUSED;
		__atomic_store_n(&state, now, __ATOMIC_RELAXED);
	}
	errno = saved;
	return now == USED;
}

bool huge_populate(char *start)
{
	const uint64_t before = clock_us();
	int saved = errno;
	bool done;

	*(volatile char *)start = 0;
	done = madvise(start, HUGE_PAGE, MADV_COLLAPSE) == 0;
	errno = saved;
	__atomic_store_n(&next_from, account_used() + HUGE_GROWTH, __ATOMIC_RELAXED);
	if (!done)
		os_discard(start, HUGE_PAGE);
	if (!done || (slab_options()->huge == SLAB_HUGE_AUTO &&
		      pretended_time(clock_us() - before) >= HUGE_SLOW_US))
		__atomic_store_n(&state, UNUSED, __ATOMIC_RELAXED);
	return done;
}

/* A huge page that another thread populates meanwhile may be forgotten, which does no harm. */
void huge_review(void)
{
	uint64_t from = account_used() + HUGE_GROWTH;

	if (from < HUGE_LEAST)
		from = HUGE_LEAST;
	if (from < __atomic_load_n(&next_from, __ATOMIC_RELAXED))
		__atomic_store_n(&next_from, from, __ATOMIC_RELAXED);
}
