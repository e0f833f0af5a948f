/* SPDX-License-Identifier: MIT */
/* The smallest use: a cache, an object, and giving both back. */
#include <slab/slab.h>

#include <stdio.h>
#include <string.h>

struct session {
	int user;
	char name[100];
};

int main(void)
{
	struct slab_cache *cache = slab_cache_create("session", sizeof(struct session), NULL, 0);
	struct session *session;

	if (!cache) {
		perror("slab_cache_create");
		return 1;
	}
	session = slab_alloc(cache);
	if (!session) {
		perror("slab_alloc");
		return 1;
	}
	session->user = 1000;
	strcpy(session->name, "ada");
	printf("session of %s (user %d)\n", session->name, session->user);

	slab_free(cache, session);
	/* Not 0, with a report of each, when objects were forgotten. */
	return slab_cache_destroy(cache) ? 1 : 0;
}
