/* SPDX-License-Identifier: MIT */
/*
 * The clients: they say what bugs.c lets them say, each waiting for its answer, so
 * that the same happens in every run.
 */
#include "client.h"
#include "bugs.h"
#include "server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS_PER_SECOND 10
#define ROUNDS_WITHOUT_BUG 30

static int client[CLIENTS];

void client_connect(unsigned index, int fd)
{
	client[index] = fd;
}

/* What can be shown, and a dot for what lies between. */
static void show_answer(unsigned number, const char *line, const char *answer, size_t length)
{
	bool shows = true;

	while (length && (answer[length - 1] == '\n' || answer[length - 1] == '\r'))
		length--;
	printf("%u> %.*s\n%u< ", number, (int)strcspn(line, "\n"), line, number);
	for (size_t i = 0; i < length; i++) {
		bool can = answer[i] >= ' ' && answer[i] <= '~';

		if (can || shows)
			putchar(can ? answer[i] : '.');
		shows = can;
	}
	putchar('\n');
}

static ssize_t ask(unsigned number, const char *line, char answer[ANSWER_MAX])
{
	if (send(client[number - 1], line, strlen(line), MSG_NOSIGNAL) < 0)
		return -1;
	if (!strchr(line, '\n')) { /* no answer: wait until the server has seen it */
		number = CLIENTS;
		send(client[number - 1], "echo 0\n", 7, MSG_NOSIGNAL);
	}
	return recv(client[number - 1], answer, ANSWER_MAX, 0);
}

static void say(const char *const *script, bool show)
{
	static char answer[ANSWER_MAX];

	for (; *script; script++) {
		char *line;
		unsigned number = (unsigned)strtoul(*script, &line, 10);
		ssize_t length;

		if (!*++line) /* behind the colon */
			shutdown(client[number - 1], SHUT_WR);
		length = ask(number, line, answer);
		if (show && strchr(line, '\n'))
			show_answer(number, line, answer, length > 0 ? (size_t)length : 0);
		else if (show)
			printf("%u> %s\n", number, *line ? line : "(hangs up)");
	}
}

/* Everyday life, and the bug now and then. */
void clients_come_for(unsigned seconds)
{
	const struct timespec pause = {.tv_nsec = 1000000000 / ROUNDS_PER_SECOND};

	for (unsigned round = 1; round <= seconds * ROUNDS_PER_SECOND; round++) {
		say(everyday, false);
		if (round % ROUNDS_WITHOUT_BUG == 0)
			say(bugs[bug_chosen].script, false);
		say(evening, false);
		nanosleep(&pause, NULL);
	}
}

void clients_come_once(void)
{
	say(everyday, true);
	say(bugs[bug_chosen].script, true);
}

void clients_leave(void)
{
	for (unsigned i = 0; i < CLIENTS; i++)
		close(client[i]);
}
