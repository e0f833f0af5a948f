/* SPDX-License-Identifier: MIT */
/*
 * Looking up addresses with libdw (elfutils).
 *
 * Each file is reported once to libdwfl, as if all files were loaded one after the other in a
 * separate address space ("offline"). libdwfl finds separate debug information by build id
 * or name below /usr/lib/debug, and on the servers of DEBUGINFOD_URLS. Functions without
 * DWARF are looked up in the symbol table.
 */
#include "symbolizer.h"
#include "name.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Of a source file's name. */
#define FILE_WIDTH 40

struct module {
	char *path;
	Dwfl_Module *dwfl; /* NULL: it cannot be read */
};

struct symbolizer {
	Dwfl *dwfl;
	struct module *modules;
	size_t count;
};

struct place {
	char *function, *inlined; /* NULL: unknown, not inlined */
	Dwarf_Addr start;         /* of the function */
	const char *file;
	int line;
	const char *call_file; /* where the outermost inlined code is called; NULL: not known */
	int call_line;
};

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
};

struct symbolizer *symbolizer_open(void)
{
	struct symbolizer *symbolizer = calloc(1, sizeof(*symbolizer));

	if (!symbolizer)
		return NULL;
	symbolizer->dwfl = dwfl_begin(&callbacks);
	if (!symbolizer->dwfl) {
		free(symbolizer);
		return NULL;
	}
	return symbolizer;
}

void symbolizer_close(struct symbolizer *symbolizer)
{
	for (size_t i = 0; i < symbolizer->count; i++)
		free(symbolizer->modules[i].path);
	free(symbolizer->modules);
	dwfl_end(symbolizer->dwfl);
	free(symbolizer);
}

/* A pipe or device that a core file names as a library is not opened. */
static bool is_file(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

static Dwfl_Module *add_module(struct symbolizer *symbolizer, const char *path)
{
	struct module *modules =
		reallocarray(symbolizer->modules, symbolizer->count + 1, sizeof(*modules));
	struct module *module;

	if (!modules)
		return NULL;
	symbolizer->modules = modules;
	module = &modules[symbolizer->count];
	module->path = strdup(path);
	if (!module->path)
		return NULL;
	symbolizer->count++;
	module->dwfl = NULL;
	if (!is_file(path))
		return NULL;
	dwfl_report_begin_add(symbolizer->dwfl);
	module->dwfl = dwfl_report_offline(symbolizer->dwfl, path, path, -1);
	dwfl_report_end(symbolizer->dwfl, NULL, NULL);
	return module->dwfl;
}

static Dwfl_Module *find_module(struct symbolizer *symbolizer, const char *path)
{
	for (size_t i = 0; i < symbolizer->count; i++) {
		if (strcmp(symbolizer->modules[i].path, path) == 0)
			return symbolizer->modules[i].dwfl;
	}
	return add_module(symbolizer, path);
}

/* The compilation unit; *bias is the offset to subtract from an address in it. */
static Dwarf_Die *find_unit(Dwfl_Module *module, Dwarf_Addr address, Dwarf_Addr *bias)
{
	Dwarf_Die *unit = dwfl_module_addrdie(module, address, bias);

	if (unit)
		return unit;
	/* clang writes no index of addresses. */
	while ((unit = dwfl_module_nextcu(module, unit, bias))) {
		if (dwarf_haspc(unit, address - *bias) > 0)
			return unit;
	}
	return NULL;
}

static bool is_function(Dwarf_Die *die)
{
	return dwarf_tag(die) == DW_TAG_subprogram;
}

static bool is_inlined(Dwarf_Die *die)
{
	return dwarf_tag(die) == DW_TAG_inlined_subroutine;
}

/* The linkage name is used only for C++; in C it is the name of an alias. */
static char *die_name(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *mangled = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
		mangled = dwarf_formstring(&attribute);
	if (!mangled || strncmp(mangled, "_Z", 2) != 0)
		mangled = dwarf_diename(die);
	return name_readable(mangled);
}

/* A function may have several ranges; the one that contains pc counts. */
static Dwarf_Addr start_of(Dwarf_Die *die, Dwarf_Addr pc)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t next = 0;

	while ((next = dwarf_ranges(die, next, &base, &start, &end)) > 0) {
		if (pc >= start && pc < end)
			return start;
	}
	return pc;
}

static void set_function(struct place *place, Dwarf_Die *die, Dwarf_Addr pc, Dwarf_Addr bias)
{
	place->function = die_name(die);
	place->start = start_of(die, pc) + bias;
}

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

static void set_call(struct place *place, Dwarf_Die *unit, Dwarf_Die *inlined)
{
	Dwarf_Attribute attribute;
	Dwarf_Word file, line;
	Dwarf_Files *files;
	size_t count;

	if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &file) != 0 ||
	    dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &line) != 0 ||
	    dwarf_getsrcfiles(unit, &files, &count) != 0 || file >= count)
		return;
	place->call_file = base_name(dwarf_filesrc(files, file, NULL, NULL));
	place->call_line = (int)line;
}

/* The scopes of inlined code are those of its source; the DIEs around its DIE show where it was
 * inlined. */
static void set_inlined(struct place *place, Dwarf_Die *unit, Dwarf_Die *die, Dwarf_Addr pc,
			Dwarf_Addr bias)
{
	Dwarf_Die *around = NULL, *outermost = die;
	int count = dwarf_getscopes_die(die, &around);

	for (int i = 0; i < count; i++) {
		if (is_inlined(&around[i]))
			outermost = &around[i];
		if (is_function(&around[i])) {
			set_function(place, &around[i], pc, bias);
			set_call(place, unit, outermost);
			break;
		}
	}
	if (place->function)
		place->inlined = die_name(die);
	free(around);
}

static void from_scopes(struct place *place, Dwarf_Die *unit, Dwarf_Addr pc, Dwarf_Addr bias)
{
	Dwarf_Die *scopes = NULL;
	int count = dwarf_getscopes(unit, pc, &scopes);

	for (int i = 0; i < count; i++) {
		if (is_function(&scopes[i])) {
			set_function(place, &scopes[i], pc, bias);
			break;
		}
		if (is_inlined(&scopes[i])) {
			set_inlined(place, unit, &scopes[i], pc, bias);
			break;
		}
	}
	free(scopes);
}

static void from_lines(struct place *place, Dwarf_Die *unit, Dwarf_Addr pc)
{
	Dwarf_Line *line = dwarf_getsrc_die(unit, pc);

	if (!line || dwarf_lineno(line, &place->line) != 0 || place->line == 0)
		return;
	place->file = base_name(dwarf_linesrc(line, NULL, NULL));
	/* Code of another file, usually a header, is shown at the place of its call. */
	if (place->file && place->call_file && strcmp(place->file, place->call_file) != 0) {
		place->file = place->call_file;
		place->line = place->call_line;
	}
}

static void from_symbols(struct place *place, Dwfl_Module *module, Dwarf_Addr address)
{
	GElf_Off offset;
	GElf_Sym symbol;

	place->function = name_readable(
		dwfl_module_addrinfo(module, address, &offset, &symbol, NULL, NULL, NULL));
	place->start = address - offset;
}

static void find_place(struct place *place, Dwfl_Module *module, Dwarf_Addr address)
{
	Dwarf_Addr bias;
	Dwarf_Die *unit = find_unit(module, address, &bias);

	if (unit) {
		from_scopes(place, unit, address - bias, bias);
		from_lines(place, unit, address - bias);
	}
	if (!place->function)
		from_symbols(place, module, address);
}

/* Print `name` on `width` characters. */
static size_t put_name(char *text, size_t width, const char *name)
{
	size_t len = strlen(name);
	int cut = width > 3 ? (int)width - 3 : 0;

	if (len <= width)
		return (size_t)sprintf(text, "%s", name);
	return (size_t)sprintf(text, "%.*s...", cut, name);
}

/* The names share the width that remains beside the place; one may use the space that the
 * other does not need. */
static size_t put_names(char *text, size_t width, const struct place *place)
{
	static const char in[] = " in ";
	const size_t outer = strlen(place->function);
	size_t len = 0, mine;

	if (place->inlined && width > 32) {
		mine = width - (sizeof(in) - 1);
		mine = outer < mine / 2 ? mine - outer : mine / 2;
		len = put_name(text, mine, place->inlined);
		len += (size_t)sprintf(text + len, "%s", in);
	}
	return len + put_name(text + len, width - len, place->function);
}

static void print_place(const struct place *place, Dwarf_Addr ret, char *text, size_t size)
{
	char end[FILE_WIDTH + 64];
	int len = snprintf(end, sizeof(end), "+0x%llx", (unsigned long long)(ret - place->start));

	if (!place->function)
		return;
	if (place->file)
		len += snprintf(end + len, sizeof(end) - (size_t)len, " (%.*s:%d)", FILE_WIDTH,
				place->file, place->line);
	if ((size_t)len + 4 >= size)
		return;
	text += put_names(text, size - 1 - (size_t)len, place);
	memcpy(text, end, (size_t)len + 1);
}

const char *symbolizer_lookup(struct symbolizer *symbolizer, const char *path, uint64_t offset,
			      char *text, size_t size)
{
	Dwfl_Module *module = find_module(symbolizer, path);
	struct place place = {0};
	GElf_Addr bias;

	text[0] = '\0';
	if (!module || !dwfl_module_getelf(module, &bias))
		return text;
	find_place(&place, module, offset - 1 + bias);
	print_place(&place, offset + bias, text, size);
	free(place.function);
	free(place.inlined);
	return text;
}
