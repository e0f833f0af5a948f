/* SPDX-License-Identifier: MIT */
/* Passwords: checking them with libcrypt. */
#include "ops/internal.h"

#include <slab/malloc.h>

#include <crypt.h>
#include <string.h>
#include <strings.h>

#define SCHEME_CRYPT "{CRYPT}"
#define PASSWORD_TYPE "userPassword"
#define PASSWORD_MAX 256

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
