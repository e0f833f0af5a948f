/* SPDX-License-Identifier: MIT */
/*
 * Kernels of aarch64 that do not restart a sequence when they preempt its thread and resume it on
 * the same CPU. Two threads can then get one object. The self-test does not see it.
 *
 * First: 6.19 (https://lkml.iu.edu/2604.2/08673.html). Last: 7.0.13, because MongoDB, whose
 * allocator depends on the same promise, names 7.0.14 as the first that keeps it again
 * (https://github.com/docker-library/mongo/issues/765). Candidates of 7.1 count as broken. A kernel
 * of a distribution may have the repair under an older number: then another engine is in use.
 */
#include "rseq.h"

#include <string.h>
#include <sys/utsname.h>

#define FIRST_BROKEN VERSION(6, 19, 0)
#define FIRST_REPAIRED VERSION(7, 0, 14)
#define CANDIDATES VERSION(7, 1, 0)
#define NUMBER_MAX UINT64_C(0xffff)
#define VERSION(major, minor, patch)                                                               \
	(UINT64_C(major) << 32 | UINT64_C(minor) << 16 | UINT64_C(patch))

/* Take a number off the text. A larger one counts as NUMBER_MAX. */
static uint64_t take_number(const char **text)
{
	uint64_t number = 0;

	for (; **text >= '0' && **text <= '9'; ++*text)
		if (number <= NUMBER_MAX)
			number = number * 10 + (uint64_t)(**text - '0');
	return number < NUMBER_MAX ? number : NUMBER_MAX;
}

/* "7.0.13+deb14-arm64", "6.19-rc3" */
bool rseq_release_restarts(const char *release)
{
	uint64_t version = take_number(&release);

	for (unsigned i = 0; i < 2; i++) {
		version <<= 16;
		if (*release == '.') {
			release++;
			version |= take_number(&release);
		}
	}
	if (version == CANDIDATES && strncmp(release, "-rc", 3) == 0)
		return false;
	return version && (version < FIRST_BROKEN || version >= FIRST_REPAIRED);
}

#ifdef __aarch64__
bool rseq_kernel_restarts(void)
{
	struct utsname name;

	return uname(&name) == 0 && rseq_release_restarts(name.release);
}
#else
bool rseq_kernel_restarts(void)
{
	return true;
}
#endif
