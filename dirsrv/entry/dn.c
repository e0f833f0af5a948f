/* SPDX-License-Identifier: MIT */
/*
 * DNs. A normalised DN has lower case, and no blanks around '=', ',' and '+', nor at its
 * ends; two texts that differ in nothing else are the same DN. Escaped characters stay
 * escaped: who writes a character with and without need has written two DNs.
 *
 * The name of an entry is the value of its first RDN, as a search for it would have it.
 */
#include "internal.h"

#include <errno.h>
#include <slab/malloc.h>

#include "text.h"

static bool separates(char c)
{
	return c == ',' || c == '+' || c == '=';
}

/* Into out[length]; how much of it is used, or 0: it ends within an escape. */
static size_t normalize(const char *text, size_t length, char *out, uint32_t *ret_rdns)
{
	size_t used = 0, kept = 0; /* blanks before `kept` are escaped */

	*ret_rdns = 1;
	for (size_t i = 0; i < length; i++) {
		char c = text_fold(text[i]);

		if (c == '\\') {
			if (++i == length)
				return 0;
			out[used++] = c;
			out[used++] = text_fold(text[i]);
			kept = used;
			continue;
		}
		if (separates(c))
			while (used > kept && out[used - 1] == ' ')
				used--;
		else if (c == ' ' && (!used || (used > kept && separates(out[used - 1]))))
			continue;
		*ret_rdns += c == ',';
		out[used++] = c;
	}
	while (used > kept && out[used - 1] == ' ')
		used--;
	return used;
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The first RDN's value of a normalised DN, without escapes, into out. */
static size_t unescape_name(const char *from, const char *end, char *out)
{
	size_t used = 0;

	while (from < end && *from != ',' && *from != '+') {
		char c = *from++;

		/* Behind a backslash there is a character (normalize()). */
		if (c == '\\' && end - from > 1 && hex(from[0]) >= 0 && hex(from[1]) >= 0) {
			c = text_fold((char)(hex(from[0]) << 4 | hex(from[1])));
			from += 2;
		} else if (c == '\\') {
			c = *from++;
		}
		out[used++] = c;
	}
	return used;
}

/* Into dn->text, which has room for three texts of this length and their zero bytes. */
static bool fill(struct dirsrv_dn *dn, const char *text, size_t length)
{
	char *normalized = dn->text + length + 1, *equals;
	size_t n = normalize(text, length, normalized, &dn->rdns);

	equals = n ? memchr(normalized, '=', n) : NULL;
	if (!equals || equals == normalized)
		return false;
	memcpy(dn->text, text, length);
	dn->text[length] = '\0';
	if (n == length && memcmp(text, normalized, n) == 0) {
		equals = dn->text + (equals - normalized);
		normalized = dn->text;
	}
	normalized[n] = '\0';
	dn->normalized = normalized;
	dn->name = normalized + n + 1;
	dn->length = (uint32_t)length;
	dn->normalized_length = (uint32_t)n;
	dn->name_length = (uint32_t)unescape_name(equals + 1, normalized + n, dn->name);
	dn->name[dn->name_length] = '\0';
	dn->hash = text_hash(normalized, n);
	return true;
}

/* The length of all texts. */
static size_t text_bytes(const struct dirsrv_dn *dn)
{
	return (size_t)(dn->name - dn->text) + dn->name_length + 1;
}

size_t dn_bytes(const struct dirsrv_dn *dn)
{
	return sizeof(*dn) + text_bytes(dn);
}

/* A DN with `dn` as its content, and the texts copied. */
static struct dirsrv_dn *keep(struct dirsrv_entry_pool *pool, const struct dirsrv_dn *dn)
{
	struct dirsrv_dn *kept = slab_alloc(pool->dns);
	char *text = kept ? slab_malloc(text_bytes(dn)) : NULL;

	if (!text) {
		slab_free(pool->dns, kept);
		return NULL;
	}
	memcpy(text, dn->text, text_bytes(dn));
	*kept = *dn;
	kept->text = text;
	kept->normalized = text + (dn->normalized - dn->text);
	kept->name = text + (dn->name - dn->text);
	return kept;
}

struct dirsrv_dn *dn_copy(struct dirsrv_entry_pool *pool, const struct dirsrv_dn *dn)
{
	return keep(pool, dn);
}

struct dirsrv_dn *dirsrv_dn_make(struct dirsrv_entry_pool *pool, const char *text, size_t length)
{
	char room[1024];
	struct dirsrv_dn dn = {.text = room}, *kept = NULL;

	if (!length || length > DIRSRV_DN_MAX) {
		errno = EINVAL;
		return NULL;
	}
	if (3 * (length + 1) > sizeof(room))
		dn.text = slab_malloc(3 * (length + 1));
	if (!dn.text)
		return NULL;
	if (fill(&dn, text, length))
		kept = keep(pool, &dn);
	else
		errno = EINVAL;
	if (dn.text != room)
		slab_mfree(dn.text);
	return kept;
}

void dirsrv_dn_free(struct dirsrv_entry_pool *pool, struct dirsrv_dn *dn)
{
	if (!dn)
		return;
	slab_mfree(dn->text);
	slab_free(pool->dns, dn);
}

static const char *text_with_length(const char *text, size_t length, size_t *ret_length)
{
	if (ret_length)
		*ret_length = length;
	return text;
}

const char *dirsrv_dn_text(const struct dirsrv_dn *dn, size_t *length)
{
	return text_with_length(dn->text, dn->length, length);
}

const char *dirsrv_dn_normalized(const struct dirsrv_dn *dn, size_t *length)
{
	return text_with_length(dn->normalized, dn->normalized_length, length);
}

const char *dirsrv_dn_name(const struct dirsrv_dn *dn, size_t *length)
{
	return text_with_length(dn->name, dn->name_length, length);
}

uint64_t dirsrv_dn_hash(const struct dirsrv_dn *dn)
{
	return dn->hash;
}

unsigned dirsrv_dn_rdns(const struct dirsrv_dn *dn)
{
	return dn->rdns;
}

bool dirsrv_dn_equal(const struct dirsrv_dn *a, const struct dirsrv_dn *b)
{
	return a->hash == b->hash && a->normalized_length == b->normalized_length &&
	       memcmp(a->normalized, b->normalized, a->normalized_length) == 0;
}
