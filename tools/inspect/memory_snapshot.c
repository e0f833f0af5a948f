/* SPDX-License-Identifier: MIT */
/*
 * A copy of a live process's memory, of one moment: all threads stand still while it is made.
 *
 * The copy has what the process can write to: anonymous memory, data segments, and shared memory
 * that no file has. Of anonymous memory it has the pages that exist (/proc/PID/pagemap). Everything
 * else, such as code, does not change and is read from the process later.
 *
 * While the process stands still nothing else is done: the room for the copy is made before, and
 * its ranges are searched afterwards.
 */
#include "array.h"
#include "fail.h"
#include "freeze.h"
#include "kernel_words.h"
#include "memory_source.h"
#include "snapshot_maps.h"

#include <sys/mman.h>

#define PIECES_AT_ONCE 1024u /* the kernel's limit */
#define BYTES_AT_ONCE ((size_t)32 << 20)
#define ENTRIES_AT_ONCE 4096u
#define ROOM_SPARE ((size_t)64 << 20)

/* Pagemap: the page is in memory, or in swap space. */
#define PAGE_EXISTS (UINT64_C(3) << 62)

/* Adjoining pages, in the copy from `at` on. */
struct extent {
	uint64_t start, bytes, at;
};

struct copy {
	struct memory memory;
	struct memory *live; /* the mapped files and the root */
	struct snapshot *about;
	struct snapshot_maps maps;
	struct frozen frozen;
	struct kernel_words kernel;
	struct extent *extent; /* ordered by address */
	size_t extents, extent_room;
	char *pool;
	size_t pool_room, pool_used;
	int pagemap; /* -1: not readable */
	uint64_t deadline_us, page;
};

static struct copy *copy_of(struct memory *memory)
{
	return (struct copy *)memory;
}

/* Pages */

static bool is_late(const struct copy *copy)
{
	return freeze_now() > copy->deadline_us;
}

static int add_extent(struct copy *copy, uint64_t start, uint64_t bytes)
{
	struct extent *last = copy->extents ? &copy->extent[copy->extents - 1] : NULL;
	struct extent *extents;

	if (bytes > copy->pool_room - copy->pool_used)
		return -ENOMEM;
	if (last && last->start + last->bytes == start) {
		last->bytes += bytes;
		copy->pool_used += bytes;
		return 0;
	}
	extents =
		array_with_room(copy->extent, copy->extents, &copy->extent_room, sizeof(*extents));
	if (!extents)
		return -ENOMEM;
	copy->extent = extents;
	copy->extent[copy->extents++] = (struct extent){start, bytes, copy->pool_used};
	copy->pool_used += bytes;
	return 0;
}

/* Add the pages of a range that exist, by their entries in the page map. */
static int add_existing(struct copy *copy, uint64_t start, uint64_t end)
{
	uint64_t entry[ENTRIES_AT_ONCE];
	int error = 0;

	while (start < end && !error) {
		uint64_t pages = (end - start) / copy->page;
		const size_t n = pages < ENTRIES_AT_ONCE ? (size_t)pages : ENTRIES_AT_ONCE;

		if (pread(copy->pagemap, entry, n * sizeof(entry[0]),
			  (off_t)(start / copy->page * sizeof(entry[0]))) !=
		    (ssize_t)(n * sizeof(entry[0])))
			return add_extent(copy, start, end - start);
		for (size_t i = 0; i < n && !error; i++)
			if (entry[i] & PAGE_EXISTS)
				error = add_extent(copy, start + i * copy->page, copy->page);
		start += n * copy->page;
		if (is_late(copy))
			return -ETIMEDOUT;
	}
	return error;
}

/* List all that has to be copied. */
static int add_ranges(struct copy *copy)
{
	int error = 0;

	copy->extents = 0;
	copy->pool_used = 0;
	for (size_t i = 0; i < copy->maps.count && !error; i++) {
		const struct snapshot_range *range = &copy->maps.range[i];

		error = range->has_file || copy->pagemap < 0
				? add_extent(copy, range->start, range->end - range->start)
				: add_existing(copy, range->start, range->end);
	}
	return error;
}

/* Copying */

/* Copy a piece; what cannot be read stays zero. */
static void copy_piece(const struct copy *copy, uint64_t address, uint64_t bytes, uint64_t at)
{
	while (bytes) {
		struct iovec local = {copy->pool + at, bytes};
		struct iovec remote = {(void *)(uintptr_t)address, bytes};
		ssize_t n = process_vm_readv(copy->memory.thread, &local, 1, &remote, 1, 0);
		uint64_t done = n > 0 ? (uint64_t)n : copy->page - address % copy->page;

		done = done < bytes ? done : bytes;
		address += done;
		bytes -= done;
		at += done;
	}
}

/* The next pieces of extents; *from and *into say where they begin. */
static size_t take_pieces(const struct copy *copy, struct iovec *piece, size_t *from,
			  uint64_t *into, size_t *ret_bytes)
{
	size_t n = 0;

	*ret_bytes = 0;
	while (n < PIECES_AT_ONCE && *from < copy->extents && *ret_bytes < BYTES_AT_ONCE) {
		const struct extent *extent = &copy->extent[*from];
		size_t bytes = extent->bytes - *into;

		if (bytes > BYTES_AT_ONCE - *ret_bytes)
			bytes = BYTES_AT_ONCE - *ret_bytes;
		piece[n++] = (struct iovec){(void *)(uintptr_t)(extent->start + *into), bytes};
		*ret_bytes += bytes;
		*into += bytes;
		if (*into == extent->bytes) {
			++*from;
			*into = 0;
		}
	}
	return n;
}

static int copy_all(struct copy *copy)
{
	struct iovec piece[PIECES_AT_ONCE];
	size_t from = 0, at = 0, bytes, n;
	uint64_t into = 0;

	while ((n = take_pieces(copy, piece, &from, &into, &bytes))) {
		struct iovec local = {copy->pool + at, bytes};
		const ssize_t got = process_vm_readv(copy->memory.thread, &local, 1, piece, n, 0);

		for (size_t i = 0, next = at; i < n && got != (ssize_t)bytes; i++) {
			copy_piece(copy, (uintptr_t)piece[i].iov_base, piece[i].iov_len, next);
			next += piece[i].iov_len;
		}
		at += bytes;
		copy->about->bytes = at;
		if (is_late(copy))
			return -ETIMEDOUT;
	}
	return 0;
}

/* Reading */

static const struct extent *find_extent(const struct copy *copy, uint64_t address)
{
	size_t low = 0, high = copy->extents;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (copy->extent[middle].start + copy->extent[middle].bytes <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < copy->extents ? &copy->extent[low] : NULL;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Read bytes from an address on, `end` at most, which are in no extent: a page that does not exist
 * is zero, and other memory does not change. *ret_next: where the next bytes are. */
static int read_rest(struct copy *copy, uint64_t address, uint64_t end, void *to,
		     uint64_t *ret_next)
{
	const struct snapshot_range *range = snapshot_maps_find(&copy->maps, address);

	if (!range) {
		*ret_next = end;
		return memory_read(copy->live, address, end - address, to);
	}
	*ret_next = least(end, range->end);
	memset(to, 0, *ret_next - address);
	return 0;
}

static int copy_read(struct memory *memory, uint64_t address, size_t size, void *to)
{
	struct copy *copy = copy_of(memory);
	const uint64_t end = address + size;
	char *at = to;
	int error = end < address ? -EFAULT : 0;

	while (address < end && !error) {
		const struct extent *extent = find_extent(copy, address);
		uint64_t next = end;

		if (!extent || extent->start > address) {
			error = read_rest(copy, address, extent ? least(end, extent->start) : end,
					  at, &next);
		} else {
			next = least(end, extent->start + extent->bytes);
			memcpy(at, copy->pool + extent->at + (address - extent->start),
			       next - address);
		}
		at += next - address;
		address = next;
	}
	return error;
}

static int copy_each_range(struct memory *memory, memory_range_fn *fn, void *arg)
{
	struct copy *copy = copy_of(memory);
	int result = 0;

	for (size_t i = 0; i < copy->extents && !result; i++) {
		const struct extent *extent = &copy->extent[i];
		uint64_t at = extent->start;

		/* An extent may lie in several mappings. */
		while (at < extent->start + extent->bytes && !result) {
			const struct snapshot_range *range = snapshot_maps_find(&copy->maps, at);
			uint64_t end = extent->start + extent->bytes;

			end = range ? least(end, range->end) : end;
			result = fn(&(struct memory_range){at, end, range && range->is_stack}, arg);
			at = end;
		}
	}
	return result;
}

static int copy_each_thread(struct memory *memory, memory_thread_fn *fn, void *arg)
{
	const struct copy *copy = copy_of(memory);
	const struct memory_thread kernel = {0, 0, copy->kernel.word, copy->kernel.count};
	int result = fn(&kernel, arg);

	for (size_t i = 0; i < copy->frozen.threads && !result; i++) {
		const struct frozen_thread *thread = &copy->frozen.thread[i];

		result = fn(&(struct memory_thread){thread->tid, thread->sp, thread->words,
						    thread->count},
			    arg);
	}
	return result;
}

static void copy_close(struct memory *memory)
{
	struct copy *copy = copy_of(memory);

	freeze_free(&copy->frozen);
	kernel_words_free(&copy->kernel);
	snapshot_maps_free(&copy->maps);
	memory_close(copy->live);
	if (copy->pool)
		munmap(copy->pool, copy->pool_room);
	if (copy->pagemap >= 0)
		close(copy->pagemap);
	free(copy->extent);
	free(copy);
}

static const struct memory_source copy_source = {
	.read = copy_read,
	.each_range = copy_each_range,
	.each_thread = copy_each_thread,
	.close = copy_close,
	.live = false,
};

/* Opening */

/* The bytes of memory that this machine can still give; UINT64_MAX: unknown. */
static uint64_t available(void)
{
	uint64_t kib = UINT64_MAX >> 10;
	FILE *file = fopen("/proc/meminfo", "re");
	char line[128];

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "MemAvailable: %" SCNu64, &kib) == 1)
			break;
	}
	if (file)
		fclose(file);
	return kib << 10;
}

/* Make room, by what the process has now, and a quarter more: it goes on meanwhile. */
static bool make_room(struct copy *copy)
{
	uint64_t wanted;

	copy->pool_room = SIZE_MAX;
	if (snapshot_maps_read(&copy->maps, copy->memory.thread) != 0 || add_ranges(copy) != 0) {
		fail("the memory of process %d (%s) cannot be listed", copy->memory.pid,
		     copy->memory.command);
		return false;
	}
	wanted = copy->pool_used;
	if (wanted > available()) {
		fail("a copy of process %d (%s) needs %" PRIu64 " MiB, and %" PRIu64
		     " MiB are available; with gcore it can be written to a file for --core",
		     copy->memory.pid, copy->memory.command, wanted >> 20, available() >> 20);
		return false;
	}
	copy->pool_room = wanted + wanted / 4 + ROOM_SPARE;
	copy->pool = mmap(NULL, copy->pool_room, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (copy->pool == MAP_FAILED) {
		copy->pool = NULL;
		fail("no memory for a copy of process %d (%s)", copy->memory.pid,
		     copy->memory.command);
		return false;
	}
	/* Page faults would prolong the stop. An older kernel cannot do this. */
	madvise(copy->pool, wanted, MADV_POPULATE_WRITE);
	return true;
}

static int stop_and_copy(struct copy *copy)
{
	int error = kernel_words_find(&copy->kernel, copy->memory.pid);

	if (error)
		return error;
	copy->deadline_us = freeze_now() + (uint64_t)(copy->about->limit_s * 1e6);
	error = freeze(&copy->frozen, copy->memory.pid, copy->deadline_us);
	if (!error)
		error = snapshot_maps_read(&copy->maps, copy->memory.thread);
	if (!error)
		error = add_ranges(copy);
	if (!error)
		error = kernel_words_read(&copy->kernel, &copy->frozen);
	if (!error)
		error = copy_all(copy);
	copy->memory.hidden = copy->kernel.hidden;
	copy->memory.now_ms = freeze_now() / 1000;
	copy->about->still_us = thaw(&copy->frozen);
	return error;
}

static void report_failure(const struct copy *copy, int error)
{
	const pid_t pid = copy->memory.pid, tracer = freeze_tracer(pid);
	const char *command = copy->memory.command;

	if (copy->frozen.busy)
		fail("process %d (%s) cannot be stopped: its thread %d sleeps in the kernel, and no "
		     "signal wakes it (state D)",
		     pid, command, copy->frozen.busy);
	else if (error == -ETIMEDOUT)
		fail("process %d (%s) went on after %.2f s, with %" PRIu64
		     " of %zu MiB copied; --stop-limit=SECONDS lets it stand still for longer",
		     pid, command, (double)copy->about->still_us / 1e6, copy->about->bytes >> 20,
		     copy->pool_used >> 20);
	else if (error == -ESRCH || error == -ENOENT)
		fail("process %d (%s) has ended", pid, command);
	else if (error == -EPERM && tracer)
		fail("process %d (%s) cannot be stopped: process %d traces it; a core file (gcore) "
		     "can be read with --core",
		     pid, command, tracer);
	else if (error == -EPERM)
		fail("process %d (%s) cannot be stopped: this needs the right to trace it "
		     "(ptrace(2), /proc/sys/kernel/yama/ptrace_scope)",
		     pid, command);
	else
		fail("process %d (%s) cannot be copied: %s", pid, command, strerror(-error));
}

static struct copy *new_copy(struct memory *live, struct snapshot *about)
{
	struct copy *copy = calloc(1, sizeof(*copy));
	char name[64];

	if (!copy)
		return NULL;
	copy->memory.source = &copy_source;
	copy->memory.pid = live->pid;
	copy->memory.thread = live->thread;
	memcpy(copy->memory.command, live->command, sizeof(copy->memory.command));
	copy->memory.root = live->root;
	memcpy(copy->memory.copy, live->copy, sizeof(copy->memory.copy));
	copy->memory.copies = live->copies;
	copy->memory.mapping = live->mapping; /* which stay those of `live` */
	copy->memory.mappings = live->mappings;
	copy->live = live;
	copy->about = about;
	copy->page = (uint64_t)sysconf(_SC_PAGESIZE);
	copy->deadline_us = UINT64_MAX;
	snprintf(name, sizeof(name), "/proc/%d/pagemap", live->thread);
	copy->pagemap = open(name, O_RDONLY | O_CLOEXEC);
	return copy;
}

struct memory *memory_open_snapshot(pid_t pid, struct snapshot *snapshot)
{
	struct memory *live = memory_open_process(pid, "");
	struct copy *copy = live ? new_copy(live, snapshot) : NULL;
	int error;

	if (!live)
		return NULL;
	if (!copy) {
		fail("no memory for a copy of process %d", pid);
		memory_close(live);
		return NULL;
	}
	if (snapshot->progress)
		snapshot->progress("making room", 0, 0);
	if (!make_room(copy)) {
		copy_close(&copy->memory);
		return NULL;
	}
	error = stop_and_copy(copy);
	if (!error)
		return &copy->memory;
	report_failure(copy, error);
	copy_close(&copy->memory);
	return NULL;
}
