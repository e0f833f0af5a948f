/* SPDX-License-Identifier: MIT */
/*
 * What an operator does about a directory that damages its entries. The bug itself
 * is spill.c's; the report is libslab's.
 */
#include "hunt.h"
#include "inspect.h"

#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static bool has_red_zones;

static void switch_on(const struct args *args)
{
	printf("\nSuppose that entries get damaged now and then. Debugging is switched on for\n"
	       "them, while the directory goes on:\n");
	has_red_zones = inspect_self(args, "-da", "db.entry");
}

/* The byte is written by the next worker that finds an entry, and noticed by the
 * listener that frees its copy. */
static void provoke(const struct args *args)
{
	const struct timespec pause = {.tv_nsec = 700000000};

	(void)args;
	if (!has_red_zones) {
		printf("(Without red zones the bug is left out: it would do its harm.)\n");
		return;
	}
	printf("\nNow the bug: a worker writes one byte beyond an entry.\n\n$ kill -USR1 %d\n",
	       (int)getpid());
	fflush(stdout);
	kill(getpid(), SIGUSR1);
	nanosleep(&pause, NULL);
	printf("\nlibslab repaired the byte and set the object aside, and the directory continues.\n"
	       "The report names the function that allocated the object: the first suspect.\n\n");
}

static void switch_off(const struct args *args)
{
	if (!has_red_zones)
		return;
	printf("\nDebugging is switched off again:\n");
	inspect_self(args, "-d", "db.entry");
}

const struct step hunt_steps[] = {
	{0.2, switch_on},
	{0.45, provoke},
	{0.75, switch_off},
	{1, NULL},
};
