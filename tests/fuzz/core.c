/* SPDX-License-Identifier: MIT */
/*
 * Core files with something wrong in them: one of a real process, of which a few
 * words are changed, is asked everything, then they are put back. Nothing may
 * crash, hang, or answer with what is no JSON.
 *
 * What is changed: the headers, the notes, and what can be reached from
 * libslab's root by following words that are addresses, so that most changes hit
 * something that is read. Now and then the list of segments is another one, of the
 * core file or of a library in it: thousands of segments of notes, all of them huge.
 *
 * Input and core file together say what is done. FUZZ_CORE names the core file; one that is not
 * there is made, with gcore. Without FUZZ_CORE it is made for this run alone. Exit status 77: that
 * cannot be done here.
 */
#include "fail.h"
#include "memory.h"

#include <elf.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The functions that libFuzzer, or replay.cc, calls. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length);

#define SKIPPED 77
#define CHANGES_MAX 6
#define FORGED_EVERY 64

static const char root_magic[] = "slbroot0";

/* The file that is changed, and its segments as they were. */
static char path[] = "/tmp/core-fuzz-XXXXXX";
static unsigned char *bytes;
static size_t size;
static size_t root;
static Elf64_Phdr *segment;
static size_t segments;

/* Behind its end: a list of segments, and zeros that are their notes. */
#define FORGED_BYTES ((size_t)300 << 20)
#define FORGED_NOTES ((size_t)200 << 20)
#define FORGED_SEGMENTS 60000u
#define FORGED_ADDRESS (UINT64_C(1) << 40) /* where no process has anything */
static size_t forged;
static size_t library; /* the header of one that is in memory */

/* What is left of the input. Behind its end there are zeros. */
static const uint8_t *input, *input_end;

static uint64_t number_of(unsigned octets)
{
	uint64_t number = 0;

	while (octets--)
		number = number << 8 | (input < input_end ? *input++ : 0);
	return number;
}

static uint64_t random_number(void)
{
	return number_of(8);
}

static uint64_t below(uint64_t limit)
{
	unsigned octets = 1;

	while (octets < 8 && limit >> 8 * octets)
		octets++;
	return limit ? number_of(octets) % limit : 0;
}

/* Places */

/* Where an address is in the file; 0: nowhere. */
static size_t place_of(uint64_t address)
{
	for (size_t i = 0; i < segments; i++) {
		if (segment[i].p_type == PT_LOAD && address >= segment[i].p_vaddr &&
		    address - segment[i].p_vaddr < segment[i].p_filesz)
			return segment[i].p_offset + (address - segment[i].p_vaddr);
	}
	return 0;
}

static uint64_t address_of(size_t place)
{
	for (size_t i = 0; i < segments; i++) {
		if (segment[i].p_type == PT_LOAD && place >= segment[i].p_offset &&
		    place - segment[i].p_offset < segment[i].p_filesz)
			return segment[i].p_vaddr + (place - segment[i].p_offset);
	}
	return 0;
}

static size_t place_in_headers(void)
{
	return below(sizeof(Elf64_Ehdr) + segments * sizeof(Elf64_Phdr));
}

static size_t place_in_notes(void)
{
	for (size_t i = 0; i < segments; i++) {
		if (segment[i].p_type == PT_NOTE)
			return segment[i].p_offset + below(segment[i].p_filesz);
	}
	return 0;
}

/* The word near a place that is an address, or the place itself. */
static size_t follow(size_t place)
{
	for (int tries = 0; tries < 64; tries++) {
		size_t near = (place + below(512) * 8) & ~(size_t)7, target;
		uint64_t word;

		if (near > size - sizeof(word))
			continue;
		memcpy(&word, bytes + near, sizeof(word));
		target = word ? place_of(word) : 0;
		if (target)
			return target;
	}
	return place;
}

static size_t place_in_memory(void)
{
	size_t place = root;

	for (uint64_t steps = below(6); steps; steps--)
		place = follow(place);
	return place + below(below(2) ? 128 : 4096);
}

static size_t some_place(void)
{
	switch (below(8)) {
	case 0:
		return place_in_headers();
	case 1:
		return place_in_notes();
	case 2:
		return below(forged);
	default:
		return place_in_memory();
	}
}

/* Changes */

static struct change {
	size_t place;
	uint64_t before;
} changes[CHANGES_MAX];

static uint64_t changed(uint64_t word)
{
	static const uint64_t values[] = {
		0,
		1,
		2,
		255,
		4096,
		65536,
		INT32_MAX,
		UINT32_MAX,
		INT64_MAX,
		UINT64_MAX,
		UINT64_C(1) << 63,
		UINT64_C(0x7fffffff000),
		UINT64_MAX - 4095,
	};

	switch (below(6)) {
	case 0:
		return word ^ UINT64_C(1) << below(64);
	case 1:
		return values[below(sizeof(values) / sizeof(values[0]))];
	case 2:
		return (word & ~UINT64_C(0xffff)) | below(65536);
	case 3:
		return word + below(32) * 8 - 128;
	case 4:
		return (word & ~UINT64_C(0xff)) | values[below(13) % 13] % 256;
	default:
		return random_number();
	}
}

static void remember(struct change *one, size_t place)
{
	one->place = place > size - sizeof(one->before) ? size - sizeof(one->before) : place;
	memcpy(&one->before, bytes + one->place, sizeof(one->before));
}

static void change(struct change *one)
{
	size_t place = some_place();
	uint64_t word;

	remember(one, below(2) ? place & ~(size_t)7 : place);
	/* Sometimes it is what stands elsewhere: an address of something else. */
	if (below(4) == 0)
		memcpy(&word, bytes + (place_in_memory() & ~(size_t)7) % (size - 8), sizeof(word));
	else
		word = changed(one->before);
	memcpy(bytes + one->place, &word, sizeof(word));
}

static void set(struct change *one, size_t place, uint64_t word)
{
	remember(one, place);
	memcpy(bytes + one->place, &word, sizeof(word));
}

/* Some of the forged segments are those of the ELF header at a place. */
static void set_segments(struct change two[2], size_t place, uint64_t offset)
{
	const uint16_t number = (uint16_t)(below(2) ? FORGED_SEGMENTS : below(5000));
	const size_t last = place + offsetof(Elf64_Ehdr, e_phnum);
	uint64_t word;

	set(&two[0], place + offsetof(Elf64_Ehdr, e_phoff), offset);
	memcpy(&word, bytes + last, sizeof(word));
	memcpy(&word, &number, sizeof(number));
	set(&two[1], last, word);
}

/* Returns how many changes it took. */
static size_t forge(void)
{
	const size_t last = sizeof(Elf64_Ehdr) + (segments - 1) * sizeof(Elf64_Phdr);

	if (below(2)) {
		set_segments(changes, 0, forged);
		return 2;
	}
	/* The last segment has them, at an address that stands in the library's header. */
	set_segments(changes, library, FORGED_ADDRESS - address_of(library));
	set(&changes[2], last + offsetof(Elf64_Phdr, p_offset), forged);
	set(&changes[3], last + offsetof(Elf64_Phdr, p_vaddr), FORGED_ADDRESS);
	set(&changes[4], last + offsetof(Elf64_Phdr, p_filesz), FORGED_BYTES);
	return 5;
}

/* Asking */

static void check(const struct slab_answer *answer)
{
	struct json_object *document, *ok;

	if (!answer->text)
		return; /* no memory for it */
	document = json_tokener_parse(answer->text);
	if (!document || !json_object_object_get_ex(document, "ok", &ok)) {
		fprintf(stderr, "no JSON: %s\n", answer->text);
		abort();
	}
	json_object_put(document);
}

static void query_all(struct memory *memory)
{
	static const char *const requests[] = {
		"ping",
		"stats",
		"slabs",
		"slabs pblock",
		"traces allocated 0 entry",
		"traces freed 0",
		"objects",
		"object 4096",
		"regions",
		"validate",
		"validate entry",
	};
	uint64_t offset;

	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		struct slab_answer answer;

		memory_query(memory, requests[i], &answer);
		check(&answer);
		slab_answer_free(&answer);
	}
	memory_locate(memory, random_number() >> below(64), &offset);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
	struct memory *memory;
	size_t count;

	input = data;
	input_end = data + length;
	count = below(FORGED_EVERY) == FORGED_EVERY - 1 ? forge() : 0;
	for (size_t more = count ? 0 : 1 + below(CHANGES_MAX); more; more--)
		change(&changes[count++]);
	memory = memory_open_core(path, NULL);
	if (memory)
		query_all(memory);
	memory_close(memory);
	while (count-- > 0)
		memcpy(bytes + changes[count].place, &changes[count].before,
		       sizeof(changes[count].before));
	return 0;
}

/* The core file */

/* A server with tracks in one cache; -1: it could not be started. */
static pid_t start_server(void)
{
	int out[2];
	char byte;
	pid_t pid;

	if (pipe2(out, O_CLOEXEC) != 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		int silent[2];

		/* Its input never ends: it stays until it is killed. */
		if (pipe(silent) == 0)
			dup2(silent[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		setenv("SLAB_DEBUG", "FZPU,entry", 1);
		setenv("SLAB_CONTROL", "off", 1);
		execl(CONTROL_SERVER, CONTROL_SERVER, "plain", (char *)NULL);
		_exit(127);
	}
	close(out[1]);
	if (pid > 0 && read(out[0], &byte, 1) != 1)
		pid = -1;
	close(out[0]);
	return pid;
}

/* Make a core file with this name. */
static bool make_core(const char *name)
{
	char command[512];
	pid_t pid = start_server();
	bool ok;

	if (pid < 0)
		return false;
	snprintf(command, sizeof(command), "gcore -o %s %d >/dev/null 2>&1 && mv %s.%d %s", name,
		 pid, name, pid, name);
	ok = system(command) == 0;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return ok;
}

/* A copy of it that is changed and read. */
static bool load_segments(void)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)bytes;

	segments = header->e_phnum;
	if (size < sizeof(*header) || header->e_phoff != sizeof(*header) ||
	    size < sizeof(*header) + segments * sizeof(*segment))
		return false;
	segment = calloc(segments, sizeof(*segment));
	if (segment)
		memcpy(segment, header + 1, segments * sizeof(*segment));
	return segment;
}

/* Segments for an image at `start`: the same notes in a file and in memory. */
static void write_forged(uint64_t start)
{
	Elf64_Phdr *list = (Elf64_Phdr *)(bytes + forged);

	for (unsigned i = 0; i < FORGED_SEGMENTS; i++)
		list[i] = (Elf64_Phdr){.p_type = PT_NOTE,
				       .p_offset = size - FORGED_NOTES,
				       .p_vaddr =
					       FORGED_ADDRESS + FORGED_BYTES - FORGED_NOTES - start,
				       .p_filesz = FORGED_NOTES >> below(12)};
}

/* A library whose beginning is in the core file. */
static bool find_library(void)
{
	for (size_t i = 0; i < segments && !library; i++) {
		if (segment[i].p_type == PT_LOAD && segment[i].p_filesz >= sizeof(Elf64_Ehdr) &&
		    memcmp(bytes + segment[i].p_offset, ELFMAG, SELFMAG) == 0)
			library = segment[i].p_offset;
	}
	return library;
}

static bool load(const char *core)
{
	char command[256];
	struct stat status;
	int fd;

	snprintf(command, sizeof(command), "cp %s %s", core, path);
	if (system(command) != 0)
		return false;
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &status) != 0)
		return false;
	forged = ((size_t)status.st_size + 4095) & ~(size_t)4095;
	size = forged + FORGED_BYTES;
	if (ftruncate(fd, (off_t)size) != 0)
		return false;
	bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (bytes == MAP_FAILED || !load_segments() || !find_library())
		return false;
	write_forged(address_of(library));
	for (size_t at = 0; at + sizeof(root_magic) < forged; at += 8)
		if (memcmp(bytes + at, root_magic, 8) == 0)
			root = at;
	return root != 0;
}

static void remove_copy(void)
{
	unlink(path);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static char said[1024], made[sizeof(path) + 8];
	const char *core = getenv("FUZZ_CORE");
	const int fd = mkstemp(path);
	bool usable;

	(void)argc;
	(void)argv;
	if (fd < 0)
		exit(2);
	close(fd);
	atexit(remove_copy);
	snprintf(made, sizeof(made), "%s.core", path);
	if (!core || access(core, F_OK) != 0) {
		if (!make_core(core ? core : made)) {
			fprintf(stderr, "gcore makes no core file here\n");
			exit(SKIPPED);
		}
	}
	usable = load(core ? core : made);
	unlink(made);
	if (!usable) {
		fprintf(stderr, "%s is no core file that can be used\n", core ? core : made);
		exit(2);
	}
	fail_capture(said, sizeof(said));
	return 0;
}
