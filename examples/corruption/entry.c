/* SPDX-License-Identifier: MIT */
/* Entries: a list, the newest first. */
#include "bugs.h"
#include "server.h"

#include <stdio.h>
#include <string.h>

struct entry *entry_find(const char *name)
{
	struct entry *entry = server.newest;

	while (entry && strcmp(entry->name, name) != 0)
		entry = entry->next;
	return entry;
}

void entry_set_text(struct entry *entry, const char *text)
{
	if (bug_is(BUG_OVERFLOW) && strlen(text) <= sizeof(entry->text))
		strcpy(entry->text, text); /* checked, but for the zero at its end */
	else
		snprintf(entry->text, sizeof(entry->text), "%s", text);
}

struct entry *entry_make(const char *name, const char *text)
{
	struct entry *entry = need(entry_alloc(server.entries));

	if (!bug_is(BUG_UNINITIALISED))
		entry->hits = 0;
	snprintf(entry->name, sizeof(entry->name), "%s", name);
	entry_set_text(entry, text);
	entry->next = server.newest;
	server.newest = entry;
	return entry;
}

/* No connection watches the entry any more. */
static void forget_watched(const struct entry *entry)
{
	if (bug_is(BUG_USE_AFTER_FREE_WRITE) || bug_is(BUG_USE_AFTER_FREE_READ))
		return;
	for (unsigned i = 0; i < CLIENTS; i++)
		if (server.conn[i] && server.conn[i]->watched == entry)
			server.conn[i]->watched = NULL;
}

bool entry_delete(const char *name)
{
	struct entry *entry = entry_find(name), **link = &server.newest;

	if (!entry)
		return false;
	while (*link != entry)
		link = &(*link)->next;
	*link = entry->next;
	forget_watched(entry);
	entry_free(server.entries, entry);
	return true;
}

void entry_delete_all(void)
{
	while (server.newest) {
		struct entry *entry = server.newest;

		server.newest = entry->next;
		entry_free(server.entries, entry);
	}
}
