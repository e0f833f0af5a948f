/* SPDX-License-Identifier: MIT */
#include "target.h"

/* A number from 1 to INT_MAX; 0: it is none. */
static pid_t parse_pid(const char *text)
{
	char *end;
	long pid;

	errno = 0;
	pid = strtol(text, &end, 10);
	return isdigit((unsigned char)*text) && !*end && !errno && pid > 0 && pid <= INT_MAX
		       ? (pid_t)pid
		       : 0;
}

char **target_take(struct options *options, char **words)
{
	struct choice *choice = &options->choice;
	struct stat status;

	if (options->view != VIEW_FIND_LEAKS || !words[0] || choice->pid || choice->name ||
	    choice->core)
		return words;
	choice->pid = parse_pid(words[0]);
	if (!choice->pid && stat(words[0], &status) == 0)
		choice->core = words[0];
	return choice->pid || choice->core ? words + 1 : words;
}
