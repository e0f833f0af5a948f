/* SPDX-License-Identifier: MIT */
/* See stub.h. */
#include "stub.h"

#include <stdlib.h>
#include <string.h>

unsigned long stub_calls;

void *slapi_ch_malloc(unsigned long size)
{
	__atomic_fetch_add(&stub_calls, 1, __ATOMIC_RELAXED);
	return size ? malloc(size) : NULL;
}

void *slapi_ch_calloc(unsigned long n, unsigned long size)
{
	__atomic_fetch_add(&stub_calls, 1, __ATOMIC_RELAXED);
	return n && size ? calloc(n, size) : NULL;
}

char *slapi_ch_strdup(const char *string)
{
	__atomic_fetch_add(&stub_calls, 1, __ATOMIC_RELAXED);
	return string ? strdup(string) : NULL;
}

char *slapi_ch_realloc(char *ptr, unsigned long size)
{
	return ptr ? realloc(ptr, size) : slapi_ch_malloc(size);
}

void slapi_ch_free(void **ptr)
{
	if (!ptr)
		return;
	free(*ptr);
	*ptr = NULL;
}

void *slapi_pblock_new(void)
{
	return slapi_ch_calloc(1, 88);
}

void *csn_new(void)
{
	return slapi_ch_calloc(1, 16);
}

void *operation_parameters_new(void)
{
	return slapi_ch_calloc(1, 112);
}

void *slapi_mods_new(void)
{
	return NULL;
}

/* Code after the call, so that it stays one. */
static void *used(void *ptr)
{
	__asm__ volatile("" : : "r"(ptr) : "memory");
	return ptr;
}

void *slapi_entry_alloc(void)
{
	return used(slapi_ch_calloc(1, 184));
}

void *slapi_attr_new(void)
{
	return used(slapi_ch_calloc(1, 136));
}

void *slapi_pblock_set(size_t size)
{
	return used(slapi_ch_calloc(1, size));
}

void *slapi_value_set_string(size_t size)
{
	return used(slapi_ch_malloc(size));
}

void *stub_unknown(size_t size)
{
	return used(slapi_ch_malloc(size));
}

__attribute__((noinline)) static void *hidden(size_t size)
{
	return used(slapi_ch_malloc(size));
}

void *stub_hidden(size_t size)
{
	return used(hidden(size));
}
