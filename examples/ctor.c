/* SPDX-License-Identifier: MIT */
/*
 * Objects that stay constructed: the mutex is initialised once when the object's
 * slab is made, not on every allocation. The other side of the bargain: objects
 * are freed as they were constructed, here with the mutex unlocked.
 */
#include <slab/define.h>

#include <pthread.h>
#include <stdio.h>

struct account {
	pthread_mutex_t lock;
	long balance;
};

SLAB_DEFINE_TYPED(account, struct account);

static int account_construct(void *object, void *arg)
{
	struct account *account = object;
	unsigned long *constructed = arg;

	++*constructed;
	return pthread_mutex_init(&account->lock, NULL);
}

static void account_destruct(void *object, void *arg)
{
	struct account *account = object;

	(void)arg;
	pthread_mutex_destroy(&account->lock);
}

int main(void)
{
	unsigned long constructed = 0;
	const struct slab_cache_args args = {
		.ctor = account_construct,
		.dtor = account_destruct,
		.arg = &constructed,
	};
	struct slab_cache *cache = account_cache_create(&args, SLAB_PANIC);

	for (int i = 0; i < 100000; i++) {
		struct account *account = account_alloc(cache);

		if (!account) {
			perror("account_alloc");
			return 1;
		}
		account->balance = i; /* what is not constructed is set each time */
		pthread_mutex_lock(&account->lock);
		account->balance++;
		pthread_mutex_unlock(&account->lock);
		account_free(cache, account);
	}
	printf("100000 accounts, %lu constructions\n", constructed);
	return slab_cache_destroy(cache) ? 1 : 0;
}
