/* SPDX-License-Identifier: MIT */
/* What patterns.c takes from the rest of a server. */
#pragma once

#include <slab/pointer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct plain {
	char text[40];
} Plain;

typedef struct item {
	struct item *next;
	int number;
} Item;

typedef struct locked {
	int value;
	void *lock;
} Locked;

typedef struct outer {
	void *inner;
	char text[80];
} Outer;

typedef struct cursor {
	char text[72];
} Cursor;

typedef struct leaf {
	char text[56];
} Leaf;

/* A memory context, which frees all that was allocated in it. */
struct context {
	void *(*get)(size_t size, struct context *context);
	void *(*get_zeroed)(size_t count, size_t size, struct context *context);
	void (*put)(void *memory, struct context *context);
	int puts;
};

union branch {
	Leaf *leaf;
};

struct tree {
	union branch branch;
};
#define x_leaf branch.leaf

struct holder {
	Plain *member;
};

typedef int ldap_pvt_thread_mutex_t;

void ldap_pvt_thread_mutex_init(ldap_pvt_thread_mutex_t *mutex);
void ldap_pvt_thread_mutex_destroy(ldap_pvt_thread_mutex_t *mutex);
void ldap_pvt_thread_mutex_lock(ldap_pvt_thread_mutex_t *mutex);
void ldap_pvt_thread_mutex_unlock(ldap_pvt_thread_mutex_t *mutex);
void *lock_new(void);
void lock_delete(void *lock);
void *inner_new(int flags);
void inner_free(void *inner, int with_buffer);
void *get_memory(size_t size);
extern struct context context;
void free_in(void *memory, void *context);
void release(void **where);
void expect(const void *memory, const char *cache);
