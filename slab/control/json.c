/* SPDX-License-Identifier: MIT */
/*
 * The JSON emitter: each function appends text, and one flag says whether the next value needs a
 * comma before it.
 */
#define _GNU_SOURCE
#include "control/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define FIRST_CAPACITY ((size_t)64 << 10)

static bool grow(struct slab_json *json)
{
	size_t capacity = json->capacity ? json->capacity * 2 : FIRST_CAPACITY;
	void *text;

	if (json->text)
		text = mremap(json->text, json->capacity, capacity, MREMAP_MAYMOVE);
	else
		text = mmap(NULL, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0);
	if (text == MAP_FAILED)
		return false;
	madvise(text, capacity, MADV_DONTFORK);
	json->text = text;
	json->capacity = capacity;
	return true;
}

void *slab_json_room(struct slab_json *json, size_t bytes)
{
	while (!json->failed && json->capacity - json->len < bytes)
		json->failed = !grow(json);
	if (json->failed)
		return NULL;
	json->len += bytes;
	return json->text + json->len - bytes;
}

static void append(struct slab_json *json, const char *text, size_t len)
{
	char *to = slab_json_room(json, len);

	if (to)
		memcpy(to, text, len);
}

/* The length of a UTF-8 sequence outside ASCII; 0: the bytes are not valid UTF-8. */
static size_t utf8_length(const unsigned char *text)
{
	size_t len = text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;

	if (text[0] < 0xc2 || text[0] > 0xf4)
		return 0;
	/* Reject overlong sequences, surrogates, and code points above U+10FFFF. */
	if ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] > 0x9f) ||
	    (text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] > 0x8f))
		return 0;
	for (size_t i = 1; i < len; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	}
	return len;
}

/* Append one character of a string; returns the number of bytes that it has in the string. */
static size_t append_character(struct slab_json *json, const char *string)
{
	const unsigned char c = (unsigned char)*string;
	const size_t len = c < 0x80 ? 1 : utf8_length((const unsigned char *)string);
	char escape[8];

	if (c == '"' || c == '\\')
		append(json, "\\", 1);
	if (len == 0 || c < ' ' || c == 0x7f)
		append(json, escape, (size_t)sprintf(escape, "\\u%04x", c));
	else
		append(json, string, len);
	return len ? len : 1;
}

/* Append a string in quotes. Bytes that are not UTF-8 are read as Latin-1. */
static void append_quoted(struct slab_json *json, const char *string)
{
	append(json, "\"", 1);
	while (*string)
		string += append_character(json, string);
	append(json, "\"", 1);
}

/* Append what precedes a value: a comma if needed, and the key. */
static void begin_value(struct slab_json *json, const char *key)
{
	if (json->comma)
		append(json, ",", 1);
	json->comma = true;
	if (key) {
		append_quoted(json, key);
		append(json, ":", 1);
	}
}

void slab_json_open(struct slab_json *json, const char *key, char bracket)
{
	begin_value(json, key);
	append(json, &bracket, 1);
	json->comma = false;
}

void slab_json_close(struct slab_json *json, char bracket)
{
	append(json, &bracket, 1);
	json->comma = true;
}

void slab_json_string(struct slab_json *json, const char *key, const char *value)
{
	begin_value(json, key);
	append_quoted(json, value);
}

void slab_json_number(struct slab_json *json, const char *key, uint64_t value)
{
	char digits[24];

	begin_value(json, key);
	append(json, digits, (size_t)sprintf(digits, "%" PRIu64, value));
}

void slab_json_bool(struct slab_json *json, const char *key, bool value)
{
	begin_value(json, key);
	append(json, value ? "true" : "false", value ? 4 : 5);
}

void slab_json_newline(struct slab_json *json)
{
	append(json, "\n", 1);
}

void slab_json_end(struct slab_json *json)
{
	append(json, "", 1);
	if (!json->failed)
		json->len--;
}

void slab_json_free(struct slab_json *json)
{
	if (json->text)
		munmap(json->text, json->capacity);
	memset(json, 0, sizeof(*json));
}
