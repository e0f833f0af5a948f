/* SPDX-License-Identifier: MIT */
/*
 * See types.h. Sizes are those of 389-ds 2.3 on machines with 64 bits; they tell the types apart
 * that one function allocates. In another version, a type whose size differs has the name of its
 * function.
 */
#include "types.h"

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
