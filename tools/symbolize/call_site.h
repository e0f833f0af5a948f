/* SPDX-License-Identifier: MIT */
/*
 * What DWARF says of a function's calls.
 */
#pragma once

#include <elfutils/libdw.h>
#include <stdbool.h>

/* call_site_callee: the function that is called by the call which returns to `return_pc`. false:
 * none is known, as for a call by pointer. */
bool call_site_callee(Dwarf_Die *function, Dwarf_Addr return_pc, Dwarf_Die *ret_callee);

/* call_site_jumps: how many of the function's calls are jumps, which leave no return address; if
 * any is to the function `inner`, only these count. Without `inner`, only jumps to libslab count.
 * *ret_pc is in the last one. */
unsigned call_site_jumps(Dwarf_Die *function, const char *inner, Dwarf_Addr *ret_pc);
