/* SPDX-License-Identifier: MIT */
/*
 * A plug-in as it is written for a directory server, in what C and C++ have in common. It
 * is only compiled; plugin.sh includes the headers.
 */
#ifdef __cplusplus
extern "C" {
#endif

int plugin_init(Slapi_PBlock *pb);
char *use_memory(void);

static char id[] = "greeter", vendor[] = "nobody", version[] = "1.0", words[] = "says hello";
static Slapi_PluginDesc description = {id, vendor, version, words};

struct found {
	Slapi_Entry *entry;
	Slapi_Operation *operation;
	Operation *same_operation;
	Connection *connection;
	Slapi_Backend *backend;
	Slapi_DN *target;
	Slapi_RDN *rdn;
	Slapi_Filter *filter;
	Slapi_Mods *mods;
	Slapi_Mod *mod;
	Slapi_Attr *attribute;
	Slapi_Value *value;
	Slapi_ValueSet *values;
	Slapi_ComponentId *identity;
	LDAPControl **controls;
	LDAPMod **changes;
	BerElement *encoded;
	struct berval *credentials;
	char *name;
	int result;
};

static int before_add(Slapi_PBlock *pb)
{
	struct found found;

	slapi_pblock_get(pb, SLAPI_ADD_ENTRY, &found.entry);
	slapi_pblock_get(pb, SLAPI_OPERATION, &found.operation);
	slapi_pblock_get(pb, SLAPI_CONNECTION, &found.connection);
	slapi_pblock_get(pb, SLAPI_BACKEND, &found.backend);
	slapi_pblock_get(pb, SLAPI_TARGET_SDN, &found.target);
	slapi_pblock_get(pb, SLAPI_SEARCH_FILTER, &found.filter);
	slapi_pblock_get(pb, SLAPI_MODIFY_MODS, &found.changes);
	slapi_pblock_get(pb, SLAPI_REQCONTROLS, &found.controls);
	slapi_pblock_get(pb, SLAPI_BIND_CREDENTIALS, &found.credentials);
	slapi_pblock_get(pb, SLAPI_RESULT_CODE, &found.result);
	found.same_operation = found.operation;
	if (!found.entry || !found.same_operation)
		return -1;
	found.name = slapi_ch_strdup("name");
	slapi_ch_free_string(&found.name);
	return found.result;
}

char *use_memory(void)
{
	char *block = slapi_ch_realloc(slapi_ch_malloc(8), 16);
	void *other = slapi_ch_calloc(2, 8), *aligned = slapi_ch_memalign(100, 64);

	slapi_ch_free(&other);
	slapi_ch_free(&aligned);
	slapi_ch_free_string(&block);
	return slapi_ch_strdup("text");
}

int plugin_init(Slapi_PBlock *pb)
{
	if (slapi_pblock_set(pb, SLAPI_PLUGIN_VERSION, (void *)SLAPI_PLUGIN_VERSION_03) != 0 ||
	    slapi_pblock_set(pb, SLAPI_PLUGIN_DESCRIPTION, (void *)&description) != 0 ||
	    slapi_pblock_set(pb, SLAPI_PLUGIN_PRE_ADD_FN, (void *)before_add) != 0)
		return -1;
	return 0;
}

#ifdef __cplusplus
}
#endif
