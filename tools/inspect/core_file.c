/* SPDX-License-Identifier: MIT */
/*
 * Core files as the kernel and gdb write them. libelf reads their headers and notes; this
 * file decodes the notes of Linux. It reads memory with pread() and does not map the file:
 * truncating the file then causes an error and no SIGBUS.
 */
#include "core_file.h"
#include "fail.h"

#include <sys/procfs.h>

/* Reading */

int core_read_at(int fd, uint64_t at, size_t size, void *to)
{
	if (at > INT64_MAX - size || pread(fd, to, size, (off_t)at) != (ssize_t)size)
		return -EFAULT;
	return 0;
}

/* The first segment that ends behind an address, or their number. */
static size_t find_segment(const struct core_file *core, uint64_t address)
{
	size_t low = 0, high = core->segments;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (core->segment[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool holds(const struct core_segment *segment, uint64_t address)
{
	return address >= segment->start && address < segment->end;
}

ssize_t core_file_read_some(struct core_file *core, uint64_t address, size_t size, void *to)
{
	const struct core_segment *segment;

	if (core->last >= core->segments || !holds(&core->segment[core->last], address))
		core->last = find_segment(core, address);
	if (core->last >= core->segments || !holds(&core->segment[core->last], address))
		return 0;
	segment = &core->segment[core->last];
	if (size > segment->end - address)
		size = segment->end - address;
	if (core_read_at(core->fd, segment->offset + (address - segment->start), size, to) != 0)
		return -EFAULT;
	return (ssize_t)size;
}

int core_file_read(struct core_file *core, uint64_t address, size_t size, void *to)
{
	unsigned char *next = to;

	while (size) {
		ssize_t n = core_file_read_some(core, address, size, next);

		if (n <= 0)
			return -EFAULT;
		next += n;
		address += (uint64_t)n;
		size -= (size_t)n;
	}
	return 0;
}

uint64_t core_file_gap(const struct core_file *core, uint64_t address, uint64_t size)
{
	const size_t next = find_segment(core, address);

	if (next < core->segments && core->segment[next].start - address < size)
		return core->segment[next].start - address;
	return size;
}

/* Opening */

static const struct {
	const char *name;
	size_t length;
	unsigned char magic[6];
} compressed[] = {
	{"zstd", 4, {0x28, 0xb5, 0x2f, 0xfd}},
	{"lz4", 4, {0x04, 0x22, 0x4d, 0x18}},
	{"gzip", 2, {0x1f, 0x8b}},
	{"xz", 6, {0xfd, '7', 'z', 'X', 'Z', 0}},
	{"bzip2", 3, {'B', 'Z', 'h'}},
};

static const char *compression(int fd)
{
	unsigned char start[6];

	if (core_read_at(fd, 0, sizeof(start), start) != 0)
		return NULL;
	for (size_t i = 0; i < sizeof(compressed) / sizeof(compressed[0]); i++) {
		if (memcmp(start, compressed[i].magic, compressed[i].length) == 0)
			return compressed[i].name;
	}
	return NULL;
}

static bool open_file(struct core_file *core, const char *path)
{
	struct stat status;
	const char *packed;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 || fstat(fd, &status) != 0) {
		fail("the core file \"%s\" cannot be opened: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return false;
	}
	core->fd = fd;
	packed = compression(fd);
	if (!S_ISREG(status.st_mode))
		fail("\"%s\" is a %s; --core needs a core file", path,
		     S_ISDIR(status.st_mode) ? "directory" : "device or pipe");
	else if (status.st_size == 0)
		fail("the core file \"%s\" is empty", path);
	else if (packed)
		fail("the core file \"%s\" is compressed (%s): decompress it first", path, packed);
	else
		return true;
	return false;
}

/* Checks the ELF header: a core file of this architecture. */
static bool open_elf(struct core_file *core, const char *path)
{
	int error = elf_file_open(&core->elf, core->fd);

	if (error == 0 && core->elf.header.e_type == ET_CORE)
		return true;
	if (error == 0)
		fail("\"%s\" is a program or library and no core file; programs are given with "
		     "--exe",
		     path);
	else if (error == -ENOEXEC)
		fail("\"%s\" is no core file: it does not begin as an ELF file does", path);
	else if (error == -ENOTSUP)
		fail("the core file \"%s\" is of another architecture than this slabinfo", path);
	else
		fail("the core file \"%s\" is damaged: its list of segments cannot be read", path);
	return false;
}

/* Every segment must be in the file as a whole. */
static bool check_length(const struct core_file *core, const char *path)
{
	struct stat status;
	uint64_t wanted = 0;

	for (size_t i = 0; i < core->elf.segments; i++) {
		GElf_Phdr segment;
		uint64_t end;

		if (!gelf_getphdr(core->elf.elf, (int)i, &segment) ||
		    (segment.p_type != PT_LOAD && segment.p_type != PT_NOTE))
			continue;
		if (__builtin_add_overflow(segment.p_offset, segment.p_filesz, &end))
			end = UINT64_MAX;
		wanted = end > wanted ? end : wanted;
	}
	if (fstat(core->fd, &status) == 0 && (uint64_t)status.st_size >= wanted)
		return true;
	fail("the core file \"%s\" is truncated: %" PRIu64 " of %" PRIu64 " bytes", path,
	     (uint64_t)status.st_size, wanted);
	return false;
}

static int by_start(const void *a, const void *b)
{
	const struct core_segment *left = a, *right = b;

	return (left->start > right->start) - (left->start < right->start);
}

/* The kernel lists inaccessible memory, too, as segments without contents. */
static bool is_guard(const GElf_Phdr *header)
{
	return header->p_type == PT_LOAD && !header->p_filesz && !(header->p_flags & (PF_R | PF_W));
}

static bool add_segments(struct core_file *core)
{
	uint64_t guard_end = 0;

	core->segment = calloc(core->elf.segments, sizeof(*core->segment));
	if (!core->segment)
		return false;
	for (size_t i = 0; i < core->elf.segments; i++) {
		GElf_Phdr header;
		uint64_t end;

		if (!gelf_getphdr(core->elf.elf, (int)i, &header))
			continue;
		if (is_guard(&header))
			guard_end = header.p_vaddr + header.p_memsz;
		if (header.p_type == PT_LOAD && header.p_filesz &&
		    !__builtin_add_overflow(header.p_vaddr, header.p_filesz, &end))
			core->segment[core->segments++] = (struct core_segment){
				.start = header.p_vaddr,
				.end = end,
				.offset = header.p_offset,
				.writable = header.p_flags & PF_W,
				.is_stack = guard_end == header.p_vaddr,
			};
	}
	qsort(core->segment, core->segments, sizeof(*core->segment), by_start);
	for (size_t i = 1; i < core->segments; i++) {
		/* If two segments overlap, the second one counts; no process has such mappings. */
		if (core->segment[i - 1].end > core->segment[i].start)
			core->segment[i - 1].end = core->segment[i].start;
	}
	return true;
}

/* Notes */

static void take_process(struct core_file *core, const struct elf_note *note)
{
	struct elf_prpsinfo info;

	if (note->size < sizeof(info))
		return;
	memcpy(&info, note->descriptor, sizeof(info));
	core->pid = info.pr_pid;
	memcpy(core->command, info.pr_fname, sizeof(info.pr_fname));
}

/* The fallback if the file has no NT_PRPSINFO: the thread that received the signal. */
static void take_thread(struct core_file *core, const struct elf_note *note)
{
	struct elf_prstatus status;

	if (note->size < sizeof(status) || core->pid)
		return;
	memcpy(&status, note->descriptor, sizeof(status));
	core->pid = status.pr_pid;
}

static void take_vector(struct core_file *core, const struct elf_note *note)
{
	Elf64_auxv_t entry;

	for (size_t at = 0; at + sizeof(entry) <= note->size; at += sizeof(entry)) {
		memcpy(&entry, note->descriptor + at, sizeof(entry));
		if (entry.a_type == AT_PHDR)
			core->program_headers = entry.a_un.a_val;
		if (entry.a_type == AT_RANDOM) /* which the kernel puts there */
			core->first_stack = entry.a_un.a_val;
	}
}

static bool take_note(const struct elf_note *note, void *arg)
{
	struct core_file *core = arg;

	if (elf_note_is(note, "CORE", NT_PRPSINFO))
		take_process(core, note);
	else if (elf_note_is(note, "CORE", NT_PRSTATUS))
		take_thread(core, note);
	else if (elf_note_is(note, "CORE", NT_AUXV))
		take_vector(core, note);
	return false;
}

static void mark_first_stack(struct core_file *core)
{
	const size_t i = find_segment(core, core->first_stack);

	if (i < core->segments && holds(&core->segment[i], core->first_stack))
		core->segment[i].is_stack = true;
}

/* Registers */

struct registers_walk {
	int (*fn)(const struct core_registers *registers, void *arg);
	void *arg;
	int result;
};

static void take_status(const struct elf_note *note, struct core_registers *registers)
{
	struct elf_prstatus status;

	if (note->size < sizeof(status))
		return;
	memcpy(&status, note->descriptor, sizeof(status));
	registers->tid = status.pr_pid;
#if defined(__x86_64__)
	registers->sp = status.pr_reg[19]; /* RSP of <sys/reg.h> */
#elif defined(__aarch64__)
	registers->sp = status.pr_reg[31];
#endif
}

/* The words of a note are aligned to four bytes only. */
static bool take_registers(const struct elf_note *note, void *arg)
{
	struct registers_walk *walk = arg;
	const bool is_status = elf_note_is(note, "CORE", NT_PRSTATUS);
	struct core_registers registers = {.count = note->size / sizeof(uint64_t)};
	uint64_t *words;

	if (!is_status && !elf_note_is(note, "CORE", NT_PRFPREG) &&
	    !elf_note_is(note, "LINUX", NT_X86_XSTATE))
		return false;
	words = malloc(note->size ? note->size : 1);
	if (!words) {
		walk->result = -ENOMEM;
		return true;
	}
	memcpy(words, note->descriptor, note->size);
	registers.words = words;
	if (is_status)
		take_status(note, &registers);
	walk->result = walk->fn(&registers, walk->arg);
	free(words);
	return walk->result != 0;
}

int core_file_each_registers(const struct core_file *core,
			     int (*fn)(const struct core_registers *registers, void *arg),
			     void *arg)
{
	struct registers_walk walk = {.fn = fn, .arg = arg};

	elf_file_each_note(&core->elf, take_registers, &walk);
	return walk.result;
}

bool core_file_open(struct core_file *core, const char *path)
{
	memset(core, 0, sizeof(*core));
	if (!open_file(core, path) || !open_elf(core, path) || !check_length(core, path))
		return false;
	if (!add_segments(core)) {
		fail("no memory for the core file \"%s\"", path);
		return false;
	}
	elf_file_each_note(&core->elf, take_note, core);
	mark_first_stack(core);
	return true;
}

void core_file_close(struct core_file *core)
{
	elf_file_close(&core->elf);
	if (core->fd > 0)
		close(core->fd);
	free(core->segment);
	memset(core, 0, sizeof(*core));
}

/* The note of mapped files: their count, the bytes of a page, start, end and file page of each, and
 * then the paths in the same order, each terminated by a zero. */

struct walk {
	bool (*fn)(const struct core_mapping *mapping, void *arg);
	void *arg;
	bool found, failed;
};

static uint64_t word(const struct elf_note *note, size_t i)
{
	uint64_t value;

	memcpy(&value, note->descriptor + i * sizeof(value), sizeof(value));
	return value;
}

static bool take_files(const struct elf_note *note, void *arg)
{
	const size_t words = note->size / sizeof(uint64_t);
	const char *path, *end = (const char *)note->descriptor + note->size;
	struct walk *walk = arg;
	uint64_t last = 0;

	if (!elf_note_is(note, "CORE", NT_FILE) || words < 2 || word(note, 0) > (words - 2) / 3)
		return false;
	walk->found = true;
	path = (const char *)note->descriptor + (2 + 3 * word(note, 0)) * sizeof(uint64_t);
	for (size_t i = 0; i < word(note, 0); i++) {
		const char *next = memchr(path, '\0', (size_t)(end - path));
		struct core_mapping mapping = {.start = word(note, 2 + 3 * i),
					       .end = word(note, 3 + 3 * i),
					       .offset = word(note, 4 + 3 * i) * word(note, 1),
					       .path = path};

		if (!next || mapping.start < last || mapping.end < mapping.start)
			break;
		if (!walk->fn(&mapping, walk->arg)) {
			walk->failed = true;
			break;
		}
		last = mapping.end;
		path = next + 1;
	}
	return true;
}

bool core_file_each_mapping(const struct core_file *core, const char *path,
			    bool (*fn)(const struct core_mapping *mapping, void *arg), void *arg)
{
	struct walk walk = {.fn = fn, .arg = arg};

	elf_file_each_note(&core->elf, take_files, &walk);
	if (walk.found && !walk.failed)
		return true;
	if (walk.failed)
		fail("no memory for the core file \"%s\"", path);
	else
		fail("the core file \"%s\" does not list the files that the process had mapped (it "
		     "has no NT_FILE note)",
		     path);
	return false;
}
