/* SPDX-License-Identifier: MIT */
/* Names of caches: dladdr(), the table of types. */
#include "preload.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* --- the table ------------------------------------------------------------------------------ */

/*
 * Sizes are those of 389-ds 2.3 on machines with 64 bits; they tell the types apart
 * that one function allocates. In another version, a type whose size differs has the name of its
 * function.
 */

/* clang-format off */
const struct type types[] = {
	/* The pblock and its parts, two of which have 24 bytes */
	{"slapi_pblock_new", "pblock", 0, false},
	{"slapi_pblock_set*", "pblock_dse_or_misc", 24, false},
	{"slapi_pblock_set*", "pblock_intplugin", 72, false},
	{"slapi_pblock_set*", "pblock_deprecated", 88, false},
	{"slapi_pblock_set*", "pblock_matching_rule", 96, false},
	{"slapi_pblock_set*", "pblock_task", 152, false},
	{"slapi_pblock_set*", "pblock_intop", 200, false},
	/* Operations */
	{"operation_new", "operation", 480, false},
	{"slapi_operation_new", "operation", 480, false},
	{"internal_operation_new", "operation", 480, false},
	{"operation_parameters_new", "operation_params", 0, false},
	{"factory_create_extension", "extension_table", 0, true},
	{"supplier_operation_extension_constructor", "supplier_operation", 0, false},
	{"consumer_operation_extension_constructor", "consumer_operation", 0, false},
	{"dbmdb_start_txn", "mdb_txn", 56, false},
	/* Entries and what they consist of */
	{"slapi_entry_alloc", "entry", 0, false},
	{"backentry_*", "backentry", 112, false},
	{"backdn_init", "backdn", 0, false},
	{"slapi_attr_new", "attr", 0, false},
	{"value_new", "value", 0, false},
	{"slapi_valueset_new", "valueset", 0, false},
	{"slapi_sdn_new", "dn", 0, false},
	{"slapi_rdn_new", "rdn", 0, false},
	{"slapi_new_rwlock", "rwlock", 0, false},
	{"valueset_set_valueset", "value_array", 0, true},
	{"slapi_valueset_add_*", "value_array", 0, true},
	{"valuearray_*", "value_array", 0, true},
	{"slapi_value_set_*", "value_bytes", 0, true},
	{"slapi_ber_bvcpy", "value_bytes", 0, true},
	{"slapi_ch_bvdup", "value_bytes", 0, true},
	/* Filters, modifications, change numbers */
	{"slapi_filter_*", "filter", 128, false},
	{"str2simple", "filter", 128, false},
	{"str2filter", "filter", 128, false},
	{"slapi_mods_new", "mods", 0, false},
	{"slapi_mod_new", "mod", 0, false},
	{"csn_new*", "csn", 0, false},
	{"csnset_*", "csnset", 0, false},
	{"slapi_uniqueIDNew", "unique_id", 0, false},
	{"slapi_matchingrule_new", "matching_rule", 0, false},
	{"dl_new", "datalist", 0, false},
	/* Lists */
	{"charray_*", "string_array", 0, true},
	{"slapi_ch_array_*", "string_array", 0, true},
	{"cool_charray_dup", "string_array", 0, true},
	{"idl_alloc", "idlist", 0, true},
	{"string_values2keys", "index_keys", 0, true},
	{NULL, NULL, 0, false},
};
/* clang-format on */

/* --- names ---------------------------------------------------------------------------------- */

/*
 * dladdr() knows the functions that a library exports. The others of a library have
 * its name: "back-ldbm-48".
 */

/* Sizes of one function differ little: at most an eighth of an object beyond 64 bytes is unused. */
static size_t function_size(size_t size)
{
	size_t step = size <= 64 ? 8 : size <= 128 ? 16 : size <= 256 ? 32 : size <= 512 ? 64 : 128;

	return (size + step - 1) / step * step;
}

/* Strings and arrays have all sizes: 8, 16, 24, 32, 48, 64, 96 … 1024. */
static size_t class_size(size_t size)
{
	size_t power = 8;

	while (power < size)
		power *= 2;
	return power >= 32 && size <= power / 4 * 3 ? power / 4 * 3 : power;
}

static size_t whole_words(size_t size)
{
	return (size + 7) / 8 * 8;
}

/* Characters that slabinfo's names may have; the end of a long name is cut off. */
static void set_text(struct cache_name *name, const char *text, size_t length)
{
	const size_t most = NAME_LENGTH - sizeof("-1024");
	size_t n = length < most ? length : most;

	for (size_t i = 0; i < n; i++)
		name->text[i] = text[i] > ' ' && text[i] <= '~' ? text[i] : '_';
	name->text[n] = '\0';
}

void name_append_size(struct cache_name *name)
{
	size_t length = strlen(name->text);

	snprintf(name->text + length, NAME_LENGTH - length, "-%zu", name->size);
}

/* "/usr/lib/dirsrv/plugins/libback-ldbm.so" is back-ldbm. */
static void set_library(struct cache_name *name, const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	const char *end;

	if (strncmp(base, "lib", 3) == 0)
		base += 3;
	end = strstr(base, ".so");
	set_text(name, base, end ? (size_t)(end - base) : strlen(base));
}

static bool matches(const char *pattern, const char *function)
{
	const char *star = strchr(pattern, '*');

	return star ? strncmp(pattern, function, (size_t)(star - pattern)) == 0
		    : strcmp(pattern, function) == 0;
}

static const struct type *find_type(const char *function, size_t size)
{
	for (const struct type *type = types; type->function; type++)
		if ((!type->size || type->size == size) && matches(type->function, function))
			return type;
	return NULL;
}

static void set_type(struct cache_name *name, const struct type *type, size_t size)
{
	name->is_type = true;
	name->has_sizes = type->has_sizes;
	set_text(name, type->name, strlen(type->name));
	name->size = type->has_sizes ? class_size(size) : whole_words(size);
	if (type->has_sizes)
		name_append_size(name);
}

/* dladdr() with the address of the call: a call may be the last instruction of a function. */
void name_site(struct cache_name *name, const void *code, size_t size)
{
	const struct type *type;
	Dl_info info;

	name->is_type = name->has_sizes = false;
	name->size = function_size(size);
	if (!dladdr((const char *)code - 1, &info) || !info.dli_fname) {
		set_text(name, "unknown", strlen("unknown"));
	} else if (!info.dli_sname) {
		set_library(name, info.dli_fname);
	} else {
		type = find_type(info.dli_sname, size);
		if (type) {
			set_type(name, type, size);
			return;
		}
		set_text(name, info.dli_sname, strlen(info.dli_sname));
	}
	/* Names of the form size-32 are reserved. */
	if (strcmp(name->text, "size") == 0)
		set_text(name, "size_", strlen("size_"));
	name_append_size(name);
}

void name_string(struct cache_name *name, size_t size)
{
	static const struct type string = {"slapi_ch_strdup", "string", 0, true};

	set_type(name, &string, size);
}
