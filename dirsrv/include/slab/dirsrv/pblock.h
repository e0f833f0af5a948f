/* SPDX-License-Identifier: MIT */
/*
 * The pblock: the parameter block through which a directory server and its plug-ins exchange
 * data, with the interface of 389 Directory Server's plug-in API, version 3.
 *
 * A pblock is a set of some 320 parameters, named by the constants below. Each has a
 * type, and a default value: 0 or NULL unless its comment says otherwise.
 * A pblock takes little more memory than the values that were set (dirsrv/pblock/README.md).
 *
 * Values by their types, in slapi_pblock_get(pb, parameter, value) and _set():
 *   (none)         a pointer, to data or a function. Set: value is that pointer. Get:
 *                  it is stored in the pointer that value points to. The pblock stores
 *                  the pointer only: the data belongs to the caller
 *   int, uint64_t, unsigned long, time_t
 *                  set from and got into the variable that value points to
 *   address        the same with a struct slapi_pblock_address
 *   string         char *, as a pointer, but the pblock frees it (by a function of
 *                  <slab/dirsrv/slapi_ch.h>) when another one is set, and at its end
 *   string, owned  set passes it to the pblock: it must come from slapi_ch_malloc() or
 *                  a related function
 *   string, copied  set makes a copy
 *   got as a copy  get makes a copy, which the caller frees by slapi_ch_free();
 *                  otherwise the string still belongs to the pblock
 *
 * One thread at a time may use a pblock (not MT-safe); different pblocks are independent of each
 * other. All functions are fork-safe and cancel-safe, and not async-signal-safe; <slab/slab.h>
 * defines these words.
 */
#ifndef SLAB_DIRSRV_PBLOCK_H
#define SLAB_DIRSRV_PBLOCK_H

#include <slab/slab.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct slapi_pblock Slapi_PBlock;

/*
 * The types that parameters point to, by plug-ins' names; libslab_dirsrv does not access them.
 * LDAPControl, LDAPMod, BerElement and struct berval are those of <ldap.h>, which may be
 * included before or after.
 */
typedef struct slapi_entry Slapi_Entry;
typedef struct slapi_attr Slapi_Attr;
typedef struct slapi_value Slapi_Value;
typedef struct slapi_value_set Slapi_ValueSet;
typedef struct slapi_dn Slapi_DN;
typedef struct slapi_rdn Slapi_RDN;
typedef struct slapi_mods Slapi_Mods;
typedef struct slapi_mod Slapi_Mod;
typedef struct slapi_filter Slapi_Filter;
typedef struct slapi_backend Slapi_Backend;
typedef struct slapi_operation Slapi_Operation;
typedef Slapi_Operation Operation;
typedef struct slapi_connection Slapi_Connection;
typedef Slapi_Connection Connection;
typedef struct slapi_componentid Slapi_ComponentId;
typedef struct ldapcontrol LDAPControl;
typedef struct ldapmod LDAPMod;
typedef struct berelement BerElement;
struct berval;

/* The description of a plug-in: SLAPI_PLUGIN_DESCRIPTION. */
typedef struct slapi_plugindesc {
	char *spd_id;
	char *spd_vendor;
	char *spd_version;
	char *spd_description;
} Slapi_PluginDesc;

/* Versions of the interface: values of SLAPI_PLUGIN_VERSION. */
#define SLAPI_PLUGIN_VERSION_01 "01"
#define SLAPI_PLUGIN_VERSION_02 "02"
#define SLAPI_PLUGIN_VERSION_03 "03"

/* Room for an address of any family, of the size of NSPR's PRNetAddr. */
struct slapi_pblock_address {
	uint64_t words[14];
};

/* slapi_pblock_new: a pblock with all parameters at their defaults, or NULL and ENOMEM. */
SLAB_API Slapi_PBlock *slapi_pblock_new(void);

/*
 * slapi_pblock_init: set all parameters to their defaults, for the next use, and free what
 * the pblock owns. NULL is allowed.
 */
SLAB_API void slapi_pblock_init(Slapi_PBlock *pb);

/* slapi_pblock_destroy: free a pblock and what it owns. NULL is allowed. */
SLAB_API void slapi_pblock_destroy(Slapi_PBlock *pb);

/*
 * slapi_pblock_get: read a parameter into the variable that value points to.
 *
 * It always writes the variable: the value that was set last, or the default.
 *
 * Returns 0, or -1: pb or value is NULL, or the parameter does not exist, and it writes nothing; no
 * memory for the copy of a string, and it writes NULL, and errno is ENOMEM.
 */
SLAB_API int slapi_pblock_get(Slapi_PBlock *pb, int parameter, void *value);

/*
 * slapi_pblock_set: set a parameter to a value.
 *
 * NULL is a value of pointers and strings; for other types it is an error.
 * A parameter that already differs from its default needs no memory, except for copies.
 *
 * Returns 0, or -1, and the call changed nothing; an owned string then still belongs to the
 * caller: pb is NULL, the parameter does not exist, or NULL for a number or an address; no memory,
 * and errno is ENOMEM.
 */
SLAB_API int slapi_pblock_set(Slapi_PBlock *pb, int parameter, void *value);

/*
 * slapi_pblock_clone: a new pblock with the same value of each parameter.
 *
 * The clone then owns what pb owned. In pb, owned strings and the parameters of the sections
 * below that say "moved by clone" return to their defaults; all others keep their values in
 * both.
 * Returns the clone, or NULL, and pb is unchanged: pb is NULL, or errno is ENOMEM.
 */
SLAB_API Slapi_PBlock *slapi_pblock_clone(Slapi_PBlock *pb);

/* slab_pblock_size: bytes of pb with its present parts, without strings; 0 for NULL. */
SLAB_API size_t slab_pblock_size(const Slapi_PBlock *pb);

/* --- parameters --------------------------------------------------------------- */

/* What the pblock is about. */
#define SLAPI_PLUGIN 3
#define SLAPI_BACKEND 130
#define SLAPI_CONNECTION 131
#define SLAPI_OPERATION 132
#define SLAPI_DEFERRED_MEMBEROF 861 /* int */

/* Called back by internal operations. */
#define SLAPI_PLUGIN_DB_ENTRY_FN 214
#define SLAPI_PLUGIN_DB_REFERRAL_FN 215
#define SLAPI_PLUGIN_DB_RESULT_FN 216

/* Plug-ins: what they are, and their functions. */
#define SLAPI_PLUGIN_PRIVATE 4
#define SLAPI_PLUGIN_TYPE 5 /* int */
#define SLAPI_PLUGIN_ARGV 6
#define SLAPI_PLUGIN_ARGC 7 /* int */
#define SLAPI_PLUGIN_VERSION 8
#define SLAPI_PLUGIN_DESCRIPTION 12
#define SLAPI_PLUGIN_PRECEDENCE 14 /* int */
#define SLAPI_PLUGIN_DB_BIND_FN 200
#define SLAPI_PLUGIN_DB_UNBIND_FN 201
#define SLAPI_PLUGIN_DB_SEARCH_FN 202
#define SLAPI_PLUGIN_DB_COMPARE_FN 203
#define SLAPI_PLUGIN_DB_MODIFY_FN 204
#define SLAPI_PLUGIN_DB_MODRDN_FN 205
#define SLAPI_PLUGIN_DB_ADD_FN 206
#define SLAPI_PLUGIN_DB_DELETE_FN 207
#define SLAPI_PLUGIN_DB_ABANDON_FN 208
#define SLAPI_PLUGIN_DB_CONFIG_FN 209
#define SLAPI_PLUGIN_CLOSE_FN 210
#define SLAPI_PLUGIN_PRE_CLOSE_FN 211
#define SLAPI_PLUGIN_START_FN 212
#define SLAPI_PLUGIN_DB_SEQ_FN 213
#define SLAPI_PLUGIN_DB_LDIF2DB_FN 217
#define SLAPI_PLUGIN_DB_DB2LDIF_FN 218
#define SLAPI_PLUGIN_DB_BEGIN_FN 219
#define SLAPI_PLUGIN_DB_COMMIT_FN 220
#define SLAPI_PLUGIN_DB_ABORT_FN 221
#define SLAPI_PLUGIN_DB_ARCHIVE2DB_FN 222
#define SLAPI_PLUGIN_DB_DB2ARCHIVE_FN 223
#define SLAPI_PLUGIN_DB_NEXT_SEARCH_ENTRY_FN 224
#define SLAPI_PLUGIN_DB_TEST_FN 227
#define SLAPI_PLUGIN_DB_DB2INDEX_FN 228
#define SLAPI_PLUGIN_DB_NEXT_SEARCH_ENTRY_EXT_FN 229
#define SLAPI_PLUGIN_CLEANUP_FN 232
#define SLAPI_PLUGIN_POSTSTART_FN 233
#define SLAPI_PLUGIN_DB_WIRE_IMPORT_FN 234
#define SLAPI_PLUGIN_DB_UPGRADEDB_FN 235
#define SLAPI_PLUGIN_DB_DBVERIFY_FN 236
#define SLAPI_PLUGIN_DB_SEARCH_RESULTS_RELEASE_FN 238
#define SLAPI_PLUGIN_DB_PREV_SEARCH_RESULTS_FN 239
#define SLAPI_PLUGIN_DB_UPGRADEDNFORMAT_FN 240
#define SLAPI_PLUGIN_DB_NO_ACL 250 /* int */
#define SLAPI_PLUGIN_DB_RMDB_FN 280
#define SLAPI_PLUGIN_DB_GET_INFO_FN 290
#define SLAPI_PLUGIN_DB_SET_INFO_FN 291
#define SLAPI_PLUGIN_DB_CTRL_INFO_FN 292
#define SLAPI_PLUGIN_DB_COMPACT_FN 294
#define SLAPI_PLUGIN_EXT_OP_FN 300
#define SLAPI_PLUGIN_EXT_OP_OIDLIST 301
#define SLAPI_PLUGIN_EXT_OP_NAMELIST 302
#define SLAPI_PLUGIN_PRE_BIND_FN 401
#define SLAPI_PLUGIN_PRE_UNBIND_FN 402
#define SLAPI_PLUGIN_PRE_SEARCH_FN 403
#define SLAPI_PLUGIN_PRE_COMPARE_FN 404
#define SLAPI_PLUGIN_PRE_MODIFY_FN 405
#define SLAPI_PLUGIN_PRE_MODRDN_FN 406
#define SLAPI_PLUGIN_PRE_ADD_FN 407
#define SLAPI_PLUGIN_PRE_DELETE_FN 408
#define SLAPI_PLUGIN_PRE_ABANDON_FN 409
#define SLAPI_PLUGIN_PRE_ENTRY_FN 410
#define SLAPI_PLUGIN_PRE_REFERRAL_FN 411
#define SLAPI_PLUGIN_PRE_RESULT_FN 412
#define SLAPI_PLUGIN_PRE_EXTOP_FN 413
#define SLAPI_PLUGIN_INTERNAL_PRE_ADD_FN 420
#define SLAPI_PLUGIN_INTERNAL_PRE_MODIFY_FN 421
#define SLAPI_PLUGIN_INTERNAL_PRE_MODRDN_FN 422
#define SLAPI_PLUGIN_INTERNAL_PRE_DELETE_FN 423
#define SLAPI_PLUGIN_INTERNAL_PRE_BIND_FN 424
#define SLAPI_PLUGIN_BE_PRE_ADD_FN 450
#define SLAPI_PLUGIN_BE_PRE_MODIFY_FN 451
#define SLAPI_PLUGIN_BE_PRE_MODRDN_FN 452
#define SLAPI_PLUGIN_BE_PRE_DELETE_FN 453
#define SLAPI_PLUGIN_BE_PRE_CLOSE_FN 454
#define SLAPI_PLUGIN_BE_TXN_PRE_ADD_FN 460
#define SLAPI_PLUGIN_BE_TXN_PRE_MODIFY_FN 461
#define SLAPI_PLUGIN_BE_TXN_PRE_MODRDN_FN 462
#define SLAPI_PLUGIN_BE_TXN_PRE_DELETE_FN 463
#define SLAPI_PLUGIN_BE_TXN_PRE_DELETE_TOMBSTONE_FN 464
#define SLAPI_PLUGIN_POST_BIND_FN 501
#define SLAPI_PLUGIN_POST_UNBIND_FN 502
#define SLAPI_PLUGIN_POST_SEARCH_FN 503
#define SLAPI_PLUGIN_POST_COMPARE_FN 504
#define SLAPI_PLUGIN_POST_MODIFY_FN 505
#define SLAPI_PLUGIN_POST_MODRDN_FN 506
#define SLAPI_PLUGIN_POST_ADD_FN 507
#define SLAPI_PLUGIN_POST_DELETE_FN 508
#define SLAPI_PLUGIN_POST_ABANDON_FN 509
#define SLAPI_PLUGIN_POST_ENTRY_FN 510
#define SLAPI_PLUGIN_POST_REFERRAL_FN 511
#define SLAPI_PLUGIN_POST_RESULT_FN 512
#define SLAPI_PLUGIN_POST_SEARCH_FAIL_FN 513
#define SLAPI_PLUGIN_POST_EXTOP_FN 514
#define SLAPI_PLUGIN_INTERNAL_POST_ADD_FN 520
#define SLAPI_PLUGIN_INTERNAL_POST_MODIFY_FN 521
#define SLAPI_PLUGIN_INTERNAL_POST_MODRDN_FN 522
#define SLAPI_PLUGIN_INTERNAL_POST_DELETE_FN 523
#define SLAPI_PLUGIN_BE_POST_ADD_FN 550
#define SLAPI_PLUGIN_BE_POST_MODIFY_FN 551
#define SLAPI_PLUGIN_BE_POST_MODRDN_FN 552
#define SLAPI_PLUGIN_BE_POST_DELETE_FN 553
#define SLAPI_PLUGIN_BE_POST_OPEN_FN 554
#define SLAPI_PLUGIN_BE_POST_EXPORT_FN 556
#define SLAPI_PLUGIN_BE_POST_IMPORT_FN 557
#define SLAPI_PLUGIN_BE_TXN_POST_ADD_FN 560
#define SLAPI_PLUGIN_BE_TXN_POST_MODIFY_FN 561
#define SLAPI_PLUGIN_BE_TXN_POST_MODRDN_FN 562
#define SLAPI_PLUGIN_BE_TXN_POST_DELETE_FN 563
#define SLAPI_PLUGIN_MR_FILTER_CREATE_FN 600
#define SLAPI_PLUGIN_MR_INDEXER_CREATE_FN 601
#define SLAPI_PLUGIN_MR_FILTER_AVA 618
#define SLAPI_PLUGIN_MR_FILTER_SUB 619
#define SLAPI_PLUGIN_MR_VALUES2KEYS 620
#define SLAPI_PLUGIN_MR_ASSERTION2KEYS_AVA 621
#define SLAPI_PLUGIN_MR_ASSERTION2KEYS_SUB 622
#define SLAPI_PLUGIN_MR_FLAGS 623 /* int */
#define SLAPI_PLUGIN_MR_NAMES 624
#define SLAPI_PLUGIN_MR_COMPARE 625
#define SLAPI_PLUGIN_MR_NORMALIZE 626
#define SLAPI_PLUGIN_SYNTAX_FILTER_AVA 700
#define SLAPI_PLUGIN_SYNTAX_FILTER_SUB 701
#define SLAPI_PLUGIN_SYNTAX_VALUES2KEYS 702
#define SLAPI_PLUGIN_SYNTAX_ASSERTION2KEYS_AVA 703
#define SLAPI_PLUGIN_SYNTAX_ASSERTION2KEYS_SUB 704
#define SLAPI_PLUGIN_SYNTAX_NAMES 705
#define SLAPI_PLUGIN_SYNTAX_OID 706
#define SLAPI_PLUGIN_SYNTAX_FLAGS 707 /* int */
#define SLAPI_PLUGIN_SYNTAX_COMPARE 708
#define SLAPI_PLUGIN_SYNTAX_VALIDATE 710
#define SLAPI_PLUGIN_SYNTAX_NORMALIZE 711
#define SLAPI_PLUGIN_ACL_INIT 730
#define SLAPI_PLUGIN_ACL_SYNTAX_CHECK 731
#define SLAPI_PLUGIN_ACL_ALLOW_ACCESS 732
#define SLAPI_PLUGIN_ACL_MODS_ALLOWED 733
#define SLAPI_PLUGIN_ACL_MODS_UPDATE 734
#define SLAPI_PLUGIN_MMR_BETXN_PREOP 761
#define SLAPI_PLUGIN_MMR_BETXN_POSTOP 762
#define SLAPI_PLUGIN_PWD_STORAGE_SCHEME_ENC_FN 800
#define SLAPI_PLUGIN_PWD_STORAGE_SCHEME_DEC_FN 801
#define SLAPI_PLUGIN_PWD_STORAGE_SCHEME_CMP_FN 802
#define SLAPI_PLUGIN_PWD_STORAGE_SCHEME_NAME 810
#define SLAPI_PLUGIN_ENTRY_FETCH_FUNC 813
#define SLAPI_PLUGIN_ENTRY_STORE_FUNC 814
#define SLAPI_PLUGIN_CONFIG_DN 817
#define SLAPI_PLUGIN_EXT_OP_BACKEND_FN 1948

/* Operations: parameters and results. */
#define SLAPI_TARGET_SDN 47
#define SLAPI_TARGET_ADDRESS 48
#define SLAPI_TARGET_UNIQUEID 49
#define SLAPI_TARGET_DN 50
#define SLAPI_REQCONTROLS 51
#define SLAPI_RESCONTROLS 55
#define SLAPI_ADD_RESCONTROL 56
#define SLAPI_ADD_ENTRY 60
#define SLAPI_ADD_PARENT_UNIQUEID 63
#define SLAPI_BIND_METHOD 70 /* unsigned long */
#define SLAPI_BIND_CREDENTIALS 71
#define SLAPI_BIND_SASLMECHANISM 72
#define SLAPI_BIND_RET_SASLCREDS 73
#define SLAPI_COMPARE_TYPE 80
#define SLAPI_COMPARE_VALUE 81
#define SLAPI_MODIFY_MODS 90
#define SLAPI_MODRDN_NEWRDN 100
#define SLAPI_MODRDN_DELOLDRDN 101 /* int */
#define SLAPI_MODRDN_NEWSUPERIOR 102
#define SLAPI_MODRDN_NEWSUPERIOR_SDN 103
#define SLAPI_MODRDN_NEWSUPERIOR_ADDRESS 107
#define SLAPI_ORIGINAL_TARGET_DN 109
#define SLAPI_SEARCH_SCOPE 110 /* int */
#define SLAPI_SEARCH_DEREF 111 /* int */
#define SLAPI_SEARCH_SIZELIMIT 112 /* int */
#define SLAPI_SEARCH_TIMELIMIT 113 /* int */
#define SLAPI_SEARCH_FILTER 114
#define SLAPI_SEARCH_STRFILTER 115
#define SLAPI_SEARCH_ATTRS 116
#define SLAPI_SEARCH_ATTRSONLY 117 /* int */
#define SLAPI_SEARCH_IS_AND 118 /* int */
#define SLAPI_SEARCH_FILTER_INTENDED 119
#define SLAPI_ABANDON_MSGID 120 /* int */
#define SLAPI_OPERATION_PARAMETERS 138
#define SLAPI_OPINITIATED_TIME 140 /* time_t */
#define SLAPI_REQUESTOR_DN 141
#define SLAPI_IS_REPLICATED_OPERATION 142 /* int */
#define SLAPI_IS_MMR_REPLICATED_OPERATION 153 /* int */
#define SLAPI_SKIP_MODIFIED_ATTRS 155 /* int */
#define SLAPI_REQUESTOR_NDN 156
#define SLAPI_EXT_OP_REQ_OID 160
#define SLAPI_EXT_OP_REQ_VALUE 161
#define SLAPI_EXT_OP_RET_OID 162
#define SLAPI_EXT_OP_RET_VALUE 163
#define SLAPI_SEARCH_RESULT_SET 193
#define SLAPI_SEARCH_RESULT_ENTRY 194
#define SLAPI_NENTRIES 195 /* int */
#define SLAPI_SEARCH_REFERRALS 196
#define SLAPI_OPERATION_TYPE 590 /* int */
#define SLAPI_OPERATION_AUTHTYPE 741
#define SLAPI_OPERATION_ID 744 /* int */
#define SLAPI_OPERATION_SSF 750 /* int */
#define SLAPI_REQUESTOR_SDN 852
#define SLAPI_RESULT_CODE 881 /* int */
#define SLAPI_RESULT_TEXT 882
#define SLAPI_RESULT_MATCHED 883
#define SLAPI_SEARCH_GERATTRS 1160
#define SLAPI_SEARCH_REQATTRS 1161
#define SLAPI_SEARCH_RESULT_SET_SIZE_ESTIMATE 1930 /* int */
#define SLAPI_SEARCH_RESULT_ENTRY_EXT 1944

/* Connections. */
#define SLAPI_CONN_ID 139 /* uint64_t */
#define SLAPI_CONN_DN 143 /* string, owned, got as a copy */
#define SLAPI_CONN_AUTHTYPE 144
#define SLAPI_CONN_CLIENTIP 145 /* int */
#define SLAPI_CONN_SERVERIP 146 /* int */
#define SLAPI_CONN_IS_REPLICATION_SESSION 149 /* int */
#define SLAPI_CONN_CERT 743
#define SLAPI_CLIENT_DNS 745
#define SLAPI_CONN_AUTHMETHOD 746 /* string, copied, got as a copy */
#define SLAPI_CONN_IS_SSL_SESSION 747 /* int */
#define SLAPI_CONN_SASL_SSF 748 /* int */
#define SLAPI_CONN_SSL_SSF 749 /* int */
#define SLAPI_CONN_LOCAL_SSF 751 /* int */
#define SLAPI_CONN_CLIENTNETADDR 850 /* address */
#define SLAPI_CONN_SERVERNETADDR 851 /* address */
#define SLAPI_CONN_CLIENTNETADDR_ACLIP 853

/* Internal operations, and what plug-ins add to an operation (moved by clone). */
#define SLAPI_PLUGIN_OPRETURN 9 /* int */
#define SLAPI_PLUGIN_INTOP_RESULT 15 /* int */
#define SLAPI_PLUGIN_INTOP_SEARCH_ENTRIES 16
#define SLAPI_PLUGIN_INTOP_SEARCH_REFERRALS 17
#define SLAPI_ENTRY_PRE_OP 52
#define SLAPI_ENTRY_POST_OP 53
#define SLAPI_OP_NOTES 57 /* int */
#define SLAPI_CONTROLS_ARG 58
#define SLAPI_ADD_EXISTING_DN_ENTRY 61
#define SLAPI_ADD_PARENT_ENTRY 62
#define SLAPI_ADD_EXISTING_UNIQUEID_ENTRY 64
#define SLAPI_MODRDN_PARENT_ENTRY 104
#define SLAPI_MODRDN_NEWPARENT_ENTRY 105
#define SLAPI_MODRDN_TARGET_ENTRY 106
#define SLAPI_REQUESTOR_ISROOT 133 /* int */
#define SLAPI_TXN 191
#define SLAPI_SEARCH_CTRLS 198
#define SLAPI_URP_NAMING_COLLISION_DN 286
#define SLAPI_URP_TOMBSTONE_UNIQUEID 288
#define SLAPI_URP_TOMBSTONE_CONFLICT_DN 293
#define SLAPI_PB_RESULT_TEXT 885 /* string, copied */
#define SLAPI_MANAGEDSAIT 1000 /* int */
#define SLAPI_PWPOLICY 1001 /* int */
#define SLAPI_SESSION_TRACKING 1002 /* string, owned */
#define SLAPI_TXN_RUV_MODS_FN 1901
#define SLAPI_PAGED_RESULTS_INDEX 1945 /* int; -1 when not set */
#define SLAPI_PAGED_RESULTS_COOKIE 1949 /* int */
#define SLAPI_USN_INCREMENT_FOR_TOMBSTONE 1950 /* int */
#define SLAPI_MEMBEROF_DEFERRED_TASK 1951

/* Plug-ins: data of an instance (moved by clone). */
#define SLAPI_PLUGIN_OBJECT 10
#define SLAPI_PLUGIN_DESTROY_FN 11
#define SLAPI_PLUGIN_IDENTITY 13
#define SLAPI_CONFIG_DIRECTORY 281
#define SLAPI_SYNTAX_SUBSTRLENS 709
#define SLAPI_PLUGIN_SYNTAX_FILTER_NORMALIZED 712 /* int */
#define SLAPI_PLUGIN_SYNTAX_FILTER_DATA 713
#define SLAPI_PLUGIN_ENABLED 815 /* int */
#define SLAPI_PLUGIN_CONFIG_AREA 816

/* Matching rules: a query (moved by clone). */
#define SLAPI_PLUGIN_MR_FILTER_MATCH_FN 602
#define SLAPI_PLUGIN_MR_FILTER_INDEX_FN 603
#define SLAPI_PLUGIN_MR_FILTER_RESET_FN 604
#define SLAPI_PLUGIN_MR_INDEX_FN 605
#define SLAPI_PLUGIN_MR_INDEX_SV_FN 606
#define SLAPI_PLUGIN_MR_OID 610
#define SLAPI_PLUGIN_MR_TYPE 611
#define SLAPI_PLUGIN_MR_VALUE 612
#define SLAPI_PLUGIN_MR_VALUES 613
#define SLAPI_PLUGIN_MR_KEYS 614
#define SLAPI_PLUGIN_MR_FILTER_REUSABLE 615 /* int */
#define SLAPI_PLUGIN_MR_QUERY_OPERATOR 616 /* int */
#define SLAPI_PLUGIN_MR_USAGE 617 /* int */

/* Import, export and other tasks (moved by clone). */
#define SLAPI_SEQ_TYPE 150 /* int */
#define SLAPI_SEQ_ATTRNAME 151
#define SLAPI_SEQ_VAL 152
#define SLAPI_LDIF2DB_GENERATE_UNIQUEID 175 /* int */
#define SLAPI_DB2LDIF_DUMP_UNIQUEID 176 /* int */
#define SLAPI_LDIF2DB_NAMESPACEID 177
#define SLAPI_BACKEND_INSTANCE_NAME 178
#define SLAPI_BACKEND_TASK 179
#define SLAPI_LDIF2DB_FILE 180
#define SLAPI_TASK_FLAGS 181 /* int */
#define SLAPI_BULK_IMPORT_ENTRY 182
#define SLAPI_DB2LDIF_PRINTKEY 183 /* int */
#define SLAPI_DB2LDIF_FILE 184
#define SLAPI_LDIF2DB_REMOVEDUPVALS 185 /* int */
#define SLAPI_DB2INDEX_ATTRS 186
#define SLAPI_LDIF2DB_NOATTRINDEXES 187 /* int */
#define SLAPI_LDIF2DB_INCLUDE 188
#define SLAPI_LDIF2DB_EXCLUDE 189
#define SLAPI_BULK_IMPORT_STATE 192 /* int */
#define SLAPI_DB2LDIF_SERVER_RUNNING 197 /* int */
#define SLAPI_LDIF2DB_ENCRYPT 303 /* int */
#define SLAPI_DB2LDIF_DECRYPT 304 /* int */
#define SLAPI_LDIF_CHANGELOG 1761 /* int */
#define SLAPI_DBVERIFY_DBDIR 1947

/* Entries of the configuration (moved by clone). */
#define SLAPI_DSE_DONT_WRITE_WHEN_ADDING 282 /* int */
#define SLAPI_DSE_MERGE_WHEN_ADDING 283 /* int */
#define SLAPI_DSE_DONT_CHECK_DUPS 284 /* int */
#define SLAPI_SCHEMA_FLAGS 285 /* int */
#define SLAPI_DSE_REAPPLY_MODS 287 /* int */
#define SLAPI_DSE_IS_PRIMARY_FILE 289 /* int */

/* Backends. */
#define SLAPI_BE_TYPE 135
#define SLAPI_BE_READONLY 136 /* int */
#define SLAPI_BE_LASTMOD 137 /* int; 1 when not set */
#define SLAPI_BE_MAXNESTLEVEL 742 /* int */

/* The server (moved by clone). */
#define SLAPI_ARGC 147 /* int */
#define SLAPI_ARGV 148
#define SLAPI_DBSIZE 199 /* int */
#define SLAPI_BACKEND_COUNT 860 /* int */
#define SLAPI_ACI_TARGET_CHECK 1946 /* int */

/* Obsolete (moved by clone). */
#define SLAPI_DESTROY_CONTENT 59 /* int */
#define SLAPI_PARENT_TXN 190
#define SLAPI_PLUGIN_PWD_STORAGE_SCHEME_USER_PWD 811
#define SLAPI_PLUGIN_PWD_STORAGE_SCHEME_DB_PWD 812

/* Other names of the same parameters. */
#define SLAPI_ADD_TARGET SLAPI_TARGET_DN
#define SLAPI_BIND_TARGET SLAPI_TARGET_DN
#define SLAPI_COMPARE_TARGET SLAPI_TARGET_DN
#define SLAPI_DELETE_TARGET SLAPI_TARGET_DN
#define SLAPI_MODIFY_TARGET SLAPI_TARGET_DN
#define SLAPI_MODRDN_TARGET SLAPI_TARGET_DN
#define SLAPI_SEARCH_TARGET SLAPI_TARGET_DN
#define SLAPI_ADD_TARGET_SDN SLAPI_TARGET_SDN
#define SLAPI_BIND_TARGET_SDN SLAPI_TARGET_SDN
#define SLAPI_COMPARE_TARGET_SDN SLAPI_TARGET_SDN
#define SLAPI_DELETE_TARGET_SDN SLAPI_TARGET_SDN
#define SLAPI_MODIFY_TARGET_SDN SLAPI_TARGET_SDN
#define SLAPI_MODRDN_TARGET_SDN SLAPI_TARGET_SDN
#define SLAPI_SEARCH_TARGET_SDN SLAPI_TARGET_SDN
#define SLAPI_ORIGINAL_TARGET SLAPI_ORIGINAL_TARGET_DN

#ifdef __cplusplus
}
#endif

#endif /* SLAB_DIRSRV_PBLOCK_H */
