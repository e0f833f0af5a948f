/* SPDX-License-Identifier: MIT */
/*
 * LDAP's protocol (RFC 4511) and a mix of its operations: 70 % searches for a uid, 10 % reads of an
 * entry, 5 % searches for any of ten, 5 % each of modify, add and delete. A modify replaces a
 * description or a photo of 28 bytes, 3.5 KB or 1.5 MB, the sizes of the test in 389-ds's "Memory
 * Usage Research"; the largest is rare. Half of the modifies are photos of the same 504 entries.
 *
 * Lengths are written in the form of five bytes, so that they can be filled in later.
 *
 * Phases: warm (each entry is read, each photo stored), mix.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"

#define BASE "ou=People,dc=example,dc=com"
#define ROOT "cn=root,dc=example,dc=com"
#define PASSWORD "secret"
#define ADDED 4096u /* entries that may wait for their delete */
#define ANY 10
#define PHOTOS 504u /* entries that have one */
#define LARGE_PHOTOS 4u

enum { SEARCH, READ, ANY_OF, MODIFY, ADD, DELETE };

enum tag {
	INTEGER = 0x02,
	OCTETS = 0x04,
	ENUMERATED = 0x0a,
	BOOLEAN = 0x01,
	SEQUENCE = 0x30,
	SET = 0x31,
	BIND = 0x60,
	SEARCH_REQUEST = 0x63,
	SEARCH_ENTRY = 0x64,
	MODIFY_REQUEST = 0x66,
	ADD_REQUEST = 0x68,
	DELETE_REQUEST = 0x4a,
	SEARCH_REFERENCE = 0x73,
	SIMPLE = 0x80,
	PRESENT = 0x87,
	OR = 0xa1,
	EQUAL = 0xa3,
};

static uint64_t added[ADDED]; /* numbers of entries that can be deleted */
static uint64_t added_count, deleted_count, add_number;

/* --- requests --------------------------------------------------------------------------------- */

static size_t begin(struct session *session, unsigned tag)
{
	session->out[session->out_bytes] = (char)tag;
	session->out_bytes += 6;
	return session->out_bytes;
}

static void end(struct session *session, size_t start)
{
	size_t bytes = session->out_bytes - start;
	char *at = session->out + start - 5;

	*at++ = (char)0x84;
	for (int shift = 24; shift >= 0; shift -= 8)
		*at++ = (char)(bytes >> shift);
}

static void octets(struct session *session, unsigned tag, const char *text, size_t bytes)
{
	size_t start = begin(session, tag);

	memcpy(session->out + start, text, bytes);
	session->out_bytes += bytes;
	end(session, start);
}

static void text(struct session *session, unsigned tag, const char *string)
{
	octets(session, tag, string, strlen(string));
}

static void integer(struct session *session, unsigned tag, int value)
{
	char byte = (char)value;

	octets(session, tag, &byte, 1);
}

/* message: an LDAPMessage; all have the same number, since one is under way. */
static size_t message(struct session *session)
{
	size_t start;

	session->out_bytes = 0;
	start = begin(session, SEQUENCE);
	integer(session, INTEGER, 1);
	return start;
}

static void equal(struct session *session, unsigned entry)
{
	size_t start = begin(session, EQUAL);
	char uid[32];

	snprintf(uid, sizeof(uid), "user%u", entry);
	text(session, OCTETS, "uid");
	text(session, OCTETS, uid);
	end(session, start);
}

static void any_of(struct session *session)
{
	size_t start = begin(session, OR);

	for (int i = 0; i < ANY; i++)
		equal(session, load_below(load.entries));
	end(session, start);
}

static void search_head(struct session *session, const char *base, int scope)
{
	text(session, OCTETS, base);
	integer(session, ENUMERATED, scope);
	integer(session, ENUMERATED, 0); /* aliases */
	integer(session, INTEGER, 0); /* size limit */
	integer(session, INTEGER, 0); /* time limit */
	integer(session, BOOLEAN, 0); /* values, too */
}

static void search(struct session *session, unsigned operation, unsigned entry)
{
	size_t whole = message(session), start = begin(session, SEARCH_REQUEST);
	char dn[96];

	session->operation = operation;
	snprintf(dn, sizeof(dn), "uid=user%u," BASE, entry);
	search_head(session, operation == READ ? dn : BASE, operation == READ ? 0 : 2);
	if (operation == READ)
		text(session, PRESENT, "objectClass");
	else if (operation == ANY_OF)
		any_of(session);
	else
		equal(session, entry);
	end(session, begin(session, SEQUENCE)); /* all attributes */
	end(session, start);
	end(session, whole);
}

static void attribute(struct session *session, const char *type, const char *value)
{
	size_t start = begin(session, SEQUENCE), values;

	text(session, OCTETS, type);
	values = begin(session, SET);
	text(session, OCTETS, value);
	end(session, values);
	end(session, start);
}

/* A value of this number of bytes that is a photo or a text. */
static void replace(struct session *session, const char *type, size_t bytes)
{
	size_t change = begin(session, SEQUENCE), part, values, value;

	integer(session, ENUMERATED, 2); /* replace */
	part = begin(session, SEQUENCE);
	text(session, OCTETS, type);
	values = begin(session, SET);
	value = begin(session, OCTETS);
	memset(session->out + value, 'p', bytes);
	session->out_bytes += bytes;
	end(session, value);
	end(session, values);
	end(session, part);
	end(session, change);
}

static void modify(struct session *session, unsigned entry, const char *type, size_t bytes)
{
	size_t whole = message(session), start = begin(session, MODIFY_REQUEST), changes;
	char dn[96];

	session->operation = MODIFY;
	snprintf(dn, sizeof(dn), "uid=user%u," BASE, entry);
	text(session, OCTETS, dn);
	changes = begin(session, SEQUENCE);
	replace(session, type, bytes);
	end(session, changes);
	end(session, start);
	end(session, whole);
}

/* The first entries always have a large photo: how much is stored stays the same. */
static void modify_photo(struct session *session, unsigned entry, bool small)
{
	size_t bytes = entry < LARGE_PHOTOS ? 1500000 : small ? 28 : 3500;

	modify(session, entry, "jpegPhoto", bytes);
}

static void modify_any(struct session *session)
{
	unsigned share = load_below(1000);

	if (share < 500)
		modify(session, load_below(load.entries), "description", 20 + load_below(200));
	else if (share < 995)
		modify_photo(session, LARGE_PHOTOS + load_below(PHOTOS - LARGE_PHOTOS), share % 2);
	else
		modify_photo(session, load_below(LARGE_PHOTOS), false);
}

/* Each entry once, then all photos. */
static void warm(struct session *session, unsigned n)
{
	if (n < load.entries)
		search(session, READ, n);
	else
		modify_photo(session, (n - load.entries) % PHOTOS, n % 2);
}

static void add_entry(struct session *session)
{
	size_t whole = message(session), start = begin(session, ADD_REQUEST), list;
	char dn[96], uid[32];

	session->operation = ADD;
	session->number = add_number++;
	snprintf(uid, sizeof(uid), "new%llu", (unsigned long long)session->number);
	snprintf(dn, sizeof(dn), "uid=%s," BASE, uid);
	text(session, OCTETS, dn);
	list = begin(session, SEQUENCE);
	attribute(session, "objectClass", "inetOrgPerson");
	attribute(session, "uid", uid);
	attribute(session, "cn", uid);
	attribute(session, "sn", "Added");
	attribute(session, "mail", "added@example.com");
	attribute(session, "description", "an entry that is deleted again");
	end(session, list);
	end(session, start);
	end(session, whole);
}

static void delete_entry(struct session *session)
{
	size_t whole = message(session);
	char dn[96];

	session->operation = DELETE;
	snprintf(dn, sizeof(dn), "uid=new%llu," BASE,
		 (unsigned long long)added[deleted_count++ % ADDED]);
	text(session, DELETE_REQUEST, dn);
	end(session, whole);
}

static void request(struct session *session)
{
	unsigned share = load_below(100);

	if (strcmp(load.phase, "warm") == 0)
		warm(session, (unsigned)load.sent - 1);
	else if (share < 70)
		search(session, SEARCH, load_below(load.entries));
	else if (share < 80)
		search(session, READ, load_below(load.entries));
	else if (share < 85)
		search(session, ANY_OF, 0);
	else if (share < 90)
		modify_any(session);
	else if (deleted_count == added_count ||
		 (share < 95 && added_count - deleted_count < ADDED / 2))
		add_entry(session);
	else
		delete_entry(session);
}

static void greet(struct session *session)
{
	size_t whole = message(session), start = begin(session, BIND);

	integer(session, INTEGER, 3);
	text(session, OCTETS, ROOT);
	text(session, SIMPLE, PASSWORD);
	end(session, start);
	end(session, whole);
}

/* --- answers ---------------------------------------------------------------------------------- */

/* head: the bytes of an element's tag and length; 0: more are needed. */
static size_t head(const unsigned char *at, size_t bytes, size_t *length)
{
	size_t more = bytes > 1 && at[1] & 0x80 ? at[1] & 0x7fu : 0;

	if (bytes < 2 + more || more > 4)
		return 0;
	*length = more ? 0 : at[1];
	for (size_t i = 0; i < more; i++)
		*length = *length << 8 | at[2 + i];
	return 2 + more;
}

static void check(const struct session *session, const unsigned char *result)
{
	char sentence[96];

	/* ENUMERATED, one byte */
	if (result[2] == 0)
		return;
	snprintf(sentence, sizeof(sentence), "result %u of %s", result[2],
		 session->greeted ? ldap_protocol.operations[session->operation] : "bind");
	load_error(sentence, strlen(sentence));
}

static size_t answer(struct session *session, bool *done)
{
	const unsigned char *in = (const unsigned char *)session->in;
	size_t bytes = session->in_bytes, length, number, inner;
	size_t outer = head(in, bytes, &length);
	unsigned tag;

	if (outer == 0 || bytes < outer + length)
		return 0;
	number = outer + 2 + in[outer + 1]; /* past the message's number */
	tag = in[number];
	if (tag != SEARCH_ENTRY && tag != SEARCH_REFERENCE) {
		check(session, in + number + head(in + number, bytes - number, &inner));
		if (session->operation == ADD && session->greeted)
			added[added_count++ % ADDED] = session->number;
		*done = true;
	}
	return outer + length;
}

const struct protocol ldap_protocol = {
	"ldap", {"search", "read", "any", "modify", "add", "delete"}, greet, request, answer,
};
