/* SPDX-License-Identifier: MIT */
/* Passwords: checking and hashing them with libcrypt, and the operation that changes them. */
#include "ops/internal.h"

#include "base/bytes.h"

#include <slab/malloc.h>

#include <crypt.h>
#include <ldap.h>
#include <lber.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#define SCHEME_CRYPT "{CRYPT}"
#define PASSWORD_TYPE "userPassword"
#define PASSWORD_MAX 256
#define GENERATED_BYTES 16 /* characters of a password that the server chooses */

/* The time does not depend on where the texts differ. */
static bool equal(const char *a, const char *b, size_t length)
{
	unsigned char difference = 0;

	for (size_t i = 0; i < length; i++)
		difference |= (unsigned char)(a[i] ^ b[i]);
	return !difference;
}

/* A password as a string, as libcrypt wants it. */
static bool as_string(struct dirsrv_bytes password, char *out, size_t size)
{
	if (password.length >= size || memchr(password.data, '\0', password.length))
		return false;
	memcpy(out, password.data, password.length);
	out[password.length] = '\0';
	return true;
}

/* struct crypt_data has 32 KiB: too much for the stack of a thread. */
static bool crypt_to(const char *password, const char *setting, char *out, size_t size)
{
	struct crypt_data *data;
	const char *hash;
	bool good;

	net_lengthy();
	data = slab_calloc(1, sizeof(*data));
	hash = data ? crypt_r(password, setting, data) : NULL;
	good = hash && hash[0] != '*' && strlen(hash) < size;
	if (good)
		memcpy(out, hash, strlen(hash) + 1);
	/* It has the password and what was computed from it. */
	if (data)
		explicit_bzero(data, sizeof(*data));
	slab_mfree(data);
	return good;
}

static bool crypt_matches(struct dirsrv_bytes stored, struct dirsrv_bytes password)
{
	char text[PASSWORD_MAX], setting[CRYPT_OUTPUT_SIZE], hash[CRYPT_OUTPUT_SIZE];
	bool matches = as_string(password, text, sizeof(text)) &&
		       as_string(stored, setting, sizeof(setting)) &&
		       crypt_to(text, setting, hash, sizeof(hash)) &&
		       strlen(hash) == strlen(setting) && equal(hash, setting, strlen(hash));

	explicit_bzero(text, sizeof(text));
	return matches;
}

static bool is_crypt(struct dirsrv_bytes stored)
{
	size_t scheme = strlen(SCHEME_CRYPT);

	return stored.length >= scheme && strncasecmp(stored.data, SCHEME_CRYPT, scheme) == 0;
}

/* Whether a value has a scheme, such as {SSHA}: its hash is not the password. */
static bool has_scheme(struct dirsrv_bytes stored)
{
	const char *text = stored.data;

	return stored.length && text[0] == '{' && memchr(text, '}', stored.length);
}

bool password_matches(struct dirsrv_bytes stored, struct dirsrv_bytes password)
{
	const char *text = stored.data;
	size_t scheme = strlen(SCHEME_CRYPT);

	if (is_crypt(stored))
		return crypt_matches((struct dirsrv_bytes){.data = text + scheme,
							   .length = stored.length - scheme},
				     password);
	if (has_scheme(stored))
		return false;
	return stored.length == password.length && equal(text, password.data, stored.length);
}

bool password_hash(struct dirsrv_bytes password, char *out, size_t size)
{
	size_t scheme = strlen(SCHEME_CRYPT);
	char text[PASSWORD_MAX], setting[CRYPT_GENSALT_OUTPUT_SIZE];
	bool hashed;

	if (size <= scheme)
		return false;
	snprintf(out, size, "%s", SCHEME_CRYPT);
	hashed = as_string(password, text, sizeof(text)) &&
		 crypt_gensalt_rn(NULL, 0, NULL, 0, setting, sizeof(setting)) &&
		 crypt_to(text, setting, out + scheme, size - scheme);
	explicit_bzero(text, sizeof(text));
	return hashed;
}

static const struct dirsrv_value *first_password(const struct dirsrv_entry *entry)
{
	const struct dirsrv_attribute *attribute =
		dirsrv_entry_find(entry, PASSWORD_TYPE, strlen(PASSWORD_TYPE));

	return attribute ? dirsrv_attribute_first(attribute) : NULL;
}

bool password_entry_matches(const struct dirsrv_entry *entry, struct dirsrv_bytes password)
{
	const struct dirsrv_value *value;

	for (value = first_password(entry); value; value = dirsrv_value_next(value))
		if (password_matches(dirsrv_value_data(value), password))
			return true;
	return false;
}

bool password_supported(struct dirsrv_bytes stored)
{
	return is_crypt(stored) || !has_scheme(stored);
}

bool password_entry_unsupported(const struct dirsrv_entry *entry)
{
	const struct dirsrv_value *value;

	for (value = first_password(entry); value; value = dirsrv_value_next(value))
		if (!password_supported(dirsrv_value_data(value)))
			return true;
	return false;
}

/* --- RFC 3062 -------------------------------------------------------------------------------- */

struct change {
	struct dirsrv_bytes user, old, new;
};

static bool take(BerElement *ber, ber_tag_t tag, struct dirsrv_bytes *bytes)
{
	ber_len_t length;
	struct berval value;

	if (ber_peek_tag(ber, &length) != tag)
		return true;
	if (ber_skip_element(ber, &value) != tag)
		return false;
	*bytes = (struct dirsrv_bytes){.data = value.bv_val, .length = value.bv_len};
	return true;
}

static bool decode(const struct extended_request *extended, struct change *change)
{
	struct berval value = {.bv_val = (char *)(uintptr_t)extended->value.data,
			       .bv_len = extended->value.length};
	BerElement *ber;
	ber_len_t length;
	bool good;

	if (!extended->has_value)
		return true;
	ber = ber_alloc_t(0);
	if (!ber)
		return false;
	ber_init2(ber, &value, 0);
	good = ber_skip_tag(ber, &length) == LBER_SEQUENCE && length + 2 <= value.bv_len &&
	       take(ber, LDAP_TAG_EXOP_MODIFY_PASSWD_ID, &change->user) &&
	       take(ber, LDAP_TAG_EXOP_MODIFY_PASSWD_OLD, &change->old) &&
	       take(ber, LDAP_TAG_EXOP_MODIFY_PASSWD_NEW, &change->new) && !ber_remaining(ber);
	ber_free(ber, 0);
	return good;
}

/* A password that the server chooses, of characters that are easy to type. */
static bool generate(char *out)
{
	static const char letters[] = "abcdefghijkmnpqrstuvwxyz23456789";
	unsigned char random[GENERATED_BYTES];

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return false;
	for (unsigned i = 0; i < GENERATED_BYTES; i++)
		out[i] = letters[random[i] % (sizeof(letters) - 1)];
	return true;
}

/* Which entry it is about: an authorization id may stand with or without "dn:". */
static struct dirsrv_bytes target(const struct operation *operation, const struct change *change)
{
	struct dirsrv_bytes user = change->user;

	if (!user.length)
		return bytes_of(operation_actor(operation));
	if (user.length >= 3 && strncasecmp(user.data, "dn:", 3) == 0)
		return (struct dirsrv_bytes){.data = (const char *)user.data + 3,
					     .length = user.length - 3};
	return user;
}

/* An old password that is given must be right. Returns a result code. */
static int check(const struct operation *operation, const struct change *change,
		 struct dirsrv_bytes dn)
{
	struct dirsrv_entry *entry;
	int code = LDAP_SUCCESS;

	if (!operation->identity)
		return LDAP_STRONG_AUTH_REQUIRED;
	if (!access_write_password(operation, dn))
		return LDAP_INSUFFICIENT_ACCESS;
	entry = backend_get(operation->server->backend, dn.data, dn.length);
	if (!entry)
		return LDAP_NO_SUCH_OBJECT;
	if (change->old.data && !password_entry_matches(entry, change->old))
		code = LDAP_UNWILLING_TO_PERFORM;
	dirsrv_entry_put(entry);
	return code;
}

/* The response's value, if the server chose the password: a SEQUENCE with one string. */
static void put_generated(struct response *response, char *content, const char *password)
{
	content[0] = LBER_SEQUENCE;
	content[1] = GENERATED_BYTES + 2;
	content[2] = (char)LDAP_TAG_EXOP_MODIFY_PASSWD_GEN;
	content[3] = GENERATED_BYTES;
	memcpy(content + 4, password, GENERATED_BYTES);
	response->value = (struct dirsrv_bytes){.data = content, .length = GENERATED_BYTES + 4};
}

static void store(struct operation *operation, const struct change *change, struct dirsrv_bytes dn,
		  const char *generated)
{
	char hash[CRYPT_OUTPUT_SIZE + 16], content[GENERATED_BYTES + 4];
	struct response response = {.code = LDAP_SUCCESS};
	struct backend_modification modification = {.change = BACKEND_REPLACE, .count = 1};
	struct backend_result result;
	struct dirsrv_bytes value;

	if (!password_hash(change->new, hash, sizeof(hash))) {
		operation_result(operation, LDAP_CONSTRAINT_VIOLATION,
				 "a password has up to 255 bytes, and no zero byte");
		return;
	}
	value = bytes_of(hash);
	modification.type = bytes_of(PASSWORD_TYPE);
	modification.values = &value;
	backend_modify(operation->server->backend, operation_actor(operation), dn, &modification, 1,
		       &result);
	operation_log_fault(operation, &result);
	response.code = result.code;
	response.message = result.message;
	if (result.code == LDAP_SUCCESS && generated)
		put_generated(&response, content, generated);
	operation_answer(operation, &response);
}

void password_modify(struct operation *operation)
{
	struct change change = {.user = {0}};
	char generated[GENERATED_BYTES];
	struct dirsrv_bytes dn;
	bool chosen;
	int code;

	if (!decode(&operation->request->extended, &change)) {
		operation_result(operation, LDAP_PROTOCOL_ERROR, "malformed request value");
		return;
	}
	dn = target(operation, &change);
	code = check(operation, &change, dn);
	if (code != LDAP_SUCCESS) {
		operation_result(operation, code, NULL);
		return;
	}
	chosen = !change.new.length;
	if (chosen && !generate(generated)) {
		operation_result(operation, LDAP_OTHER, "no random numbers");
		return;
	}
	if (chosen)
		change.new = (struct dirsrv_bytes){.data = generated, .length = GENERATED_BYTES};
	store(operation, &change, dn, chosen ? generated : NULL);
}
