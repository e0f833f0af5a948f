/* SPDX-License-Identifier: MIT */
/* Normal forms of texts, for the files of this room. */
#ifndef LDAPD_SCHEMA_FOLD_H
#define LDAPD_SCHEMA_FOLD_H

#include <stdbool.h>
#include <stddef.h>

#include <slab/dirsrv/entry.h>

#include "base/memory.h"

/* fold_text: fold in place. fold_squeeze: copy text with each run of blanks as one; returns the
 * length. */
void fold_text(char *text, size_t length);
size_t fold_squeeze(const char *from, size_t length, char *to);

/* fold_normalize: append a text without blanks at its ends, each run of blanks as one, and with
 * `fold` in small letters. False: it is empty, or (out->failed) there is no memory. */
bool fold_normalize(struct dirsrv_bytes value, bool fold, struct buffer *out);

#endif /* LDAPD_SCHEMA_FOLD_H */
