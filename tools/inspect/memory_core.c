/* SPDX-License-Identifier: MIT */
/*
 * The memory of a process in a core file. The file's segments have the addresses that are in
 * it; its notes have the process and the mapped files.
 *
 * A core file usually lacks memory that the process could not change: code and constants of
 * programs and libraries. These are read from the program and library files, if their
 * build-ids are those of the core file.
 */
#include "core_file.h"
#include "fail.h"
#include "memory_source.h"

/* A mapped file, to read bytes that the core file lacks. */
struct mapped_file {
	struct mapped_file *next;
	int fd;
	char path[];
};

struct core {
	struct memory memory;
	struct core_file file;
	const char *exe;     /* as given, or NULL */
	const char *program; /* its path in the core file; NULL: unknown */
	struct mapped_file *files;
};

static struct core *core_of(struct memory *memory)
{
	return (struct core *)memory;
}

/* Files */

static int read_dumped(void *core, uint64_t address, size_t size, void *to)
{
	return core_file_read(&((struct core *)core)->file, address, size, to);
}

/* The build-id of the image at an address, read only from the core file itself. */
static struct build_id build_id_of_memory(struct core *core, uint64_t start)
{
	struct build_id id = {.size = 0};
	struct elf_image image;

	if (elf_image_open(&image, read_dumped, core, start) == 0) {
		id = build_id_of_image(&image);
		elf_image_close(&image);
	}
	return id;
}

static bool is_program(const struct core *core, const char *path)
{
	return core->program && strcmp(core->program, path) == 0;
}

/* Is the file the one that was mapped? Compares build-ids where both are known. */
static bool is_same_file(struct core *core, const char *path, int fd)
{
	struct build_id then, now;

	for (size_t i = 0; i < core->memory.mappings; i++) {
		const struct mapping *mapping = &core->memory.mapping[i];

		if (mapping->offset != 0 || strcmp(mapping->path, path) != 0)
			continue;
		then = build_id_of_memory(core, mapping->start);
		now = build_id_of_file(fd);
		return !build_ids_differ(&then, &now);
	}
	return true;
}

/* Open a file that a core file names, if it is a regular file: opening anything else could block
 * or have side effects. Returns -1 and sets *ret_why on failure. */
static int open_named(const char *path, const char **ret_why)
{
	struct stat status;
	int fd;

	if (stat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
		*ret_why = "it is no regular file";
		return -1;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		*ret_why = strerror(errno);
	return fd;
}

/* Open the file that was mapped as `path`; returns -1 and sets memory->trouble on failure. */
static int open_mapped(struct core *core, const char *path)
{
	const bool program = is_program(core, path);
	const char *real = program && core->exe ? core->exe : path, *why;
	const char *hint = program ? "; give the program with --exe" : "";
	int fd = open_named(real, &why);

	if (fd < 0) {
		snprintf(core->memory.trouble, sizeof(core->memory.trouble),
			 "the core file leaves out what is in %.256s, which cannot be opened: %s%s",
			 real, why, hint);
		return -1;
	}
	if (is_same_file(core, path, fd))
		return fd;
	snprintf(core->memory.trouble, sizeof(core->memory.trouble),
		 "the core file leaves out what is in %.256s, which is another build than the "
		 "process had%s",
		 real, hint);
	close(fd);
	return -1;
}

static struct mapped_file *find_file(struct core *core, const char *path)
{
	struct mapped_file *file = core->files;
	const size_t size = strlen(path) + 1;
	int fd;

	while (file && strcmp(file->path, path) != 0)
		file = file->next;
	if (file || (fd = open_mapped(core, path)) < 0)
		return file;
	file = malloc(sizeof(*file) + size);
	if (!file) {
		close(fd);
		return NULL;
	}
	memcpy(file->path, path, size);
	file->fd = fd;
	file->next = core->files;
	core->files = file;
	return file;
}

/* Reading */

/* Read bytes that the core file lacks from the file that was mapped there. Returns the number of
 * contiguous bytes read, or -EFAULT. */
static ssize_t read_mapped(struct core *core, uint64_t address, size_t size, void *to)
{
	const struct mapping *mapping = memory_find_mapping(&core->memory, address);
	const struct mapped_file *file = mapping ? find_file(core, mapping->path) : NULL;
	uint64_t left;

	if (!file)
		return -EFAULT;
	left = core_file_gap(&core->file, address, mapping->end - address);
	if (size > left)
		size = left;
	if (core_read_at(file->fd, mapping->offset + (address - mapping->start), size, to) != 0)
		return -EFAULT;
	return (ssize_t)size;
}

static int core_read(struct memory *memory, uint64_t address, size_t size, void *to)
{
	struct core *core = core_of(memory);
	unsigned char *at = to;

	while (size) {
		ssize_t n = core_file_read_some(&core->file, address, size, at);

		if (n == 0)
			n = read_mapped(core, address, size, at);
		if (n < 0)
			return -EFAULT;
		at += n;
		address += (uint64_t)n;
		size -= (size_t)n;
	}
	return 0;
}

/* Searching */

/* What no file has, and what the program could write to. */
static int core_each_range(struct memory *memory, memory_range_fn *fn, void *arg)
{
	const struct core *core = core_of(memory);
	int result = 0;

	for (size_t i = 0; i < core->file.segments && !result; i++) {
		const struct core_segment *segment = &core->file.segment[i];

		if (segment->writable || !memory_find_mapping(memory, segment->start))
			result = fn(&(struct memory_range){segment->start, segment->end,
							   segment->is_stack},
				    arg);
	}
	return result;
}

struct thread_walk {
	memory_thread_fn *fn;
	void *arg;
};

static int see_registers(const struct core_registers *registers, void *arg)
{
	const struct thread_walk *walk = arg;

	return walk->fn(&(struct memory_thread){registers->tid, registers->sp, registers->words,
						registers->count},
			walk->arg);
}

static int core_each_thread(struct memory *memory, memory_thread_fn *fn, void *arg)
{
	struct thread_walk walk = {fn, arg};

	return core_file_each_registers(&core_of(memory)->file, see_registers, &walk);
}

static void core_close(struct memory *memory)
{
	struct core *core = core_of(memory);

	while (core->files) {
		struct mapped_file *file = core->files;

		core->files = file->next;
		close(file->fd);
		free(file);
	}
	core_file_close(&core->file);
	memory_free_mappings(memory);
	free(core);
}

static const struct memory_source core_source = {
	.read = core_read,
	.each_range = core_each_range,
	.each_thread = core_each_thread,
	.close = core_close,
	.live = false,
};

/* Opening */

static bool add_mapping(const struct core_mapping *mapped, void *arg)
{
	struct core *core = arg;
	const struct mapping mapping = {.start = mapped->start,
					.end = mapped->end,
					.offset = mapped->offset,
					.bias_state = BIAS_UNKNOWN};

	return memory_add_mapping(&core->memory, &mapping, mapped->path);
}

/* Set pid and name of the process that dumped core; the name is made printable. */
static void set_process(struct core *core)
{
	const struct mapping *mapping =
		memory_find_mapping(&core->memory, core->file.program_headers);

	core->memory.pid = core->file.pid;
	snprintf(core->memory.command, sizeof(core->memory.command), "%s", core->file.command);
	make_printable(core->memory.command);
	core->program = mapping ? mapping->path : NULL;
}

/* --exe must name the program of the core file. */
static bool check_exe(struct core *core, const char *path)
{
	const char *why;
	int fd = open_named(core->exe, &why);
	struct build_id id;
	bool same;

	if (fd < 0) {
		fail("the program \"%s\" cannot be opened: %s", core->exe, why);
		return false;
	}
	id = build_id_of_file(fd);
	same = core->program && id.size && is_same_file(core, core->program, fd);
	close(fd);
	if (!same)
		fail("\"%s\" is not the program that left the core file \"%s\"%s%s", core->exe,
		     path, core->program ? ", which was " : "", core->program ? core->program : "");
	return same;
}

/* There may be no note because the file that contains it is missing. */
static void report_no_root(struct core *core, const char *path, int error)
{
	if (error == -ENODATA)
		fail("process %d (%s), which left the core file \"%s\", had no caches",
		     core->memory.pid, core->memory.command, path);
	else if (core->program && !find_file(core, core->program))
		fail("%s", core->memory.trouble);
	else
		fail("process %d (%s), which left the core file \"%s\", did not use libslab",
		     core->memory.pid, core->memory.command, path);
}

static bool find_root(struct core *core, const char *path)
{
	int error = memory_find_root(&core->memory);

	if (error == 0 || error == -EPROTO) /* memory_query() reports the latter */
		return true;
	report_no_root(core, path, error);
	return false;
}

struct memory *memory_open_core(const char *path, const char *exe)
{
	struct core *core = calloc(1, sizeof(*core));

	if (!core) {
		fail("no memory for the core file \"%s\"", path);
		return NULL;
	}
	core->memory.source = &core_source;
	core->memory.hidden = MEMORY_HIDDEN_EPOLL | MEMORY_HIDDEN_IO_URING | MEMORY_HIDDEN_SIGNALS |
			      MEMORY_HIDDEN_TIMERS;
	core->exe = exe;
	if (!core_file_open(&core->file, path) ||
	    !core_file_each_mapping(&core->file, path, add_mapping, core))
		goto failed;
	set_process(core);
	if ((!exe || check_exe(core, path)) && find_root(core, path))
		return &core->memory;
failed:
	core_close(&core->memory);
	return NULL;
}
