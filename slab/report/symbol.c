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
 * read-only. So they are as reliable in a crashing process as in any other. C libraries without
 * it (glibc before 2.35, musl) have dl_iterate_phdr(). It calls no malloc either, but takes the
 * dynamic linker's lock: a report waits for a thread that is loading a library. In the child of
 * a fork that happened during such a load, it waits for ever.
 */
#define _GNU_SOURCE
#include "report/symbol.h"

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

struct object {
	const char *name; /* "" for the program itself */
	const ElfW(Dyn) * dynamic;
	uintptr_t base; /* load address minus the address in the file */
	uintptr_t start, end;
};

/* The tables of exported functions. */
struct exports {
	const ElfW(Sym) * symbols;
	const char *names;
	const uint32_t *hash; /* DT_GNU_HASH */
};

/* The working directory at the start. LD_LIBRARY_PATH and dlopen() may have named objects
 * relative to it. */
static char start_dir[PATH_MAX];

/* Priority 101: runs before filter.c looks for slab-symbolize. */
__attribute__((constructor(101))) static void remember_start_dir(void)
{
	if (!getcwd(start_dir, sizeof(start_dir)))
		start_dir[0] = '\0';
}

/* find_object() looks up frame - 1, because the call before a return address may be the last
 * instruction of its object. */
#ifdef SLAB_HAVE_DL_FIND_OBJECT
static bool find_object(const void *frame, struct object *object)
{
	struct dl_find_object found;

	if (!frame || _dl_find_object((char *)frame - 1, &found) != 0 || !found.dlfo_link_map)
		return false;
	*object = (struct object){
		.name = found.dlfo_link_map->l_name,
		.dynamic = found.dlfo_link_map->l_ld,
		.base = found.dlfo_link_map->l_addr,
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
		.name = is_of_program(info) ? "" : info->dlpi_name,
		.base = info->dlpi_addr,
		.start = UINTPTR_MAX,
	};
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + part->p_vaddr;

		if (part->p_type == PT_DYNAMIC)
			object->dynamic = (const ElfW(Dyn) *)start;
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

static bool find_object(const void *frame, struct object *object)
{
	struct search search = {(uintptr_t)frame - 1, object};

	return frame && dl_iterate_phdr(look_at_object, &search);
}
#endif

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
	const char *name = object->name;

	if (is_program(object))
		return program_path(path, size);
	if (name[0] == '/')
		return (size_t)snprintf(path, size, "%s", name) < size;
	return start_dir[0] && (size_t)snprintf(path, size, "%s/%s", start_dir, name) < size;
}

bool symbol_locate(const void *frame, char *path, size_t size, uint64_t *ret_offset)
{
	int saved_errno = errno;
	struct object object;
	bool found = find_object(frame, &object) && has_file(&object) &&
		     object_path(&object, path, size);

	if (found)
		*ret_offset = (uintptr_t)frame - object.base;
	errno = saved_errno;
	return found;
}

/* The linker relocates these addresses in place, except where it cannot write. */
static const void *table(const struct object *object, uintptr_t address)
{
	if (address < object->start)
		address += object->base;
	return address >= object->start && address < object->end ? (const void *)address : NULL;
}

static bool find_exports(const struct object *object, struct exports *exports)
{
	*exports = (struct exports){0};
	for (const ElfW(Dyn) *entry = object->dynamic; entry && entry->d_tag != DT_NULL; entry++) {
		if (entry->d_tag == DT_SYMTAB)
			exports->symbols = table(object, entry->d_un.d_ptr);
		else if (entry->d_tag == DT_STRTAB)
			exports->names = table(object, entry->d_un.d_ptr);
		else if (entry->d_tag == DT_GNU_HASH)
			exports->hash = table(object, entry->d_un.d_ptr);
	}
	return exports->symbols && exports->names && exports->hash;
}

static bool covers(const ElfW(Sym) * symbol, uintptr_t offset)
{
	unsigned type = ELF64_ST_TYPE(symbol->st_info);

	return symbol->st_shndx != SHN_UNDEF && offset - symbol->st_value < symbol->st_size &&
	       (type == STT_FUNC || type == STT_GNU_IFUNC);
}

/* Of several names of a function, prefer the one with fewer leading underscores: "write" to
 * "__write". */
static bool better(const struct exports *exports, const ElfW(Sym) * symbol, const ElfW(Sym) * best)
{
	if (!best || symbol->st_value != best->st_value)
		return !best || symbol->st_value > best->st_value;
	return strspn(exports->names + symbol->st_name, "_") <
	       strspn(exports->names + best->st_name, "_");
}

/* The hash table lists exactly the exported symbols, in chains; the last entry of a chain has an
 * odd hash. */
static const ElfW(Sym) * find_export(const struct exports *exports, uintptr_t offset)
{
	uint32_t buckets = exports->hash[0], first = exports->hash[1];
	size_t bloom_words = exports->hash[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
	const uint32_t *bucket = exports->hash + 4 + bloom_words;
	const uint32_t *chain = bucket + buckets;
	const ElfW(Sym) *best = NULL;

	for (uint32_t b = 0; b < buckets; b++) {
		for (uint32_t i = bucket[b]; i > 0; i++) {
			const ElfW(Sym) *symbol = &exports->symbols[i];

			if (covers(symbol, offset) && better(exports, symbol, best))
				best = symbol;
			if (chain[i - first] & 1)
				break;
		}
	}
	return best;
}

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

static void describe(const void *frame, char *text)
{
	const ElfW(Sym) *symbol = NULL;
	struct exports exports;
	struct object object;
	uintptr_t offset;

	if (!find_object(frame, &object)) {
		snprintf(text, SYMBOL_TEXT, "0x%lx", (unsigned long)frame);
		return;
	}
	offset = (uintptr_t)frame - object.base;
	text[0] = '\0';
	if (find_exports(&object, &exports))
		symbol = find_export(&exports, offset - 1);
	if (symbol)
		snprintf(text, SYMBOL_TEXT, "%.*s+0x%lx", NAME_ROOM,
			 exports.names + symbol->st_name,
			 (unsigned long)(offset - symbol->st_value));
	write_place(text, &object, offset);
}

void symbolize(unsigned n, const void *const *frames, char (*text)[SYMBOL_TEXT])
{
	const int saved_errno = errno;

	for (unsigned i = 0; i < n; i++)
		describe(frames[i], text[i]);
	errno = saved_errno;
}
