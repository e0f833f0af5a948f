/* SPDX-License-Identifier: MIT */
/*
 * The call sites of DWARF 5. They stand in the function's DIE or in the blocks and inlined
 * functions inside.
 */
#include "call_site.h"

#include <dwarf.h>
#include <string.h>

struct search {
	Dwarf_Addr return_pc;
	Dwarf_Die *callee; /* NULL: look for jumps */
	bool found;
	const char *inner;
	unsigned jumps;
	bool to_inner;
	Dwarf_Addr jump;
};

static bool address_of(Dwarf_Die *site, unsigned name, Dwarf_Addr *ret_address)
{
	Dwarf_Attribute attribute;

	return dwarf_formaddr(dwarf_attr(site, name, &attribute), ret_address) == 0;
}

static void look_at_callee(Dwarf_Die *site, struct search *search)
{
	Dwarf_Attribute attribute;
	Dwarf_Addr pc;

	if (address_of(site, DW_AT_call_return_pc, &pc) && pc == search->return_pc)
		search->found = dwarf_formref_die(dwarf_attr(site, DW_AT_call_origin, &attribute),
						  search->callee) != NULL;
}

/* libslab takes the caller of slab_malloc_from() from that. */
static bool is_of_libslab(const char *name)
{
	const size_t len = strlen(name);

	return strncmp(name, "slab_", 5) == 0 && strcmp(name + len - 5, "_from") != 0;
}

/* The C library has several variants of a function: __strcpy_avx2. */
static bool is_name_of(const char *name, const char *inner)
{
	const size_t len = strlen(name);

	if (!inner)
		return is_of_libslab(name);
	return strcmp(name, inner) == 0 ||
	       (strncmp(inner, "__", 2) == 0 && strncmp(inner + 2, name, len) == 0 &&
		inner[2 + len] == '_');
}

static bool is_to_inner(Dwarf_Die *site, const char *inner)
{
	Dwarf_Attribute attribute;
	Dwarf_Die callee;
	const char *name = NULL;

	if (dwarf_formref_die(dwarf_attr(site, DW_AT_call_origin, &attribute), &callee))
		name = dwarf_diename(&callee);
	return name && is_name_of(name, inner);
}

/* clang has the address of a jump, gcc that behind it. */
static void look_at_jump(Dwarf_Die *site, struct search *search)
{
	const bool to_inner = is_to_inner(site, search->inner);
	Dwarf_Addr pc;

	if (!dwarf_hasattr(site, DW_AT_call_tail_call) ||
	    (!to_inner && (search->to_inner || !search->inner)))
		return;
	if (address_of(site, DW_AT_call_return_pc, &pc))
		pc--;
	else if (!address_of(site, DW_AT_call_pc, &pc))
		return;
	search->jump = pc;
	search->jumps = to_inner && !search->to_inner ? 1 : search->jumps + 1;
	search->to_inner = to_inner;
}

static void look_inside(Dwarf_Die *parent, struct search *search)
{
	Dwarf_Die die;
	int status = dwarf_child(parent, &die);

	for (; status == 0 && !search->found; status = dwarf_siblingof(&die, &die)) {
		const int tag = dwarf_tag(&die);

		if (tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block)
			look_inside(&die, search);
		else if (tag == DW_TAG_call_site)
			(search->callee ? look_at_callee : look_at_jump)(&die, search);
	}
}

bool call_site_callee(Dwarf_Die *function, Dwarf_Addr return_pc, Dwarf_Die *ret_callee)
{
	struct search search = {.return_pc = return_pc, .callee = ret_callee};

	look_inside(function, &search);
	return search.found;
}

unsigned call_site_jumps(Dwarf_Die *function, const char *inner, Dwarf_Addr *ret_pc)
{
	struct search search = {.inner = inner};

	look_inside(function, &search);
	*ret_pc = search.jump;
	return search.jumps;
}
