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
#include "call_site.h"
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
	struct symbol_frame *frames; /* of the last address, the innermost first */
	size_t frame_count;
	Dwarf_Addr address; /* the last one, as libdwfl has it */
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

static void drop_frames(struct symbolizer *symbolizer)
{
	for (size_t i = 0; i < symbolizer->frame_count; i++)
		free(symbolizer->frames[i].function);
	symbolizer->frame_count = 0;
}

void symbolizer_close(struct symbolizer *symbolizer)
{
	drop_frames(symbolizer);
	free(symbolizer->frames);
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
static const char *die_symbol(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *mangled = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
		mangled = dwarf_formstring(&attribute);
	if (!mangled || strncmp(mangled, "_Z", 2) != 0)
		mangled = dwarf_diename(die);
	return mangled;
}

static char *die_name(Dwarf_Die *die)
{
	return name_readable(die_symbol(die));
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

static bool is_artificial(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	bool artificial = false;

	return dwarf_formflag(dwarf_attr_integrate(die, DW_AT_artificial, &attribute),
			      &artificial) == 0 &&
	       artificial;
}

/* Inlined functions whose call stands for them: the typed functions of <slab/slab.h>, and those of
 * <slab/slab.hpp>. clang marks no member functions as artificial. */
static bool is_wrapper(Dwarf_Die *die)
{
	static const char header[] = "/slab/slab.hpp";
	const char *file = dwarf_decl_file(die);
	const size_t len = file ? strlen(file) : 0, end = sizeof(header) - 1;

	return is_artificial(die) || (len >= end && strcmp(file + len - end, header) == 0);
}

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

/* --- the frames of an address --------------------------------------------------------------- */

/* A line of a source file; file NULL: unknown. */
struct place {
	const char *file;
	int line;
};

static struct place place_of_call(Dwarf_Die *unit, Dwarf_Die *inlined)
{
	Dwarf_Attribute attribute;
	Dwarf_Word file, line;
	Dwarf_Files *files;
	size_t count;

	if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &file) != 0 ||
	    dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &line) != 0 ||
	    dwarf_getsrcfiles(unit, &files, &count) != 0 || file >= count)
		return (struct place){NULL, 0};
	return (struct place){base_name(dwarf_filesrc(files, file, NULL, NULL)), (int)line};
}

static struct place place_of_address(Dwarf_Die *unit, Dwarf_Addr pc)
{
	Dwarf_Line *found = dwarf_getsrc_die(unit, pc);
	int line;

	if (!found || dwarf_lineno(found, &line) != 0 || line == 0)
		return (struct place){NULL, 0};
	return (struct place){base_name(dwarf_linesrc(found, NULL, NULL)), line};
}

/* Takes over `function`; NULL adds nothing. */
static struct symbol_frame *add_frame(struct symbolizer *symbolizer, char *function,
				      struct place place)
{
	struct symbol_frame *frames =
		reallocarray(symbolizer->frames, symbolizer->frame_count + 1, sizeof(*frames));

	if (frames)
		symbolizer->frames = frames;
	if (!frames || !function) {
		free(function);
		return NULL;
	}
	frames += symbolizer->frame_count++;
	*frames = (struct symbol_frame){function, place.file, place.line, true, 0};
	return frames;
}

/* `around` are the scopes around the address, up to the function. */
static void add_calls(struct symbolizer *symbolizer, Dwarf_Die *unit, Dwarf_Die *around, int count,
		      Dwarf_Addr pc)
{
	struct place place = place_of_address(unit, pc);
	struct symbol_frame *frame;

	for (int i = 0; i < count; i++) {
		if (is_function(&around[i])) {
			frame = add_frame(symbolizer, die_name(&around[i]), place);
			if (frame) {
				frame->inlined = false;
				frame->offset = pc + 1 - start_of(&around[i], pc);
			}
			return;
		}
		if (!is_inlined(&around[i]))
			continue;
		if (!is_wrapper(&around[i]))
			add_frame(symbolizer, die_name(&around[i]), place);
		place = place_of_call(unit, &around[i]);
	}
}

/* The scopes of inlined code are those of its source; the DIEs around its DIE show where it was
 * inlined. The caller frees *ret_around. */
static int scopes_around(Dwarf_Die *unit, Dwarf_Addr pc, Dwarf_Die **ret_around)
{
	Dwarf_Die *scopes = NULL;
	int count = 0;

	*ret_around = NULL;
	if (dwarf_getscopes(unit, pc, &scopes) > 0)
		count = dwarf_getscopes_die(&scopes[0], ret_around);
	free(scopes);
	return count;
}

static void add_scopes(struct symbolizer *symbolizer, Dwarf_Die *unit, Dwarf_Addr pc)
{
	Dwarf_Die *around;
	int count = scopes_around(unit, pc, &around);

	add_calls(symbolizer, unit, around, count, pc);
	free(around);
}

static bool has_function(const struct symbolizer *symbolizer)
{
	return symbolizer->frame_count && !symbolizer->frames[symbolizer->frame_count - 1].inlined;
}

static void add_symbol(struct symbolizer *symbolizer, Dwfl_Module *module, Dwarf_Addr address,
		       struct place place)
{
	GElf_Off offset;
	GElf_Sym symbol;
	const char *name =
		dwfl_module_addrinfo(module, address, &offset, &symbol, NULL, NULL, NULL);
	struct symbol_frame *frame = add_frame(symbolizer, name_readable(name), place);

	if (frame) {
		frame->inlined = false;
		frame->offset = offset + 1;
	}
}

/* `unit` NULL: there is no DWARF. */
static void add_frames(struct symbolizer *symbolizer, Dwfl_Module *module, Dwarf_Die *unit,
		       Dwarf_Addr address, Dwarf_Addr pc)
{
	struct place place = {NULL, 0};

	if (unit) {
		add_scopes(symbolizer, unit, pc);
		place = place_of_address(unit, pc);
	}
	if (has_function(symbolizer))
		return;
	drop_frames(symbolizer);
	add_symbol(symbolizer, module, address, place);
}

/* --- functions that were left by a jump ------------------------------------------------------ */

static bool function_at(Dwarf_Die *unit, Dwarf_Addr pc, Dwarf_Die *ret_function)
{
	Dwarf_Die *around;
	int count = scopes_around(unit, pc, &around), i = 0;

	while (i < count && !is_function(&around[i]))
		i++;
	if (i < count)
		*ret_function = around[i];
	free(around);
	return i < count;
}

static bool find_symbol(Dwfl_Module *module, const char *name, GElf_Sym *symbol,
			GElf_Addr *ret_start)
{
	const int count = dwfl_module_getsymtab(module);

	for (int i = 0; i < count; i++) {
		const char *its =
			dwfl_module_getsym_info(module, i, symbol, ret_start, NULL, NULL, NULL);

		if (its && strcmp(its, name) == 0 && symbol->st_shndx != SHN_UNDEF)
			return true;
	}
	return false;
}

/* Of several jumps, nothing says which it was. */
static void add_jump(struct symbolizer *symbolizer, Dwfl_Module *module, Dwarf_Addr start,
		     const char *inner)
{
	Dwarf_Addr bias, pc;
	Dwarf_Die *unit = find_unit(module, start, &bias), function;
	unsigned jumps;

	if (!unit || !function_at(unit, start - bias, &function))
		return;
	jumps = call_site_jumps(&function, inner, &pc);
	if (jumps == 1)
		add_scopes(symbolizer, unit, pc);
	else if (jumps)
		add_frame(symbolizer, die_name(&function), (struct place){NULL, 0});
}

/* The function that was called: its name, NULL if it is one of libslab's, and an address in it. */
struct inner {
	const char *name;
	Dwarf_Addr address;
};

static bool is_another(const char *name, Dwarf_Addr start, size_t size, const struct inner *inner)
{
	if (!inner->name)
		return strncmp(name, "slab_", 5) != 0;
	return strcmp(name, inner->name) != 0 && inner->address - start >= size;
}

/* Does the call before `pc` call another function than `inner`, one which went there by a jump? */
static void add_jumps(struct symbolizer *symbolizer, Dwfl_Module *module, Dwarf_Die *unit,
		      Dwarf_Addr pc, const struct inner *inner)
{
	Dwarf_Die function, callee;
	Dwarf_Addr start;
	GElf_Sym symbol;
	char *name;

	if (!unit || !function_at(unit, pc, &function) ||
	    !call_site_callee(&function, pc + 1, &callee))
		return;
	name = die_name(&callee);
	if (name && find_symbol(module, die_symbol(&callee), &symbol, &start) &&
	    is_another(name, start, symbol.st_size, inner))
		add_jump(symbolizer, module, start, inner->name);
	free(name);
}

/* --- looking up ------------------------------------------------------------------------------ */

const struct symbol_frame *symbolizer_lookup(struct symbolizer *symbolizer, const char *path,
					     uint64_t offset, enum symbol_callee callee,
					     size_t *ret_count)
{
	Dwfl_Module *module = find_module(symbolizer, path);
	const size_t count = symbolizer->frame_count;
	char *last = callee == CALLEE_LAST && count ? strdup(symbolizer->frames[count - 1].function)
						    : NULL;
	const struct inner inner = {last, symbolizer->address};
	Dwarf_Addr address, bias;

	drop_frames(symbolizer);
	if (module && dwfl_module_getelf(module, &bias)) {
		Dwarf_Die *unit;

		symbolizer->address = address = offset - 1 + bias;
		unit = find_unit(module, address, &bias);
		if (last || callee == CALLEE_LIBSLAB)
			add_jumps(symbolizer, module, unit, address - bias, &inner);
		add_frames(symbolizer, module, unit, address, address - bias);
	}
	free(last);
	*ret_count = symbolizer->frame_count;
	return symbolizer->frames;
}

/* --- text ----------------------------------------------------------------------------------- */

/* Print `name` on `width` characters. */
static size_t put_name(char *text, size_t width, const char *name)
{
	size_t len = strlen(name);
	int cut = width > 3 ? (int)width - 3 : 0;

	if (len <= width)
		return (size_t)sprintf(text, "%s", name);
	return (size_t)sprintf(text, "%.*s...", cut, name);
}

char *symbol_frame_text(const struct symbol_frame *frame, char *text, size_t size)
{
	char end[FILE_WIDTH + 64] = "";
	size_t len = 0;

	if (!frame->inlined)
		len += (size_t)snprintf(end, sizeof(end), "+0x%llx",
					(unsigned long long)frame->offset);
	if (frame->file)
		len += (size_t)snprintf(end + len, sizeof(end) - len, " (%.*s:%d)", FILE_WIDTH,
					frame->file, frame->line);
	text[0] = '\0';
	if (len + 4 < size)
		memcpy(text + put_name(text, size - 1 - len, frame->function), end, len + 1);
	return text;
}
