/* SPDX-License-Identifier: MIT */
/* A bug on demand: writes one byte behind an object. */
#include "traffic.h"

#include <signal.h>

static atomic_bool wanted;

static void want(int signal)
{
	(void)signal;
	atomic_store(&wanted, true);
}

void spill_on_signal(void)
{
	struct sigaction action = {.sa_handler = want, .sa_flags = SA_RESTART};

	sigaction(SIGUSR1, &action, NULL);
}

void spill(struct dirsrv_entry *copy)
{
	if (!atomic_load_explicit(&wanted, memory_order_relaxed) ||
	    !atomic_exchange(&wanted, false))
		return;
	/* As strcpy() does into a buffer without room for the final zero. */
	((volatile char *)copy)[memory_object_size("db.entry")] = '\0';
}
