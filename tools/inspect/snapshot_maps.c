/* SPDX-License-Identifier: MIT */
/* Choosing the mappings of a process that hold what it has written. */
#include "snapshot_maps.h"
#include "array.h"
#include "proc.h"

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* Memory of the kernel or of a device: to read it may fail, or have effects. */
static bool is_foreign(const char *path)
{
	return begins(path, "[v") ||
	       (begins(path, "/dev/") && !begins(path, "/dev/zero") && !begins(path, "/dev/shm/"));
}

/* Shared memory that is in no file: of memfd_create(2), shm_open(3), shmget(2), or anonymous. */
static bool is_shared_memory(const char *path)
{
	return begins(path, "/memfd:") || begins(path, "/dev/shm/") || begins(path, "/SYSV") ||
	       begins(path, "/dev/zero");
}

/* A private mapping can be written to, or could be once: a program may protect its data. */
static bool is_wanted(const char *modes, const char *path)
{
	const bool is_anonymous = path[0] != '/';

	if (modes[0] != 'r' || is_foreign(path))
		return false;
	if (modes[3] == 's')
		return is_shared_memory(path);
	return modes[1] == 'w' || (is_anonymous && modes[2] != 'x');
}

static bool add(struct snapshot_maps *maps, const struct snapshot_range *range)
{
	struct snapshot_range *ranges =
		array_with_room(maps->range, maps->count, &maps->room, sizeof(*ranges));

	if (!ranges)
		return false;
	maps->range = ranges;
	maps->range[maps->count++] = *range;
	return true;
}

static int add_line(char *line, void *arg)
{
	struct snapshot_maps *maps = arg;
	struct snapshot_range range = {.start = 0};
	char modes[5];
	int path = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %*u %n", &range.start, &range.end,
		   modes, &path) != 3 ||
	    !path)
		return 0;
	if (memcmp(modes, "---", 3) == 0)
		maps->guard_end = range.end;
	if (!is_wanted(modes, line + path))
		return 0;
	range.has_file = line[path] == '/';
	range.is_stack = begins(line + path, "[stack") ||
			 (!line[path] && modes[3] == 'p' && maps->guard_end == range.start);
	return add(maps, &range) ? 0 : -ENOMEM;
}

int snapshot_maps_read(struct snapshot_maps *maps, pid_t pid)
{
	maps->count = 0;
	maps->guard_end = 0;
	return proc_lines(pid, "maps", add_line, maps);
}

void snapshot_maps_free(struct snapshot_maps *maps)
{
	free(maps->range);
	*maps = (struct snapshot_maps){.range = NULL};
}

const struct snapshot_range *snapshot_maps_find(const struct snapshot_maps *maps, uint64_t address)
{
	size_t low = 0, high = maps->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (maps->range[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < maps->count && maps->range[low].start <= address ? &maps->range[low] : NULL;
}
