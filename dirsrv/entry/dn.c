/* SPDX-License-Identifier: MIT */
/*
 * DNs: RDN,RDN,… where an RDN is TYPE=VALUE+TYPE=VALUE+…
 *
 * A normalised DN is in lower case, has no blanks around types and values, and escapes with a
 * backslash only the characters that need it. So texts that differ only in case, blanks or
 * escapes are the same DN. A backslash that changes the meaning of a character stays, so
 * different DNs stay different.
 *
 * The name of an entry is the value of its first RDN, in the form of a search for it.
 */
#include "internal.h"

#include <errno.h>
#include <slab/malloc.h>

/* A text that is being normalised. The normal form is never longer. */
struct reading {
	const char *at;
	const char *end;
	char *out;
};

static void skip_blanks(struct reading *r)
{
	while (r->at < r->end && *r->at == ' ')
		r->at++;
}

static bool ends_value(char c)
{
	return c == ',' || c == '+';
}

/* Read a type and '='; false: there is none. */
static bool read_type(struct reading *r)
{
	const char *begin = r->out;

	skip_blanks(r);
	for (; r->at < r->end && *r->at != '='; r->at++) {
		if (ends_value(*r->at) || *r->at == '\\' || !*r->at)
			return false;
		*r->out++ = text_fold(*r->at);
	}
	while (r->out > begin && r->out[-1] == ' ')
		r->out--;
	if (r->at == r->end || r->out == begin)
		return false;
	r->at++;
	*r->out++ = '=';
	return true;
}

/* The end of a value, without trailing unescaped blanks; *ret_next is the character after
 * these. NULL: the value ends within an escape, or contains a zero byte. */
static const char *find_end(const struct reading *r, const char **ret_next)
{
	const char *at = r->at, *kept = at;

	for (; at < r->end && !ends_value(*at); at++) {
		bool escaped = *at == '\\';

		at += escaped;
		if (at == r->end || !*at)
			return NULL;
		if (escaped || *at != ' ')
			kept = at + 1;
	}
	*ret_next = at;
	return kept;
}

static int hex(char c)
{
	c = text_fold(c);
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The character of an escape; moves *at behind it. */
static char read_escape(const char **at, const char *end)
{
	const char *c = *at + 1;

	if (end - c > 1 && hex(c[0]) >= 0 && hex(c[1]) >= 0) {
		*at = c + 2;
		return (char)(hex(c[0]) << 4 | hex(c[1]));
	}
	*at = c + 1;
	return *c;
}

/* Does the normal form escape this character, at an end of a value or within it? */
static bool needs_backslash(char c, bool escaped, bool at_end)
{
	if (c == '\\' || ends_value(c))
		return true;
	if (c == ' ' || c == '#')
		return escaped && at_end;
	return escaped && c && strchr("\";<>", c);
}

/* Read a value and its separator: ',' or '+', or 0 at the end. */
static bool read_value(struct reading *r, char *ret_separator)
{
	const char *begin, *end, *next;

	skip_blanks(r);
	begin = r->at;
	end = find_end(r, &next);
	if (!end)
		return false;
	while (r->at < end) {
		bool first = r->at == begin, escaped = *r->at == '\\';
		char c = text_fold(escaped ? read_escape(&r->at, end) : *r->at++);

		if (needs_backslash(c, escaped, first || r->at == end))
			*r->out++ = '\\';
		if (c) {
			*r->out++ = c;
			continue;
		}
		memcpy(r->out, "\\00", 3);
		r->out += 3;
	}
	*ret_separator = next < r->end ? *next : '\0';
	r->at = next + (next < r->end);
	return true;
}

/* Normalise into out[length]; returns the length used, or 0: not a DN. */
static size_t normalize(const char *text, size_t length, char *out, uint32_t *ret_rdns)
{
	struct reading r = {.at = text, .end = text + length, .out = out};
	char separator;

	*ret_rdns = 1;
	while (read_type(&r) && read_value(&r, &separator)) {
		if (!separator)
			return (size_t)(r.out - out);
		*ret_rdns += separator == ',';
		*r.out++ = separator;
	}
	return 0;
}

/* Write the first RDN's value of a normalised DN to `out`, without escapes. */
static size_t unescape_name(const char *from, const char *end, char *out)
{
	size_t used = 0;

	while (from < end && !ends_value(*from))
		out[used++] = *from == '\\' ? read_escape(&from, end) : *from++;
	return used;
}

/* Fill in the DN. dn->text has room for three texts of this length and their zero bytes. */
static bool fill(struct dirsrv_dn *dn, const char *text, size_t length)
{
	char *normalized = dn->text + length + 1, *equals;
	size_t n = normalize(text, length, normalized, &dn->rdns);

	if (!n)
		return false;
	equals = memchr(normalized, '=', n);
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
