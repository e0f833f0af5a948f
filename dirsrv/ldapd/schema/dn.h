/* SPDX-License-Identifier: MIT */
/*
 * DNs as text of RFC 4514 and in the backend's normal form: types by their names in the schema,
 * values as caseIgnoreMatch has them, without escapes; the parts of an RDN in order. In it
 * the byte DN_SEPARATOR is between RDNs, and DN_AND between the parts of one, so that a DN is
 * under another exactly when it ends with DN_SEPARATOR and the other. All functions are MT-safe.
 */
#pragma once

#include <slab/dirsrv/entry.h>

#include "base/memory.h"

#define DN_SEPARATOR '\0'
#define DN_AND '\001'

/* dn_normalize: append the normal form of a DN; "" has "". False: it is no DN, has more than
 * DIRSRV_DN_MAX bytes or 1000 RDNs, or (out->failed) there is no memory. */
bool dn_normalize(struct dirsrv_bytes text, struct buffer *out);

/* dn_rdn: the text of the first RDN, without blanks at its ends. */
struct dirsrv_bytes dn_rdn(struct dirsrv_bytes text);

/* dn_under: whether a normal form is that of an entry below another; every entry is below "". */
bool dn_under(struct dirsrv_bytes normal, struct dirsrv_bytes above);

/* dn_normal_parent: the parent in normal form; length 0: none. */
struct dirsrv_bytes dn_normal_parent(struct dirsrv_bytes normal);

/* A type and value of an RDN. */
struct dn_part {
	struct dirsrv_bytes type;
	struct dirsrv_bytes value; /* without escapes */
};

/*
 * dn_part_next: the next part of an RDN's text.
 *
 * @rest  the text of the RDN at first; moved behind the part
 * @room  the value without escapes is appended here, and part->value points to it
 *
 * Returns 1, 0: there are no more; -1: this is no RDN, or (room->failed) there is no memory.
 */
int dn_part_next(struct dirsrv_bytes *rest, struct dn_part *part, struct buffer *room);
