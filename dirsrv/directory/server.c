/* SPDX-License-Identifier: MIT */
/*
 * The parameters that ns-slapd uses in the steps of an operation. Plug-ins use most of them:
 * each call sets SLAPI_PLUGIN and the callbacks, and each plug-in first reads the operation,
 * its backend, and the DN of the requestor.
 */
#include "server.h"

/* A filter is tested by plug-ins that know its syntax, and each test has a pblock. */
#define TESTS_PER_ENTRY 6
#define CALLS_WITH_PBLOCK 4 /* of other plug-ins, per operation */

/* The functions of plug-ins that an operation calls; 0: none. */
static const struct steps {
	int before, backend_before, transaction_before;
	int transaction_after, backend_after, after;
} steps_of[KIND_COUNT] = {
	[KIND_SEARCH] = {.before = SLAPI_PLUGIN_PRE_SEARCH_FN,
			 .after = SLAPI_PLUGIN_POST_SEARCH_FN},
	[KIND_BASE] = {.before = SLAPI_PLUGIN_PRE_SEARCH_FN, .after = SLAPI_PLUGIN_POST_SEARCH_FN},
	[KIND_OR] = {.before = SLAPI_PLUGIN_PRE_SEARCH_FN, .after = SLAPI_PLUGIN_POST_SEARCH_FN},
	[KIND_MODIFY] = {SLAPI_PLUGIN_PRE_MODIFY_FN, SLAPI_PLUGIN_BE_PRE_MODIFY_FN,
			 SLAPI_PLUGIN_BE_TXN_PRE_MODIFY_FN, SLAPI_PLUGIN_BE_TXN_POST_MODIFY_FN,
			 SLAPI_PLUGIN_BE_POST_MODIFY_FN, SLAPI_PLUGIN_POST_MODIFY_FN},
	[KIND_ADD] = {SLAPI_PLUGIN_PRE_ADD_FN, SLAPI_PLUGIN_BE_PRE_ADD_FN,
		      SLAPI_PLUGIN_BE_TXN_PRE_ADD_FN, SLAPI_PLUGIN_BE_TXN_POST_ADD_FN,
		      SLAPI_PLUGIN_BE_POST_ADD_FN, SLAPI_PLUGIN_POST_ADD_FN},
	[KIND_DELETE] = {SLAPI_PLUGIN_PRE_DELETE_FN, SLAPI_PLUGIN_BE_PRE_DELETE_FN,
			 SLAPI_PLUGIN_BE_TXN_PRE_DELETE_FN, SLAPI_PLUGIN_BE_TXN_POST_DELETE_FN,
			 SLAPI_PLUGIN_BE_POST_DELETE_FN, SLAPI_PLUGIN_POST_DELETE_FN},
};

static bool is_search(enum kind kind)
{
	return kind <= KIND_OR;
}

/* Any plug-in; pblocks remember pointers and never follow them. */
static const char plugin[8];

/* --- parameters ------------------------------------------------------------------- */

void *pblock_pointer(Slapi_PBlock *pb, int parameter)
{
	void *value;

	slapi_pblock_get(pb, parameter, &value);
	return value;
}

int pblock_number(Slapi_PBlock *pb, int parameter)
{
	int value;

	slapi_pblock_get(pb, parameter, &value);
	return value;
}

void pblock_set_pointer(Slapi_PBlock *pb, int parameter, const void *value)
{
	if (slapi_pblock_set(pb, parameter, (void *)value))
		memory_exhausted();
}

void pblock_set_number(Slapi_PBlock *pb, int parameter, int value)
{
	if (slapi_pblock_set(pb, parameter, &value))
		memory_exhausted();
}

/* Several parts of the server look at the same parameters. */
static void read_pointers(Slapi_PBlock *pb, const uint16_t *parameters, unsigned times)
{
	while (times--)
		for (const uint16_t *p = parameters; *p; p++)
			(void)pblock_pointer(pb, *p);
}

static void read_numbers(Slapi_PBlock *pb, const uint16_t *parameters, unsigned times)
{
	while (times--)
		for (const uint16_t *p = parameters; *p; p++)
			(void)pblock_number(pb, *p);
}

void pblock_end(struct pblock_use *use, Slapi_PBlock *pb)
{
	use->pblocks++;
	use->bytes += slab_pblock_size(pb);
	slapi_pblock_destroy(pb);
}

/* --- plug-ins ----------------------------------------------------------------------- */

static void call_plugin(struct pblock_use *use, Slapi_PBlock *pb)
{
	const struct dirsrv_operation *operation;
	unsigned long method;

	pblock_set_pointer(pb, SLAPI_PLUGIN, plugin);
	operation = pblock_pointer(pb, SLAPI_OPERATION);
	(void)pblock_number(pb, SLAPI_REQUESTOR_ISROOT);
	(void)pblock_pointer(pb, SLAPI_BACKEND);
	(void)pblock_pointer(pb, SLAPI_OPERATION);
	pblock_set_pointer(pb, SLAPI_PLUGIN_DB_ENTRY_FN, plugin + 1);
	pblock_set_pointer(pb, SLAPI_PLUGIN_DB_REFERRAL_FN, plugin + 2);
	pblock_set_pointer(pb, SLAPI_PLUGIN_DB_RESULT_FN, plugin + 3);
	(void)pblock_pointer(pb, SLAPI_OPERATION);
	(void)pblock_pointer(pb, SLAPI_BACKEND);
	(void)pblock_number(pb, SLAPI_REQUESTOR_ISROOT);
	(void)pblock_pointer(pb, SLAPI_OPERATION);
	slapi_pblock_get(pb, SLAPI_BIND_METHOD, &method);
	use->wrong += dirsrv_operation_pblock(operation) != pb;
}

static void call_plugins(struct pblock_use *use, Slapi_PBlock *pb, int function, unsigned plugins)
{
	if (!function)
		return;
	for (unsigned i = 0; i < plugins; i++) {
		(void)pblock_pointer(pb, function);
		call_plugin(use, pb);
	}
}

/* As servers do, what is called gets a pblock of its own. */
static void call_with_pblock(struct pblock_use *use)
{
	Slapi_PBlock *pb = memory_or_exit(slapi_pblock_new());

	pblock_set_pointer(pb, SLAPI_PLUGIN, plugin);
	pblock_end(use, pb);
}

static void test_filter(struct pblock_use *use)
{
	Slapi_PBlock *pb = memory_or_exit(slapi_pblock_new());

	pblock_set_pointer(pb, SLAPI_PLUGIN, plugin);
	pblock_set_number(pb, SLAPI_PLUGIN_SYNTAX_FILTER_NORMALIZED, 1);
	use->wrong += pblock_number(pb, SLAPI_PLUGIN_SYNTAX_FILTER_NORMALIZED) != 1;
	pblock_end(use, pb);
}

/* --- the steps of an operation --------------------------------------------------------- */

static void accept_search(Slapi_PBlock *pb, enum kind kind)
{
	pblock_set_number(pb, SLAPI_SEARCH_SCOPE, kind == KIND_BASE ? 0 : 2);
	pblock_set_number(pb, SLAPI_SEARCH_DEREF, 0);
	pblock_set_number(pb, SLAPI_SEARCH_SIZELIMIT, 2000);
	pblock_set_number(pb, SLAPI_SEARCH_TIMELIMIT, 3600);
	pblock_set_pointer(pb, SLAPI_SEARCH_ATTRS, NULL);
	pblock_set_number(pb, SLAPI_SEARCH_ATTRSONLY, 0);
	pblock_set_pointer(pb, SLAPI_SEARCH_GERATTRS, NULL);
}

void server_accept(struct dirsrv_operation *operation, Slapi_PBlock *pb, const void *backend)
{
	const struct request *request = dirsrv_operation_room(operation);

	pblock_set_pointer(pb, SLAPI_CONNECTION, dirsrv_operation_connection(operation));
	pblock_set_pointer(pb, SLAPI_OPERATION, operation);
	pblock_set_pointer(pb, SLAPI_BACKEND, backend);
	pblock_set_number(pb, SLAPI_BACKEND_COUNT, 1);
	pblock_set_number(pb, SLAPI_REQUESTOR_ISROOT, 0);
	pblock_set_pointer(pb, SLAPI_REQCONTROLS, NULL);
	pblock_set_pointer(pb, SLAPI_ORIGINAL_TARGET_DN, pblock_pointer(pb, SLAPI_TARGET_SDN));
	if (is_search((enum kind)request->kind))
		accept_search(pb, (enum kind)request->kind);
}

/* What is looked at before anything is done. */
static void check_access(Slapi_PBlock *pb)
{
	static const uint16_t pointers[] = {SLAPI_OPERATION, SLAPI_CONNECTION, SLAPI_TARGET_SDN,
					    SLAPI_REQCONTROLS, 0};
	static const uint16_t numbers[] = {SLAPI_MANAGEDSAIT, SLAPI_OPERATION_TYPE, 0};

	read_pointers(pb, pointers, 8);
	read_numbers(pb, numbers, 3);
	pblock_set_pointer(pb, SLAPI_TARGET_SDN, pblock_pointer(pb, SLAPI_TARGET_SDN));
}

static void begin_search(Slapi_PBlock *pb)
{
	static const uint16_t numbers[] = {SLAPI_SEARCH_SCOPE, SLAPI_SEARCH_SIZELIMIT,
					   SLAPI_SEARCH_TIMELIMIT, SLAPI_PAGED_RESULTS_INDEX, 0};
	static const uint16_t pointers[] = {SLAPI_SEARCH_FILTER, SLAPI_SEARCH_FILTER_INTENDED,
					    SLAPI_SEARCH_RESULT_SET, SLAPI_SEARCH_REFERRALS, 0};
	void *filter = pblock_pointer(pb, SLAPI_SEARCH_FILTER);

	read_numbers(pb, numbers, 4);
	pblock_set_pointer(pb, SLAPI_SEARCH_FILTER, filter);
	pblock_set_pointer(pb, SLAPI_SEARCH_FILTER_INTENDED, filter);
	pblock_set_number(pb, SLAPI_SEARCH_RESULT_SET_SIZE_ESTIMATE, 1);
	read_pointers(pb, pointers, 4);
	(void)pblock_pointer(pb, SLAPI_SEARCH_STRFILTER);
	(void)pblock_pointer(pb, SLAPI_SEARCH_ATTRS);
}

void server_begin(struct pblock_use *use, Slapi_PBlock *pb, enum kind kind)
{
	const struct steps *steps = &steps_of[kind];

	pblock_set_number(pb, SLAPI_PLUGIN_OPRETURN, 0);
	check_access(pb);
	call_plugins(use, pb, steps->before, 4);
	if (is_search(kind))
		begin_search(pb);
	pblock_set_pointer(pb, SLAPI_TXN, plugin + 4);
	call_plugins(use, pb, steps->backend_before, 1);
	call_plugins(use, pb, steps->transaction_before, 6);
	for (unsigned i = 0; i < CALLS_WITH_PBLOCK; i++)
		call_with_pblock(use);
}

void server_send(struct pblock_use *use, Slapi_PBlock *pb, const struct dirsrv_entry *entry)
{
	for (unsigned i = 0; i < TESTS_PER_ENTRY; i++)
		test_filter(use);
	pblock_set_number(pb, SLAPI_PLUGIN_SYNTAX_FILTER_NORMALIZED, 1);
	pblock_set_pointer(pb, SLAPI_SEARCH_RESULT_ENTRY, entry);
	pblock_set_pointer(pb, SLAPI_SEARCH_CTRLS, NULL);
	call_plugins(use, pb, SLAPI_PLUGIN_PRE_ENTRY_FN, 4);
	use->wrong += pblock_pointer(pb, SLAPI_SEARCH_RESULT_ENTRY) != entry;
	(void)pblock_pointer(pb, SLAPI_SEARCH_CTRLS);
	(void)pblock_number(pb, SLAPI_SEARCH_ATTRSONLY);
	pblock_set_number(pb, SLAPI_NENTRIES, pblock_number(pb, SLAPI_NENTRIES) + 1);
	call_plugins(use, pb, SLAPI_PLUGIN_POST_ENTRY_FN, 2);
}

void server_update(struct pblock_use *use, Slapi_PBlock *pb, const struct dirsrv_entry *before,
		   const struct dirsrv_entry *after)
{
	static const uint16_t both[] = {SLAPI_ENTRY_PRE_OP, SLAPI_ENTRY_POST_OP, 0};

	for (unsigned i = 0; i < 10; i++) {
		pblock_set_pointer(pb, SLAPI_ENTRY_PRE_OP, before);
		pblock_set_pointer(pb, SLAPI_ENTRY_POST_OP, after);
	}
	use->wrong += pblock_pointer(pb, SLAPI_ENTRY_PRE_OP) != before;
	use->wrong += pblock_pointer(pb, SLAPI_ENTRY_POST_OP) != after;
	read_pointers(pb, both, 18);
}

void server_end(struct pblock_use *use, Slapi_PBlock *pb, enum kind kind)
{
	static const uint16_t numbers[] = {SLAPI_RESULT_CODE, SLAPI_PLUGIN_OPRETURN, SLAPI_NENTRIES,
					   SLAPI_BACKEND_COUNT, 0};
	static const uint16_t pointers[] = {SLAPI_TXN, SLAPI_RESULT_TEXT, SLAPI_PB_RESULT_TEXT,
					    SLAPI_EXT_OP_RET_OID, 0};
	const struct steps *steps = &steps_of[kind];

	call_plugins(use, pb, steps->transaction_after, 6);
	call_plugins(use, pb, steps->backend_after, 1);
	pblock_set_pointer(pb, SLAPI_TXN, NULL);
	read_numbers(pb, numbers, 1);
	read_pointers(pb, pointers, 2);
	call_plugins(use, pb, SLAPI_PLUGIN_PRE_RESULT_FN, 4);
	call_plugins(use, pb, steps->after, 2);
	call_plugins(use, pb, SLAPI_PLUGIN_POST_RESULT_FN, 2);
}
