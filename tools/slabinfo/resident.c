/* SPDX-License-Identifier: MIT */
/*
 * What of the resident memory of a live process is libslab's: the lines below the default table.
 *
 * libslab counts the bytes of slabs that hold memory. Of metadata and large allocations it knows
 * only the address space; the kernel says which of their pages are resident (/proc/PID/pagemap).
 * The rest of the process's anonymous memory is its own: stacks, data, another malloc().
 */
#define _GNU_SOURCE
#include "proc.h"
#include "views.h"

#define ENTRIES_AT_ONCE 1024u
#define PAGE_PRESENT (UINT64_C(1) << 63)
#define PAGE_EXCLUSIVE (UINT64_C(1) << 56) /* this process alone maps it */
#define PAGE_BYTES_MAX 65536u
#define MESSAGE_TEXT 256

struct resident {
	pid_t pid;
	int pagemap;
	uint64_t page;
	uint64_t large, metadata;
	bool failed;
};

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Where a process has read a page that it never wrote, the kernel maps the zero page, which is no
 * memory of the process. A page of zeros that the process shares with a child counts as one,
 * too. */
static bool is_zero_page(const struct resident *resident, uint64_t entry, uint64_t page)
{
	static char bytes[PAGE_BYTES_MAX];
	const size_t size = (size_t)resident->page;
	const struct iovec to = {bytes, size};
	const struct iovec from = {(void *)(uintptr_t)(page * size), size};

	return !(entry & PAGE_EXCLUSIVE) && size <= sizeof(bytes) &&
	       process_vm_readv(resident->pid, &to, 1, &from, 1, 0) == (ssize_t)size &&
	       bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0;
}

static bool is_resident(const struct resident *resident, uint64_t entry, uint64_t page)
{
	return entry & PAGE_PRESENT && !is_zero_page(resident, entry, page);
}

/* The bytes from `start` on, up to `end`, that lie on resident pages. */
static uint64_t count_range(struct resident *resident, uint64_t start, uint64_t end)
{
	uint64_t entry[ENTRIES_AT_ONCE], bytes = 0;

	while (start < end && !resident->failed) {
		const uint64_t first = start / resident->page;
		const uint64_t left = (end - 1) / resident->page - first + 1;
		const size_t n = left < ENTRIES_AT_ONCE ? (size_t)left : ENTRIES_AT_ONCE;

		resident->failed =
			pread(resident->pagemap, entry, n * sizeof(entry[0]),
			      (off_t)(first * sizeof(entry[0]))) != (ssize_t)(n * sizeof(entry[0]));
		for (size_t i = 0; i < n && !resident->failed; i++) {
			const uint64_t next = least((first + i + 1) * resident->page, end);

			bytes += is_resident(resident, entry[i], first + i) ? next - start : 0;
			start = next;
		}
	}
	return bytes;
}

/* ["large", address, bytes]; a segment has a head, and perhaps slabs, which libslab counts. */
static void count_region(struct resident *resident, struct json_object *row, uint64_t head_bytes)
{
	const char *kind = json_object_get_string(json_object_array_get_idx(row, 0));
	const uint64_t start = json_object_get_uint64(json_object_array_get_idx(row, 1));
	uint64_t bytes = json_object_get_uint64(json_object_array_get_idx(row, 2));

	if (strcmp(kind, "segment") == 0)
		bytes = least(bytes, head_bytes);
	if (strcmp(kind, "large") == 0)
		resident->large += count_range(resident, start, start + bytes);
	else
		resident->metadata += count_range(resident, start, start + bytes);
}

/* Ask for the regions, without a message if the process has a libslab that does not know them. */
static struct json_object *query_regions(struct process *process)
{
	char message[MESSAGE_TEXT];
	struct json_object *answer;

	fail_capture(message, sizeof(message));
	answer = attach_query(process, "regions", NULL);
	fail_capture(NULL, 0);
	return answer;
}

static bool count_regions(struct resident *resident, struct process *process)
{
	struct json_object *answer = query_regions(process);
	struct json_object *regions = model_member(answer, "regions");
	const uint64_t head_bytes = model_number(answer, "head_bytes");
	char name[64];

	snprintf(name, sizeof(name), "/proc/%d/pagemap", process->pid);
	resident->pagemap = answer ? open(name, O_RDONLY | O_CLOEXEC) : -1;
	/* A process always has arrays. */
	resident->failed = resident->pagemap < 0 || !model_length(regions);
	for (size_t i = 0; i < model_length(regions) && !resident->failed; i++) {
		struct json_object *row = json_object_array_get_idx(regions, i);

		if (model_length(row) == 3)
			count_region(resident, row, head_bytes);
	}
	if (resident->pagemap >= 0)
		close(resident->pagemap);
	json_object_put(answer);
	return !resident->failed;
}

/* A line of /proc/PID/status, in bytes; 0: there is none. */
static uint64_t status_bytes(pid_t pid, const char *key)
{
	const long kib = proc_status_number(pid, key, 1);

	return kib > 0 ? (uint64_t)kib << 10 : 0;
}

/* All caches, also those that are not shown. */
static uint64_t object_bytes(const struct model *model)
{
	struct json_object *caches = model_member(model->document, "caches");
	uint64_t bytes = 0;

	for (size_t i = 0; i < model_length(caches); i++) {
		struct json_object *cache = json_object_array_get_idx(caches, i);

		bytes += model_number(cache, "objects") * model_number(cache, "object_size");
	}
	return bytes;
}

static void print_other(const struct options *options, pid_t pid, uint64_t sum)
{
	const uint64_t anonymous = status_bytes(pid, "RssAnon:");
	const uint64_t swapped = status_bytes(pid, "VmSwap:");
	char text[SIZE_TEXT];

	printf("RssAnon %s: ", size_shown(options, text, anonymous));
	if (anonymous >= sum)
		printf("other memory %s", size_shown(options, text, anonymous - sum));
	else
		printf("%s less than libslab counts", size_shown(options, text, sum - anonymous));
	if (swapped)
		printf("; %s more in swap space", size_shown(options, text, swapped));
	putchar('\n');
}

void view_resident(const struct options *options, struct process *process,
		   const struct model *model)
{
	struct json_object *about = model_member(model->document, "process");
	struct resident resident = {.pid = process->pid, .page = (uint64_t)sysconf(_SC_PAGESIZE)};
	const uint64_t slabs = model_number(about, "populated_bytes");
	const uint64_t objects = least(object_bytes(model), slabs);

	if (process->way == WAY_CORE || !count_regions(&resident, process))
		return;

	const struct memory_part parts[] = {
		{": objects", objects},
		{", slab overhead", slabs - objects},
		{", free slabs", model_number(about, "cached_bytes")},
		{", large", resident.large},
		{", metadata", resident.metadata},
	};

	print_other(options, process->pid,
		    print_parts(options, "Resident", parts, sizeof(parts) / sizeof(parts[0])));
}
