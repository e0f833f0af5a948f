/* SPDX-License-Identifier: MIT */
/*
 * Validation of lists. A list is followed as long as its slabs are slabs of the cache that say that
 * they are on it; the first that does not is a problem, and what lies behind it is not looked at.
 */
#include <errno.h>
#include <string.h>

#include "inspect/verify_lists.h"
#include "inspect/walk.h"

struct check {
	struct verify_lists *lists;
	const struct inspect_cache *cache;
	see_problem *fn;
	void *arg;
};

/* Is a mutex taken? The first two words of an unlocked one are 0 with glibc and musl. */
static bool is_locked(const pthread_mutex_t *mutex)
{
	uint64_t words;

	memcpy(&words, mutex, sizeof(words));
	return words != 0;
}

bool verify_node_is_locked(const struct verify_lists *lists, unsigned node)
{
	return node < lists->in->process.nodes && lists->node[node].locked;
}

int verify_lists_begin(struct verify_lists *lists, struct inspection *in)
{
	int error = 0;

	*lists = (struct verify_lists){.in = in};
	for (unsigned n = 0; n < in->process.nodes && !error; n++) {
		struct cache_node node;

		error = inspect_node(in, &in->caches[0], n, &node);
		if (error)
			return error;
		lists->node[n].locked = is_locked(&node.lock);
		lists->node[n].sorting = node.sort != 0;
		lists->locked += lists->node[n].locked;
	}
	return error;
}

void verify_lists_count(struct verify_lists *lists, const struct inspect_slab *slab)
{
	if (slab->slab.node >= lists->in->process.nodes)
		return;
	lists->node[slab->slab.node].slabs++;
	lists->node[slab->slab.node].listed += slab->slab.listed;
}

static const char *name_of(const struct check *check)
{
	return check->cache->copy->name;
}

/* --- slabs on lists -------------------------------------------------------------------------- */

static bool is_slab_of(const struct check *check, const struct slab *slab)
{
	return ((uintptr_t)slab->cpu.user & ~SLAB_TAGS) == check->cache->address;
}

static void tell_of_slab(const struct check *check, const char *list, unsigned number,
			 uint64_t slab, const char *why)
{
	struct bug_info bug;

	bug_info_begin(&bug, SLAB_PROBLEM_COUNT, name_of(check), "%s %u corrupt", list, number);
	bug_info_note(&bug, "Slab 0x%llx %s", (unsigned long long)slab, why);
	check->fn(&bug, check->arg);
}

/* Read the slab that a list leads to. false: it cannot be one. */
static bool read_slab(const struct check *check, uint64_t address, struct slab *slab)
{
	return address % CPU_CACHELINE == 0 &&
	       inspect_read(check->lists->in, address, sizeof(*slab), slab) == 0;
}

/* --- nodes ------------------------------------------------------------------------------------- */

/* Why a slab cannot be on this list of a node; NULL: it can. */
static const char *why_not_listed(const struct check *check, const struct slab *slab, unsigned node,
				  uint64_t before)
{
	if (!is_slab_of(check, slab))
		return "is not of this cache";
	if (slab->node != node)
		return "is of another node";
	if (!slab->listed)
		return "is not marked as listed";
	if ((uintptr_t)slab->prev != before)
		return "does not lead back to the slab before it";
	return NULL;
}

static void check_list(const struct check *check, const struct node_list *list, unsigned n,
		       const char *name, bool counts)
{
	uint64_t address = (uintptr_t)list->slabs.first, before = 0;
	struct walk walk = {.remembered = 0};
	unsigned counted = 0;
	struct bug_info bug;

	for (; address; counted++) {
		struct slab slab;
		const char *why = "cannot be read";

		if (goes_round(&walk, address))
			why = "is on it twice";
		else if (read_slab(check, address, &slab))
			why = why_not_listed(check, &slab, n, before);
		if (why) {
			tell_of_slab(check, name, n, address, why);
			return;
		}
		before = address;
		address = (uintptr_t)slab.next;
	}
	check->lists->node[n].counted += counted;
	if (!counts || counted == list->count)
		return;
	bug_info_begin(&bug, SLAB_PROBLEM_COUNT, name_of(check),
		       "%u partial slabs counted but counter=%u", counted, list->count);
	bug_info_note(&bug, "%s %u", name, n);
	check->fn(&bug, check->arg);
}

static void check_totals(const struct check *check, unsigned n, unsigned nr_slabs)
{
	const struct verify_node *node = &check->lists->node[n];
	struct bug_info bug;

	if (!node->sorting && node->listed != node->counted) {
		bug_info_begin(&bug, SLAB_PROBLEM_COUNT, name_of(check),
			       "%u slabs are marked as listed but %u are on lists", node->listed,
			       node->counted);
		bug_info_note(&bug, "Node %u", n);
		check->fn(&bug, check->arg);
	}
	/* A slab is counted before it names its cache, and while it is being released. */
	if (node->slabs > nr_slabs) {
		bug_info_begin(&bug, SLAB_PROBLEM_COUNT, name_of(check),
			       "%u slabs counted but counter=%u", node->slabs, nr_slabs);
		bug_info_note(&bug, "Node %u", n);
		check->fn(&bug, check->arg);
	}
}

static int check_node(const struct check *check, unsigned n)
{
	const struct inspection *in = check->lists->in;
	struct cache_node node;
	struct node_list profile;
	int error = inspect_node(in, check->cache, n, &node);

	if (error || check->lists->node[n].locked)
		return error;
	error = inspect_read(in, (uintptr_t)node.rest + offsetof(struct node_rest, profile),
			     sizeof(profile), &profile);
	if (error)
		return error;
	check_list(check, &node.partial, n, "Partial list of node", true);
	check_list(check, &node.sparse, n, "Sparse list of node", true);
	check_list(check, &node.debug, n, "List of debug slabs of node", false);
	check_list(check, &profile, n, "List of sampled slabs of node", false);
	check_totals(check, n, node.nr_slabs);
	return 0;
}

/* --- CPUs --------------------------------------------------------------------------------------- */

static uint32_t owner_of(const struct inspection *in, const struct slab *slab)
{
	return in->links ? (uint32_t)(slab->freelist.local >> 32) : (uint32_t)slab->cpu.owner;
}

/* Follow a list of slabs of a CPU, which all must be its own. */
static void check_owned(const struct check *check, uint64_t address, unsigned cpu, const char *name)
{
	struct walk walk = {.remembered = 0};
	struct slab slab;

	for (; address; address = slab.cpu.next & CPU_WORD_POINTER) {
		const char *why = "cannot be read";

		if (goes_round(&walk, address))
			why = "is on it twice";
		else if (read_slab(check, address, &slab))
			why = !is_slab_of(check, &slab) ? "is not of this cache"
			      : owner_of(check->lists->in, &slab) != cpu
				      ? "is not owned by this CPU"
				      : NULL;
		if (why) {
			tell_of_slab(check, name, cpu, address, why);
			return;
		}
	}
}

static void check_current(const struct check *check, const struct cpu_slot *slot, unsigned cpu)
{
	const uint64_t address = (uintptr_t)slot->current;
	struct slab slab;

	if (!address)
		return;
	if (!read_slab(check, address, &slab) || !is_slab_of(check, &slab))
		tell_of_slab(check, "Current slab of CPU", cpu, address, "is not of this cache");
	else if (owner_of(check->lists->in, &slab) != cpu)
		tell_of_slab(check, "Current slab of CPU", cpu, address,
			     "is not owned by this CPU");
}

static int check_cpu(const struct check *check, unsigned cpu)
{
	const uint64_t at =
		(uintptr_t)check->cache->copy->cpu_slots + ((uint64_t)cpu << CPU_AREA_SHIFT);
	struct cpu_slot slot;
	int error = inspect_read(check->lists->in, at, sizeof(slot), &slot);

	if (error)
		return error;
	/* A thread takes the slabs of this CPU, or is in a section of it. */
	if (slot.closed || slot.lock) {
		check->lists->locked++;
		return 0;
	}
	check_current(check, &slot, cpu);
	check_owned(check, slot.partial & CPU_WORD_POINTER, cpu, "Partial list of CPU");
	check_owned(check, slot.handed_off & CPU_WORD_POINTER, cpu, "Handed-off slabs of CPU");
	return 0;
}

int verify_lists_end(struct verify_lists *lists, see_problem *fn, void *arg)
{
	const struct check check = {lists, &lists->in->caches[0], fn, arg};
	int error = 0;

	for (unsigned n = 0; n < lists->in->process.nodes && !error; n++)
		error = check_node(&check, n);
	for (unsigned cpu = 0; cpu < lists->in->cpus && !error; cpu++)
		error = check_cpu(&check, cpu);
	return error;
}
