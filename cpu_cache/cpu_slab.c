/* SPDX-License-Identifier: MIT */
/*
 * Functions on isolated slabs. Only one thread has the slab, so they need no sections. Only this
 * file knows both layouts of the freelist (struct cpu_slab). The next thread gets the slab
 * through a release: cpu_slab_set_owner(), a node's lock, or an exchange of the slab's remote
 * word.
 */
#include "cpu_cache.h"

#include <string.h>

_Static_assert(offsetof(struct cpu_freelist, bottom) + 2 == CPU_SLAB_STACK - CPU_SLAB_FREELIST,
	       "the bottom stands below the stack");

static CPU_EARLY bool links;

void cpu_slab_set_layout(bool has_links)
{
	links = has_links;
}

static uint64_t local(const struct cpu_slab *slab)
{
	return __atomic_load_n(&cpu_slab_freelist(slab)->local, __ATOMIC_RELAXED);
}

static void set_local(struct cpu_slab *slab, uint32_t low)
{
	uint64_t word = low;

	if (links) { /* a new transaction: pending exchanges fail */
		__atomic_store_n(&cpu_slab_freelist(slab)->tid, cpu_slab_freelist(slab)->tid + 1,
				 __ATOMIC_RELEASE);
		word |= (uint64_t)CPU_NONE << 32;
	}
	__atomic_store_n(&cpu_slab_freelist(slab)->local, word, __ATOMIC_RELEASE);
}

void cpu_slab_init(struct cpu_slab *slab, char *base, size_t size, unsigned room, const void *user)
{
	slab->base = cpu_slab_freelist(slab)->base = base;
	slab->size8 = (uint32_t)(size / 8);
	slab->reciprocal = ((UINT64_C(1) << 32) + slab->size8 - 1) / slab->size8;
	slab->next = 0;
	slab->room = room;
	cpu_slab_freelist(slab)->bottom = CPU_STACK_BOTTOM;
	__atomic_store_n(&slab->owner, CPU_NONE, __ATOMIC_RELAXED);
	set_local(slab, 0);
	__atomic_store_n(&slab->user, user, __ATOMIC_RELEASE);
}

unsigned cpu_slab_free_count(const struct cpu_slab *slab)
{
	uint64_t word = local(slab);

	if (links)
		return (unsigned)(word >> 16 & 0xffff);
	return (uint32_t)word;
}

static void put_links(struct cpu_slab *slab, unsigned n, const uint16_t *offset8)
{
	unsigned first = local(slab) & 0xffff, count = local(slab) >> 16 & 0xffff;

	for (unsigned i = 0; i < n; i++) {
		unsigned index = cpu_slab_index(slab, offset8[i]);

		__atomic_store_n(&cpu_slab_stack(slab)[index], (uint16_t)first, __ATOMIC_RELAXED);
		first = index + 1;
	}
	set_local(slab, first | (count + n) << 16);
}

void cpu_slab_put(struct cpu_slab *slab, unsigned n, const uint16_t *offset8)
{
	unsigned count = cpu_slab_free_count(slab);
	unsigned room = count < slab->room ? slab->room - count : 0;

	if (n > room) /* some objects were freed twice */
		n = room;
	if (!n)
		return;
	if (links) {
		put_links(slab, n, offset8);
		return;
	}

	uint32_t height = (uint32_t)local(slab);

	memcpy(cpu_slab_stack(slab) + height, offset8, n * sizeof(offset8[0]));
	set_local(slab, height + n);
}

static unsigned take_links(struct cpu_slab *slab, unsigned n, uint16_t *offset8)
{
	unsigned first = local(slab) & 0xffff, count = local(slab) >> 16 & 0xffff;
	unsigned taken = 0;

	for (; taken < n && first; taken++) {
		offset8[taken] = (uint16_t)((first - 1) * slab->size8);
		first = cpu_slab_stack(slab)[first - 1];
	}
	set_local(slab, first | (count - taken) << 16);
	return taken;
}

unsigned cpu_slab_take(struct cpu_slab *slab, unsigned n, uint16_t *offset8)
{
	if (links)
		return take_links(slab, n, offset8);

	uint32_t height = (uint32_t)local(slab);
	unsigned taken = n < height ? n : height;

	for (unsigned i = 0; i < taken; i++)
		offset8[i] = cpu_slab_stack(slab)[--height];
	set_local(slab, height);
	return taken;
}

void cpu_slab_each(struct cpu_slab *slab, void (*fn)(void *arg, uint16_t offset8), void *arg)
{
	if (!links) {
		uint32_t height = (uint32_t)local(slab);

		while (height)
			fn(arg, cpu_slab_stack(slab)[--height]);
		return;
	}

	/* The count bounds the loop: a damaged link must not make it endless. */
	unsigned first = local(slab) & 0xffff, count = local(slab) >> 16 & 0xffff;

	for (; first && count; count--) {
		fn(arg, (uint16_t)((first - 1) * slab->size8));
		first = cpu_slab_stack(slab)[first - 1];
	}
}

void cpu_slab_set_owner(struct cpu_slab *slab, uint32_t cpu)
{
	if (!links) {
		__atomic_store_n(&slab->owner, cpu, __ATOMIC_RELEASE);
		return;
	}
	__atomic_store_n(&cpu_slab_freelist(slab)->tid, cpu_slab_freelist(slab)->tid + 1,
			 __ATOMIC_RELEASE);
	__atomic_store_n(&cpu_slab_freelist(slab)->local,
			 (uint32_t)local(slab) | (uint64_t)cpu << 32, __ATOMIC_RELEASE);
}

uint32_t cpu_slab_owner(const struct cpu_slab *slab)
{
	if (!links)
		return (uint32_t)__atomic_load_n(&slab->owner, __ATOMIC_ACQUIRE);
	return (uint32_t)(__atomic_load_n(&cpu_slab_freelist(slab)->local, __ATOMIC_ACQUIRE) >> 32);
}
