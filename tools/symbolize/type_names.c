/* SPDX-License-Identifier: MIT */
/*
 * A hash table of the names of types. The compiler's hash is SipHash-2-4 of the name with a key of
 * its own, modulo 2^63 - 1. Types that contain a pointer have the upper half of the tokens.
 */
#include "type_names.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define HALF ((UINT64_C(1) << 63) - 1)
/* Of a qualified name. Longer ones are cut. */
#define NAME_BYTES ((size_t)4096)
#define NAME_SHOWN 56u
#define DEPTH_MAX 64u

struct entry {
	uint64_t hash;
	char *name; /* NULL: empty */
	uint64_t bytes; /* of the type; 0: unknown */
	bool differs; /* two types with this name differ in size */
};

struct type_names {
	struct entry *entries;
	size_t room, count; /* at most half of the entries are in use */
};

/* --- the hash ----------------------------------------------------------------------------- */

static uint64_t rotate(uint64_t x, unsigned bits)
{
	return x << bits | x >> (64 - bits);
}

static void sip_rounds(uint64_t v[4], unsigned rounds)
{
	for (; rounds; rounds--) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = rotate(v[1], 13) ^ v[0];
		v[3] = rotate(v[3], 16) ^ v[2];
		v[0] = rotate(v[0], 32);
		v[2] += v[1];
		v[0] += v[3];
		v[1] = rotate(v[1], 17) ^ v[2];
		v[3] = rotate(v[3], 21) ^ v[0];
		v[2] = rotate(v[2], 32);
	}
}

static void sip_word(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	sip_rounds(v, 2);
	v[0] ^= word;
}

/* SipHash-2-4 with the key that LLVM uses for stable hashes of names. */
static uint64_t name_hash(const char *name)
{
	const uint64_t k0 = UINT64_C(0x794a1079ebc9d4b5), k1 = UINT64_C(0xd48187421b8bec6f);
	uint64_t v[4] = {k0 ^ UINT64_C(0x736f6d6570736575), k1 ^ UINT64_C(0x646f72616e646f6d),
			 k0 ^ UINT64_C(0x6c7967656e657261), k1 ^ UINT64_C(0x7465646279746573)};
	const size_t length = strlen(name), whole = length / 8 * 8;
	uint64_t word;

	for (size_t i = 0; i < whole; i += 8) {
		memcpy(&word, name + i, 8);
		sip_word(v, word);
	}
	word = 0;
	memcpy(&word, name + whole, length - whole);
	sip_word(v, word | (uint64_t)length << 56);
	v[2] ^= 0xff;
	sip_rounds(v, 4);
	return (v[0] ^ v[1] ^ v[2] ^ v[3]) % HALF;
}

/* --- the table ---------------------------------------------------------------------------- */

/* The entry of a hash, or an empty one. */
static struct entry *find(const struct type_names *names, uint64_t hash)
{
	size_t i = hash & (names->room - 1);

	while (names->entries[i].name && names->entries[i].hash != hash)
		i = (i + 1) & (names->room - 1);
	return &names->entries[i];
}

static bool reserve(struct type_names *names)
{
	const struct type_names old = *names;

	if ((names->count + 1) * 2 <= names->room)
		return true;
	names->room = old.room ? 2 * old.room : 1024;
	names->entries = calloc(names->room, sizeof(*names->entries));
	if (!names->entries) {
		*names = old;
		return false;
	}
	for (size_t i = 0; i < old.room; i++)
		if (old.entries[i].name)
			*find(names, old.entries[i].hash) = old.entries[i];
	free(old.entries);
	return true;
}

/* The end of what '<' at `from` begins; the end of the text if nothing ends it. */
static char *behind_arguments(char *from)
{
	unsigned depth = 0;

	for (; *from; from++) {
		depth += *from == '<';
		if (*from == '>' && --depth == 0)
			return from + 1;
	}
	return from;
}

/* Remove each `what`, or, if it ends in '<', each with its arguments that is the last argument
 * itself. */
static bool remove_each(char *name, const char *what)
{
	const size_t length = strlen(what);
	const bool is_argument = what[length - 1] == '<';
	bool found = false;
	char *at = name;

	while ((at = strstr(at, what))) {
		char *end = is_argument ? behind_arguments(at + length - 1) : at + length;

		if (is_argument && *end != '>') {
			at += length;
			continue;
		}
		memmove(at, end, strlen(end) + 1);
		found = true;
	}
	return found;
}

/* clang hashes the name that it prints, without inline namespaces and without arguments that are a
 * template's defaults. DWARF does not say which are; those of the C++ library are known. */
static void spell(char *name)
{
	static const char *const defaults[] = {
		", std::allocator<", ", std::char_traits<", ", std::less<",
		", std::hash<",      ", std::equal_to<",    ", std::default_delete<",
	};
	bool again = true;
	char *blank;

	remove_each(name, "__cxx11::");
	while ((blank = strstr(name, " >")))
		memmove(blank, blank + 1, strlen(blank));
	while (again) {
		again = false;
		for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++)
			again |= remove_each(name, defaults[i]);
	}
}

static void compare(struct entry *entry, uint64_t bytes)
{
	entry->differs |= bytes && entry->bytes && bytes != entry->bytes;
	if (bytes)
		entry->bytes = bytes;
}

/* A type, and pointers to it, which are types of arrays of pointers. */
static void add(struct type_names *names, const char *name, uint64_t bytes)
{
	static const char *const suffixes[] = {"", " *", " **"};
	char text[NAME_BYTES + 4];

	for (unsigned i = 0; i < 3 && reserve(names); i++) {
		struct entry *entry;
		uint64_t hash;

		snprintf(text, sizeof(text), "%s%s", name, suffixes[i]);
		spell(text);
		hash = name_hash(text);
		entry = find(names, hash);
		if (!entry->name) {
			*entry = (struct entry){.hash = hash, .name = strdup(text)};
			names->count += entry->name != NULL;
		}
		compare(entry, *suffixes[i] ? 0 : bytes);
	}
}

/* --- DWARF -------------------------------------------------------------------------------- */

static bool is_type(int tag)
{
	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
	       tag == DW_TAG_union_type || tag == DW_TAG_enumeration_type ||
	       tag == DW_TAG_base_type || tag == DW_TAG_typedef;
}

/* 0: it has no size here, as a declaration. */
static uint64_t bytes_of(Dwarf_Die *type)
{
	Dwarf_Die real;
	Dwarf_Word bytes;

	return dwarf_peel_type(type, &real) == 0 && dwarf_aggregate_size(&real, &bytes) == 0 ? bytes
											     : 0;
}

/* The types in a unit, a namespace, a type or a function, whose name `scope` precedes theirs. */
static void add_children(struct type_names *names, Dwarf_Die *parent, const char *scope,
			 unsigned depth)
{
	char inner[NAME_BYTES];
	Dwarf_Die die;

	if (depth > DEPTH_MAX || dwarf_child(parent, &die) != 0)
		return;
	do {
		const int tag = dwarf_tag(&die);
		const char *own = dwarf_diename(&die);

		if (tag == DW_TAG_namespace && !own)
			own = "(anonymous namespace)";
		/* A type in a function is called by its own name alone. */
		snprintf(inner, sizeof(inner), "%s", tag == DW_TAG_subprogram ? "" : scope);
		if (own && (tag == DW_TAG_namespace || is_type(tag)))
			snprintf(inner, sizeof(inner), "%s%s", scope, own);
		if (own && is_type(tag))
			add(names, inner, bytes_of(&die));
		if (own && (tag == DW_TAG_namespace || is_type(tag)))
			strncat(inner, "::", sizeof(inner) - strlen(inner) - 1);
		if (tag != DW_TAG_enumeration_type)
			add_children(names, &die, inner, depth + 1);
	} while (dwarf_siblingof(&die, &die) == 0);
}

static int add_module(Dwfl_Module *module, void **data, const char *path, Dwarf_Addr base,
		      void *arg)
{
	Dwarf_Die *unit = NULL;
	Dwarf_Addr bias;

	(void)data;
	(void)path;
	(void)base;
	while ((unit = dwfl_module_nextcu(module, unit, &bias)))
		add_children(arg, unit, "", 0);
	return DWARF_CB_OK;
}

void type_names_add_file(struct type_names *names, const char *path)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.section_address = dwfl_offline_section_address,
	};
	struct stat status;
	Dwfl *dwfl;

	/* A pipe or device that a core file names as a library is not opened. */
	if (stat(path, &status) != 0 || !S_ISREG(status.st_mode))
		return;
	dwfl = dwfl_begin(&callbacks);
	if (dwfl && dwfl_report_offline(dwfl, path, path, -1)) {
		dwfl_report_end(dwfl, NULL, NULL);
		dwfl_getmodules(dwfl, add_module, names, 0);
	}
	dwfl_end(dwfl);
}

/* --- the interface ------------------------------------------------------------------------- */

bool type_names_add_list(struct type_names *names, const char *path)
{
	FILE *file = fopen(path, "re");
	char line[NAME_BYTES];
	bool is_read;

	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\r\n")] = '\0';
		if (*line)
			add(names, line, 0);
	}
	is_read = !ferror(file);
	fclose(file);
	return is_read;
}

struct type_names *type_names_new(void)
{
	struct type_names *names = calloc(1, sizeof(*names));

	if (names && reserve(names)) {
		add(names, "void", 0);
		return names;
	}
	free(names);
	return NULL;
}

void type_names_free(struct type_names *names)
{
	for (size_t i = 0; names && i < names->room; i++)
		free(names->entries[i].name);
	if (names)
		free(names->entries);
	free(names);
}

/* "unsigned char" and "a<b, c> *" have no blanks in the name of a cache. */
static void copy_without_blanks(char *to, const char *from, size_t size)
{
	size_t length = 0;

	for (; *from && length < size - 1; from++) {
		const bool is_joined = strchr("*>&,", from[1]) || (length && to[length - 1] == ',');

		if (*from != ' ')
			to[length++] = *from;
		else if (!from[1] || !is_joined)
			to[length++] = '_';
	}
	to[length] = '\0';
}

const char *type_names_find(struct type_names *names, uint64_t token, char text[64])
{
	const struct entry *entry = find(names, token % HALF);

	if (!entry->name)
		return NULL;
	copy_without_blanks(text, entry->name, NAME_SHOWN + 1);
	/* A name that was cut may be that of another type, too. */
	if (strlen(text) == NAME_SHOWN)
		snprintf(text + NAME_SHOWN - 5, 6, "~%04" PRIX64, token & 0xffff);
	if (entry->differs)
		strcat(text, "?");
	return text;
}
