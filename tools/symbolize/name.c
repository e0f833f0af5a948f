/* SPDX-License-Identifier: MIT */
/*
 * The demangler is that of the C++ library, linked statically: starting with a
 * shared libstdc++ would cost more than most lookups.
 */
#include "name.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* <cxxabi.h> is C++. */
extern char *__cxa_demangle(const char *mangled, char *buffer, size_t *length, int *status);

static const char anonymous[] = "(anonymous namespace)::";
static const char operator_word[] = "operator";

static bool starts(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

/* The length of "operator<<" or "operator()", whose brackets enclose nothing; 0: not an
 * operator. */
static size_t operator_length(const char *name, const char *at)
{
	size_t len = sizeof(operator_word) - 1;

	if (!starts(at, operator_word) ||
	    (at > name && (isalnum((unsigned char)at[-1]) || at[-1] == '_')))
		return 0;
	if (starts(at + len, "()") || starts(at + len, "[]"))
		return len + 2;
	/* "operator new", "operator int", "operator\"\" km": up to the arguments */
	if (at[len] == ' ' || at[len] == '"')
		return strcspn(at, "(");
	return len + strspn(at + len, "<>=!+-*/%&|^~,");
}

static const char *skip_brackets(const char *at)
{
	int depth = 0;

	for (; *at; at++) {
		if (strchr("(<{[", *at))
			depth++;
		else if (strchr(")>}]", *at) && --depth == 0)
			return at + 1;
	}
	return at;
}

static bool ends_name(const char *at)
{
	static const char *const behind[] = {" const", " volatile", " &", " ["};

	for (size_t i = 0; i < sizeof(behind) / sizeof(behind[0]); i++) {
		if (starts(at, behind[i]))
			return true;
	}
	return false;
}

/* Removes, in place, brackets with their contents, and the result type: all before a blank. */
static void shorten(char *name)
{
	const char *at = name;
	char *to = name;

	while (*at && !ends_name(at)) {
		size_t len = operator_length(name, at);

		if (len > 0) {
			memmove(to, at, len);
			to += len;
			at += len;
		} else if (starts(at, anonymous)) {
			at += sizeof(anonymous) - 1;
		} else if (*at == '(' || *at == '<') {
			at = skip_brackets(at);
		} else if (*at == ' ') {
			to = name;
			at++;
		} else {
			*to++ = *at++;
		}
	}
	*to = '\0';
}

char *name_readable(const char *name)
{
	char *readable = NULL;

	if (!name)
		return NULL;
	if (starts(name, "_Z"))
		readable = __cxa_demangle(name, NULL, NULL, NULL);
	if (!readable)
		return strdup(name);
	shorten(readable);
	if (*readable)
		return readable;
	free(readable);
	return strdup(name);
}
