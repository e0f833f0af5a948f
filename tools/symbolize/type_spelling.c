/* SPDX-License-Identifier: MIT */
/*
 * clang hashes the name that it prints: without arguments that are a template's defaults, and without
 * inline namespaces. DWARF does not say which arguments are defaults. Those of the C++ library are:
 * they are the last ones, and known templates.
 */
#include "type_spelling.h"

#include <string.h>

#define DEPTH_MAX 64u
#define ARGUMENTS_MAX 64u

struct spelling {
	const char *from;
	char *to, *end; /* end: of the room, behind a NUL */
	unsigned depth;
};

static bool starts(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static bool is_default(const char *argument)
{
	static const char *const defaults[] = {
		"std::allocator<", "std::char_traits<", "std::less<",
		"std::hash<",      "std::equal_to<",    "std::default_delete<",
	};

	for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++)
		if (starts(argument, defaults[i]))
			return true;
	return false;
}

static bool put(struct spelling *s, const char *text)
{
	const size_t length = strlen(text);

	if ((size_t)(s->end - s->to) <= length)
		return false;
	memcpy(s->to, text, length + 1);
	s->to += length;
	return true;
}

static bool arguments(struct spelling *s);

/* A name, up to a comma, a '>' or the end. */
static bool name(struct spelling *s)
{
	static const char *const hidden[] = {"__cxx11::", "__1::"};
	char one[2] = "";

	while (*s->from && !strchr(",>", *s->from)) {
		if (starts(s->from, hidden[0]) || starts(s->from, hidden[1])) {
			s->from = strstr(s->from, "::") + 2;
		} else if (*s->from == '<') {
			if (!arguments(s))
				return false;
		} else if (*s->from == ' ' && s->from[1] == '>') {
			s->from++;
		} else {
			one[0] = *s->from++;
			if (!put(s, one))
				return false;
		}
	}
	return true;
}

/* From '<' to behind its '>'. */
static bool arguments(struct spelling *s)
{
	char *ends[ARGUMENTS_MAX + 1] = {s->to}, *starts_at[ARGUMENTS_MAX];
	unsigned count = 0;

	if (++s->depth > DEPTH_MAX || !put(s, "<"))
		return false;
	ends[0] = s->to;
	do {
		s->from++;
		s->from += *s->from == ' ';
		if (count == ARGUMENTS_MAX || (count && !put(s, ", ")))
			return false;
		starts_at[count] = s->to;
		if (!name(s))
			return false;
		ends[++count] = s->to;
	} while (*s->from == ',');
	if (*s->from++ != '>')
		return false;
	while (count > 1 && is_default(starts_at[count - 1]))
		count--;
	s->to = ends[count];
	s->depth--;
	return put(s, ">");
}

bool type_spelling(char *to, size_t size, const char *from)
{
	struct spelling s = {.from = from, .to = to, .end = to + size};

	*to = '\0';
	return size && name(&s) && !*s.from;
}
