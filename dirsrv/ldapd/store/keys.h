/* SPDX-License-Identifier: MIT */
/*
 * The keys of an index: one byte for the kind, then
 *   presence    nothing
 *   equality    the normalized value; of a long one the beginning and a hash
 *   substrings  three bytes of STORE_START, the normalized value, STORE_END
 */
#ifndef LDAPD_STORE_KEYS_H
#define LDAPD_STORE_KEYS_H

#include "store/internal.h"

#define KEY_PRESENCE 'p'
#define KEY_EQUALITY '='
#define KEY_SUBSTRING '*'

/* Bytes of a value that its key has before the hash. */
#define KEY_TEXT ((size_t)192)
#define KEY_MAX (1 + KEY_TEXT + sizeof(uint64_t))
#define KEY_GRAM ((size_t)3)

/* Keys in order, each once. All zero: none. */
struct keys {
	struct buffer bytes;
	struct ids starts; /* where each key starts in bytes; its first byte is its length */
};

/* keys_make: the keys of an entry's values in an index; keys->…failed: no memory. */
void keys_make(const struct index *index, const struct dirsrv_pair *pairs, size_t n,
	       struct keys *keys);

/* keys_at: key number i. keys_compare: the order of two keys. */
struct dirsrv_bytes keys_at(const struct keys *keys, size_t i);

bool keys_failed(const struct keys *keys);
void keys_free(struct keys *keys);

/* keys_equality: write the key of a normalized value to out; returns its length. */
size_t keys_equality(struct dirsrv_bytes normal, char out[KEY_MAX]);

#endif /* LDAPD_STORE_KEYS_H */
