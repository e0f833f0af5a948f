/* SPDX-License-Identifier: MIT */
/* Encoding and decoding by liblber, in buffers; the end of the program when there is no memory. */
#include "message.h"

#include <stdarg.h>

/* --- buffers -------------------------------------------------------------------------------- */

#define CAPACITY_MIN 1024

void load_fail(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	fputs("ldapload: ", stderr);
	vfprintf(stderr, format, list);
	fputc('\n', stderr);
	va_end(list);
	exit(EXIT_FAILURE);
}

char *buffer_reserve(struct buffer *buffer, size_t more)
{
	size_t capacity = buffer->capacity ? buffer->capacity : CAPACITY_MIN;

	while (capacity < buffer->length + more)
		capacity *= 2;
	if (capacity != buffer->capacity) {
		char *bytes = realloc(buffer->bytes, capacity);

		if (!bytes)
			load_fail("there is no memory for %zu bytes", capacity);
		buffer->bytes = bytes;
		buffer->capacity = capacity;
	}
	return buffer->bytes + buffer->length;
}

void buffer_append(struct buffer *buffer, const char *bytes, size_t length)
{
	memcpy(buffer_reserve(buffer, length), bytes, length);
	buffer->length += length;
}

void buffer_consume(struct buffer *buffer, size_t length)
{
	buffer->length -= length;
	if (length != 0 && buffer->length != 0)
		memmove(buffer->bytes, buffer->bytes + length, buffer->length);
}

void buffer_free(struct buffer *buffer)
{
	free(buffer->bytes);
	*buffer = (struct buffer){0};
}

/* --- messages ------------------------------------------------------------------------------- */

#define LENGTH_BYTES_MAX 4

static BerElement *message_begin(void)
{
	BerElement *ber = ber_alloc_t(LBER_USE_DER);

	if (!ber)
		load_fail("there is no memory for a request");
	return ber;
}

/* `status`: of the last ber_printf(). */
static void message_end(BerElement *ber, struct buffer *out, int status)
{
	struct berval bytes;

	if (status < 0 || ber_flatten2(ber, &bytes, 0) < 0)
		load_fail("liblber cannot encode a request");
	buffer_append(out, bytes.bv_val, bytes.bv_len);
	ber_free(ber, 1);
}

void message_bind(struct buffer *out, int id, const char *dn, const char *password)
{
	BerElement *ber = message_begin();

	message_end(ber, out,
		    ber_printf(ber, "{it{isto}}", id, LDAP_REQ_BIND, LDAP_VERSION3, dn,
			       LDAP_AUTH_SIMPLE, password, (ber_len_t)strlen(password)));
}

void message_unbind(struct buffer *out, int id)
{
	BerElement *ber = message_begin();

	message_end(ber, out, ber_printf(ber, "{itn}", id, LDAP_REQ_UNBIND));
}

static void begin_search(BerElement *ber, int id, const char *base, ber_int_t scope)
{
	if (ber_printf(ber, "{it{seeiib", id, LDAP_REQ_SEARCH, base, scope, LDAP_DEREF_NEVER, 0, 0,
		       0) < 0)
		load_fail("liblber cannot encode a search");
}

void message_search(struct buffer *out, int id, const char *base, const char *attribute,
		    char *const values[], unsigned count)
{
	BerElement *ber = message_begin();
	int status = 0;

	begin_search(ber, id, base, LDAP_SCOPE_SUBTREE);
	if (count > 1)
		status = ber_printf(ber, "t{", LDAP_FILTER_OR);
	for (unsigned i = 0; i < count && status >= 0; i++)
		status = ber_printf(ber, "t{ss}", LDAP_FILTER_EQUALITY, attribute, values[i]);
	if (count > 1 && status >= 0)
		status = ber_printf(ber, "}");
	message_end(ber, out, status < 0 ? status : ber_printf(ber, "{}}}"));
}

void message_read(struct buffer *out, int id, const char *dn)
{
	BerElement *ber = message_begin();

	begin_search(ber, id, dn, LDAP_SCOPE_BASE);
	message_end(ber, out, ber_printf(ber, "ts{}}}", LDAP_FILTER_PRESENT, "objectClass"));
}

void message_compare(struct buffer *out, int id, const char *dn, const char *attribute,
		     const char *value)
{
	BerElement *ber = message_begin();

	message_end(ber, out,
		    ber_printf(ber, "{it{s{ss}}}", id, LDAP_REQ_COMPARE, dn, attribute, value));
}

void message_modify(struct buffer *out, int id, const char *dn, const char *description)
{
	BerElement *ber = message_begin();

	message_end(ber, out,
		    ber_printf(ber, "{it{s{{e{s[s]}}}}}", id, LDAP_REQ_MODIFY, dn, LDAP_MOD_REPLACE,
			       "description", description));
}

void message_add(struct buffer *out, int id, const char *dn, const char *attribute,
		 const char *name)
{
	BerElement *ber = message_begin();
	int status = ber_printf(ber, "{it{s{{s[s]}{s[s]}{s[s]}{s[s]}", id, LDAP_REQ_ADD, dn,
				"objectClass", "inetOrgPerson", "sn", name, "cn", name,
				"description", "an entry of ldapload");

	/* The naming attribute, unless it is there already. */
	if (status >= 0 && strcasecmp(attribute, "cn") != 0 && strcasecmp(attribute, "sn") != 0)
		status = ber_printf(ber, "{s[s]}", attribute, name);
	message_end(ber, out, status < 0 ? status : ber_printf(ber, "}}}"));
}

void message_delete(struct buffer *out, int id, const char *dn)
{
	BerElement *ber = message_begin();

	message_end(ber, out, ber_printf(ber, "{its}", id, LDAP_REQ_DELETE, dn));
}

ssize_t message_length(const char *bytes, size_t length)
{
	const unsigned char *head = (const unsigned char *)bytes;
	size_t count, content = 0;

	if (length < 2)
		return length == 1 && head[0] != LBER_SEQUENCE ? -1 : 0;
	if (head[0] != LBER_SEQUENCE)
		return -1;
	if (head[1] < 0x80)
		return 2 + (ssize_t)head[1];
	count = head[1] & 0x7f;
	if (count == 0 || count > LENGTH_BYTES_MAX)
		return -1;
	if (length < 2 + count)
		return 0;
	for (size_t i = 0; i < count; i++)
		content = content << 8 | head[2 + i];
	return (ssize_t)(2 + count + content);
}

static int read_answer(BerElement *ber, struct answer *answer)
{
	struct berval matched;

	if (ber_scanf(ber, "{it", &answer->id, &answer->tag) == LBER_ERROR)
		return -1;
	if (answer->tag == LDAP_RES_SEARCH_ENTRY || answer->tag == LDAP_RES_SEARCH_REFERENCE)
		return 0;
	if (ber_scanf(ber, "{emm", &answer->code, &matched, &answer->text) == LBER_ERROR)
		return -1;
	return 0;
}

int message_read_answer(BerElement *ber, char *bytes, size_t length, struct answer *answer)
{
	struct berval all = {length, bytes};
	char after = bytes[length];
	int status;

	*answer = (struct answer){0};
	ber_init2(ber, &all, 0);
	status = read_answer(ber, answer);
	bytes[length] = after;
	return status;
}
