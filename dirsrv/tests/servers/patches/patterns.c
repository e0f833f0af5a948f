/* SPDX-License-Identifier: MIT */
/* A small server with each way to allocate and free that the semantic patch converts. It ends with
 * status 0 if its objects come from the caches that expect() names. */
#include "patterns.h"

struct chunk {
	struct chunk *next;
};
static struct chunk *item_chunks;
static Item *item_list;
static ldap_pvt_thread_mutex_t item_mutex;

int item_fill(int count)
{
	struct chunk *chunk = calloc(1, sizeof(struct chunk) + (size_t)count * sizeof(Item));
	Item *items = (Item *)(chunk + 1);

	chunk->next = item_chunks;
	item_chunks = chunk;
	for (int i = 0; i < count; i++) {
		items[i].next = item_list;
		item_list = items + i;
	}
	return 0;
}

Item *item_get(int number)
{
	Item *item;

	ldap_pvt_thread_mutex_lock(&item_mutex);
	if (!item_list)
		item_fill(10);
	item = item_list;
	item_list = item->next;
	item->next = NULL;
	ldap_pvt_thread_mutex_unlock(&item_mutex);
	item->number = number;
	return item;
}

Item *items_get(int count)
{
	Item *head = NULL;

	ldap_pvt_thread_mutex_lock(&item_mutex);
	while (count-- > 0) {
		Item *item;

		if (!item_list)
			item_fill(10);
		item = item_list;
		item_list = item->next;
		item->next = head;
		head = item;
	}
	ldap_pvt_thread_mutex_unlock(&item_mutex);
	return head;
}

void item_put(Item *item)
{
	item->number = 0;
	ldap_pvt_thread_mutex_lock(&item_mutex);
	item->next = item_list;
	item_list = item;
	ldap_pvt_thread_mutex_unlock(&item_mutex);
}

void items_put(Item *first)
{
	Item *last = first;

	while (last->next)
		last = last->next;
	ldap_pvt_thread_mutex_lock(&item_mutex);
	last->next = item_list;
	item_list = first;
	ldap_pvt_thread_mutex_unlock(&item_mutex);
}

static void plain_objects(void)
{
	Plain *array = calloc(10, sizeof(Plain)), **pointers = malloc(4 * sizeof(Plain *));
	struct holder holder = {.member = calloc(1, sizeof(struct plain))};
	Plain *object = (Plain *)malloc(sizeof(Plain));
	struct plain *other = (struct plain *)calloc(sizeof(struct plain), 1);

	expect(array, NULL);
	expect(pointers, NULL);
	expect(holder.member, "plain");
	expect(object, "plain");
	expect(other, "plain");
	pointers[0] = object;
	free((object));
	pointers[0] = get_memory(sizeof(*pointers[0]));
	expect(pointers[0], "plain");
	release((void **)(&pointers[0]));
	release((void **)&(holder.member));
	free_in((void *)other, NULL);
	free(array);
	free(pointers);
	if (holder.member || object == NULL)
		abort();
}

static void plain_release(Plain **where)
{
	release((void **)where);
}

static void locked_objects(void)
{
	Locked *locked = calloc(1, sizeof(Locked));

	locked->lock = lock_new();
	locked->value = 7;
	expect(locked, "locked");
	if (locked->lock)
		lock_delete(locked->lock);
	free(locked);
}

static void *outer_alloc(size_t size, void **inner)
{
	*inner = inner_new(0);
	return malloc(size);
}

static void outer_free(void *outer, void *inner)
{
	inner_free(inner, 1);
	free(outer);
}

static void pairs(void)
{
	Outer *outer;
	void *inner;

	outer = (Outer *)outer_alloc(sizeof(Outer), &inner);
	outer->inner = inner;
	expect(outer, "outer");
	outer_free(outer, outer->inner);
}

static void cursors(void)
{
	size_t size = sizeof(Cursor);
	Cursor *cursor = NULL, *longer;

	if ((cursor = malloc(size)) == NULL)
		abort();
	size += 100;
	longer = malloc(size);
	expect(cursor, "cursor");
	expect(longer, "cursor_long");
	free(cursor);
	free(longer);
}

static void contexts(void)
{
	struct context *in = &context;
	struct tree tree = {{in->get_zeroed(1, sizeof(Leaf), in)}};
	Leaf value = {"value"}, *leaf = in->get(sizeof(value), in);
	Leaf *array = in->get(2 * sizeof(Leaf), in);

	*leaf = value;
	expect(tree.branch.leaf, "leaf");
	expect(leaf, "leaf");
	expect(array, NULL);
	in->put(tree.x_leaf, in);
	in->put((char *)leaf, in);
	in->put(array, in);
	if (in->puts != 1)
		abort();
}

int main(void)
{
	Plain *plain = calloc(1, sizeof(*plain));
	Item *item = item_get(1), *items;
	struct chunk *chunk;

	ldap_pvt_thread_mutex_init(&item_mutex);
	expect(item, "item");
	item_put(item);
	items = items_get(100);
	expect(items, "item");
	items_put(items);
	plain_objects();
	plain_release(&plain);
	locked_objects();
	pairs();
	cursors();
	contexts();
	for (chunk = item_chunks; chunk; chunk = item_chunks) {
		item_chunks = chunk->next;
		free(chunk);
	}
	ldap_pvt_thread_mutex_destroy(&item_mutex);
	return plain ? 1 : 0;
}
