/* SPDX-License-Identifier: MIT */
/* The frame of answers, error answers, and cutting words off a request (reply.h). */
#include "control/reply.h"

#include <slab/debug.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/names.h"

void control_begin(struct slab_json *reply, bool ok)
{
	slab_json_open(reply, NULL, '{');
	slab_json_number(reply, "slab", 2);
	slab_json_bool(reply, "ok", ok);
}

void control_end(struct slab_json *reply)
{
	slab_json_close(reply, '}');
	slab_json_newline(reply);
}

void slab_control_refuse(struct slab_json *reply, const char *format, ...)
{
	char message[320];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	control_begin(reply, false);
	slab_json_string(reply, "error", message);
	control_end(reply);
}

void control_put_debug_flags(struct slab_json *json, const char *key, uint64_t debug_flags)
{
	char text[DEBUG_FLAGS_TEXT];

	debug_flags_format(debug_flags & SLAB_DEBUG_FLAGS, text);
	slab_json_string(json, key, text);
}

size_t control_cut_word(const char **rest, const char **ret_word)
{
	size_t len = strcspn(*rest, " ");

	*ret_word = *rest;
	*rest += len;
	*rest += strspn(*rest, " ");
	return len;
}
