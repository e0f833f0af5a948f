/* SPDX-License-Identifier: MIT */
/*
 * Return addresses as text, from the dynamic linker's data: the object that contains the
 * address, its load address, and the functions that it exports.
 *
 * libslab looks up nothing more in the process, because a report may be the last act of a
 * process with damaged memory. To run slab-symbolize from a report would take two clones with
 * shared memory (one hides the other from waitpid() and SIGCHLD) and up to ten seconds of
 * waiting. slab-symbolize finds the same names in the log at any later time. SLAB_SYMBOLS=on
 * passes reports through it from the start (filter.h).
 *
 * _dl_find_object() takes no lock and calls no malloc, and all tables read here are mapped
 * read-only. So they are as reliable in a crashing process as in any other. But dlclose() in
 * another thread may unmap them, and free the link_map: peek() reads both. Where it is refused,
 * they are read directly. C libraries without
 * it (glibc before 2.35, musl) have dl_iterate_phdr(). It calls no malloc either, but takes the
 * dynamic linker's lock: a report waits for a thread that is loading a library. In the child of
 * a fork that happened during such a load, it waits for ever.
 */
#define _GNU_SOURCE
#include "report/symbol.h"
#include "base/compiler.h"
#include "base/peek.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* Room for a name with "+0x" and an offset behind it. */
#define NAME_ROOM (SYMBOL_TEXT - (int)sizeof("+0x") - 2 * (int)sizeof(uintptr_t))

/* Bytes of a string that are read at once: no such piece is on two pages. */
#define PIECE 64u
#define BUCKETS_AT_ONCE 64u
#define SYMBOLS_AT_ONCE 32u

struct object {
	char name[NAME_ROOM]; /* its beginning, "" for the program itself */
	bool has_whole_name;
	uintptr_t name_at, dynamic;
	uintptr_t base; /* load address minus the address in the file */
	uintptr_t start, end;
};

/* The addresses of the tables of exported functions. */
struct exports {
	uintptr_t symbols, names;
	uintptr_t hash; /* DT_GNU_HASH */
};

/* --- reading what another thread may unmap ------------------------------------------------- */

static bool fetch(void *to, uintptr_t from, size_t len)
{
	const long copied = peek(to, (const void *)from, len);

	if (copied < 0 && copied != -EFAULT)
		memcpy(to, (const void *)from, len);
	return copied < 0 ? copied != -EFAULT : (size_t)copied == len;
}

static bool fetch_of(const struct object *object, void *to, uintptr_t from, size_t len)
{
	return from >= object->start && from < object->end && len <= object->end - from &&
	       fetch(to, from, len);
}

/* Copy a string, or its beginning if it does not fit. true: it fits. */
static bool fetch_text(char *to, size_t size, uintptr_t from)
{
	size_t len = 0, more;

	for (; len < size; len += more) {
		more = PIECE - (from + len) % PIECE;
		if (more > size - len)
			more = size - len;
		if (!from || !fetch(to + len, from + len, more))
			break;
		if (memchr(to + len, '\0', more))
			return true;
	}
	to[len < size ? len : size - 1] = '\0';
	return false;
}

/* --- the object of an address ---------------------------------------------------------------- */

/* The working directory at the start. LD_LIBRARY_PATH and dlopen() may have named objects
 * relative to it. */
static char start_dir[PATH_MAX];

/* Priority 101: runs before filter.c looks for slab-symbolize. */
__attribute__((constructor(101))) static void remember_start_dir(void)
{
	if (!getcwd(start_dir, sizeof(start_dir)))
		start_dir[0] = '\0';
}

/* look_up() takes frame - 1, because the call before a return address may be the last
 * instruction of its object. */
#ifdef SLAB_HAVE_DL_FIND_OBJECT
static bool look_up(const void *frame, struct object *object)
{
	struct dl_find_object found;
	struct link_map map;

	if (!frame || _dl_find_object((char *)frame - 1, &found) != 0 || !found.dlfo_link_map)
		return false;
	if (!fetch(&map, (uintptr_t)found.dlfo_link_map, sizeof(map)))
		return false;
	*object = (struct object){
		.name_at = (uintptr_t)map.l_name,
		.dynamic = (uintptr_t)map.l_ld,
		.base = map.l_addr,
		.start = (uintptr_t)found.dlfo_map_start,
		.end = (uintptr_t)found.dlfo_map_end,
	};
	return true;
}
#else
struct search {
	uintptr_t address;
	struct object *object;
};

static bool is_of_program(const struct dl_phdr_info *info)
{
	return (uintptr_t)info->dlpi_phdr == getauxval(AT_PHDR);
}

/* The range is that of _dl_find_object(): from the first loaded segment to the last. */
static void describe_object(const struct dl_phdr_info *info, struct object *object)
{
	*object = (struct object){
		.name_at = (uintptr_t)(is_of_program(info) ? "" : info->dlpi_name),
		.base = info->dlpi_addr,
		.start = UINTPTR_MAX,
	};
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + part->p_vaddr;

		if (part->p_type == PT_DYNAMIC)
			object->dynamic = start;
		if (part->p_type != PT_LOAD)
			continue;
		if (start < object->start)
			object->start = start;
		if (start + part->p_memsz > object->end)
			object->end = start + part->p_memsz;
	}
}

static int look_at_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	const struct search *search = arg;

	(void)size;
	describe_object(info, search->object);
	return search->address >= search->object->start && search->address < search->object->end;
}

static bool look_up(const void *frame, struct object *object)
{
	struct search search = {(uintptr_t)frame - 1, object};

	return frame && dl_iterate_phdr(look_at_object, &search);
}
#endif

static bool find_object(const void *frame, struct object *object)
{
	if (!look_up(frame, object))
		return false;
	object->has_whole_name = fetch_text(object->name, sizeof(object->name), object->name_at);
	return true;
}

/* false: it was unloaded since then. It may have been loaded again, to the same addresses: then
 * what was read in between is not its name. */
static bool is_still_there(const void *frame, const struct object *object)
{
	struct object now;

	return find_object(frame, &now) && now.name_at == object->name_at &&
	       now.base == object->base && now.end == object->end &&
	       strcmp(now.name, object->name) == 0;
}

static bool is_program(const struct object *object)
{
	return object->name[0] == '\0';
}

/* The vdso has a name but no file. */
static bool has_file(const struct object *object)
{
	return is_program(object) || strchr(object->name, '/');
}

/* A program that was replaced while it runs can be opened only as /proc/PID/exe. */
static bool program_path(char *path, size_t size)
{
	static const char deleted[] = " (deleted)";
	const size_t mark = sizeof(deleted) - 1;
	ssize_t len = readlink("/proc/self/exe", path, size);

	if (len <= 0 || (size_t)len >= size)
		return false;
	path[len] = '\0';
	if ((size_t)len > mark && strcmp(path + len - mark, deleted) == 0)
		return (size_t)snprintf(path, size, "/proc/%d/exe", (int)getpid()) < size;
	return true;
}

static bool object_path(const struct object *object, char *path, size_t size)
{
	size_t folder = 0;

	if (is_program(object))
		return program_path(path, size);
	if (object->name[0] != '/') {
		folder = (size_t)snprintf(path, size, "%s/", start_dir);
		if (!start_dir[0] || folder >= size)
			return false;
	}
	if (object->has_whole_name)
		return (size_t)snprintf(path + folder, size - folder, "%s", object->name) <
		       size - folder;
	return fetch_text(path + folder, size - folder, object->name_at);
}

SLAB_SLOWPATH bool symbol_locate(const void *frame, char *path, size_t size, uint64_t *ret_offset)
{
	int saved_errno = errno;
	struct object object;
	bool found = find_object(frame, &object) && has_file(&object) &&
		     object_path(&object, path, size) && is_still_there(frame, &object);

	if (found)
		*ret_offset = (uintptr_t)frame - object.base;
	errno = saved_errno;
	return found;
}

/* --- the exported function of an address ----------------------------------------------------- */

/* The linker relocates these addresses in place, except where it cannot write. */
static uintptr_t table(const struct object *object, uintptr_t address)
{
	return address < object->start ? address + object->base : address;
}

static bool find_exports(const struct object *object, struct exports *exports)
{
	uintptr_t at = object->dynamic;
	ElfW(Dyn) entry;

	*exports = (struct exports){0};
	for (; fetch_of(object, &entry, at, sizeof(entry)) && entry.d_tag != DT_NULL;
	     at += sizeof(entry)) {
		if (entry.d_tag == DT_SYMTAB)
			exports->symbols = table(object, entry.d_un.d_ptr);
		else if (entry.d_tag == DT_STRTAB)
			exports->names = table(object, entry.d_un.d_ptr);
		else if (entry.d_tag == DT_GNU_HASH)
			exports->hash = table(object, entry.d_un.d_ptr);
	}
	return exports->symbols && exports->names && exports->hash;
}

static bool covers(const ElfW(Sym) * symbol, uintptr_t offset)
{
	unsigned type = ELF64_ST_TYPE(symbol->st_info);

	return symbol->st_shndx != SHN_UNDEF && offset - symbol->st_value < symbol->st_size &&
	       (type == STT_FUNC || type == STT_GNU_IFUNC);
}

static unsigned underscores(const struct object *object, uintptr_t name)
{
	unsigned n = 0;
	char c;

	while (fetch_of(object, &c, name + n, 1) && c == '_')
		n++;
	return n;
}

/* Of several names of a function, prefer the one with fewer leading underscores: "write" to
 * "__write". A best symbol without size is none. */
static bool better(const struct object *object, const struct exports *exports,
		   const ElfW(Sym) * symbol, const ElfW(Sym) * best)
{
	if (!best->st_size || symbol->st_value != best->st_value)
		return !best->st_size || symbol->st_value > best->st_value;
	return underscores(object, exports->names + symbol->st_name) <
	       underscores(object, exports->names + best->st_name);
}

/* The highest number in a table of the hash table's buckets. */
static uint32_t highest(const struct object *object, uintptr_t bucket, uint32_t buckets)
{
	uint32_t number[BUCKETS_AT_ONCE], found = 0, n;

	for (uint32_t b = 0; b < buckets; b += n) {
		n = buckets - b < BUCKETS_AT_ONCE ? buckets - b : BUCKETS_AT_ONCE;
		if (!fetch_of(object, number, bucket + b * sizeof(*number), n * sizeof(*number)))
			return 0;
		for (uint32_t i = 0; i < n; i++)
			if (number[i] > found)
				found = number[i];
	}
	return found;
}

/*
 * The hash table lists exactly the exported symbols, which are the last ones of the symbol table.
 * A bucket has the number of the first symbol of a chain; the last entry of a chain has an odd
 * hash. Returns the number of the last symbol; 0: there is none, or the tables are gone.
 */
static uint32_t find_last(const struct object *object, const struct exports *exports,
			  uint32_t *ret_first)
{
	uint32_t head[4], last, hash = 0;
	uintptr_t bucket, chain;

	if (!fetch_of(object, head, exports->hash, sizeof(head)))
		return 0;
	*ret_first = head[1];
	bucket = exports->hash + sizeof(head) + (uintptr_t)head[2] * sizeof(ElfW(Addr));
	chain = bucket + (uintptr_t)head[0] * sizeof(hash);
	for (last = highest(object, bucket, head[0]); last && last >= head[1]; last++) {
		if (!fetch_of(object, &hash, chain + (last - head[1]) * sizeof(hash), sizeof(hash)))
			return 0;
		if (hash & 1)
			return last;
	}
	return 0;
}

/* Its st_size is 0: there is none. A function of its own, so that its tables leave the stack. */
static SLAB_SLOWPATH ElfW(Sym)
	find_export(const struct object *object, const struct exports *exports, uintptr_t offset)
{
	ElfW(Sym) symbol[SYMBOLS_AT_ONCE], best = {0};
	uint32_t first = 0, last = find_last(object, exports, &first), n;

	for (uint32_t at = first; last && at <= last; at += n) {
		n = last - at < SYMBOLS_AT_ONCE ? last - at + 1 : SYMBOLS_AT_ONCE;
		if (!fetch_of(object, symbol, exports->symbols + at * sizeof(*symbol),
			      n * sizeof(*symbol)))
			break;
		for (uint32_t i = 0; i < n; i++)
			if (covers(&symbol[i], offset) &&
			    better(object, exports, &symbol[i], &best))
				best = symbol[i];
	}
	return best;
}

/* --- text ------------------------------------------------------------------------------------- */

static const char *object_name(const struct object *object)
{
	const char *name = is_program(object) ? program_invocation_name : object->name;
	const char *slash = strrchr(name, '/');

	return slash ? slash + 1 : name;
}

/* Add the place: "name+0x1c (/path+0x5e12)". If both do not fit, leave out the name; if the
 * path alone does not fit, leave out the path. */
static void write_place(char *text, const struct object *object, uintptr_t offset)
{
	char place[SYMBOL_TEXT], path[NAME_ROOM - (int)sizeof(" ()")];
	const size_t len = strlen(text);

	if (has_file(object) && object_path(object, path, sizeof(path))) {
		size_t more = (size_t)snprintf(place, sizeof(place), " (%s+0x%lx)", path,
					       (unsigned long)offset);

		if (len && len + more < SYMBOL_TEXT)
			memcpy(text + len, place, more + 1);
		else
			memcpy(text, place + 1, more);
	} else if (!len) {
		snprintf(text, SYMBOL_TEXT, "%.*s+0x%lx", NAME_ROOM, object_name(object),
			 (unsigned long)offset);
	}
}

static void describe_in(const struct object *object, uintptr_t offset, char *text)
{
	ElfW(Sym) symbol = {0};
	struct exports exports;

	text[0] = '\0';
	if (find_exports(object, &exports))
		symbol = find_export(object, &exports, offset - 1);
	if (symbol.st_size) {
		fetch_text(text, NAME_ROOM + 1, exports.names + symbol.st_name);
		snprintf(text + strlen(text), SYMBOL_TEXT - NAME_ROOM, "+0x%lx",
			 (unsigned long)(offset - symbol.st_value));
	}
	write_place(text, object, offset);
}

static void describe(const void *frame, char *text)
{
	struct object object;

	if (!frame) {
		memcpy(text, "...", sizeof("..."));
		return;
	}
	if (find_object(frame, &object)) {
		describe_in(&object, (uintptr_t)frame - object.base, text);
		if (is_still_there(frame, &object))
			return;
	}
	snprintf(text, SYMBOL_TEXT, "0x%lx", (unsigned long)frame);
}

SLAB_SLOWPATH void symbolize(unsigned n, const void *const *frames, char (*text)[SYMBOL_TEXT])
{
	const int saved_errno = errno;

	for (unsigned i = 0; i < n; i++)
		describe(frames[i], text[i]);
	errno = saved_errno;
}
