/* SPDX-License-Identifier: MIT */
#include "known_types.h"
#include "job.h"
#include "types.h"

#include <string.h>

/* The token of a process whose types have no names. */
#define EVERY UINT64_C(0)

struct known {
	uint64_t token;
	pid_t pid;
	char name[64]; /* "": it is not in the files of this process */
};

#define KNOWN_MAX (TYPES_BYTES_MAX / sizeof(struct known))

/* The oldest are forgotten. A child has those of its parent, and then its own. */
static struct known known[KNOWN_MAX];
static size_t count, inherited;

static void add(const struct known *one)
{
	known[count++ % KNOWN_MAX] = *one;
}

static const struct known *find(pid_t pid, uint64_t token)
{
	for (size_t i = 0; i < count && i < KNOWN_MAX; i++)
		if (known[i].pid == pid && (known[i].token == token || known[i].token == EVERY))
			return &known[i];
	return NULL;
}

static const char *name_of(struct process *process, uint64_t token, char text[64])
{
	const struct known *has = find(process->pid, token);
	struct known one = {.token = token, .pid = process->pid};
	const char *name;

	if (!has) {
		name = types_find(process, token, text);
		if (name)
			snprintf(one.name, sizeof(one.name), "%s", name);
		add(&one);
		has = &one;
	}
	memcpy(text, has->name, sizeof(has->name));
	return *text ? text : NULL;
}

void known_types_begin(void)
{
	inherited = count;
	if (types_begin(NULL))
		attach_name_types(name_of);
}

bool known_types_send(int fd)
{
	for (size_t i = inherited; i < count && i < inherited + KNOWN_MAX; i++)
		if (!job_write(fd, &known[i % KNOWN_MAX], sizeof(known[0])))
			return false;
	return true;
}

void known_types_learn(const char *data, size_t length)
{
	struct known one;

	for (; length >= sizeof(one); data += sizeof(one), length -= sizeof(one)) {
		memcpy(&one, data, sizeof(one));
		one.name[sizeof(one.name) - 1] = '\0';
		add(&one);
	}
}

void known_types_give_up(pid_t pid)
{
	add(&(struct known){.token = EVERY, .pid = pid});
}
