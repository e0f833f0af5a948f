/* SPDX-License-Identifier: MIT */
/* What a client of the control socket may expect, whatever it sent. */
#pragma once

#include "test.h"

#include <json-c/json.h>

/* One line, which is an answer of the protocol. */
inline bool is_answer(const std::string &text)
{
	struct json_tokener *tokener = json_tokener_new();
	bool good = !text.empty() && text.find('\n') == text.size() - 1;

	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	struct json_object *document =
		json_tokener_parse_ex(tokener, text.data(), static_cast<int>(text.size()));
	json_tokener_free(tokener);

	struct json_object *version, *ok, *error;

	good = good && json_object_object_get_ex(document, "slab", &version) &&
	       json_object_get_int(version) == 2 && json_object_object_get_ex(document, "ok", &ok);
	if (good && !json_object_get_boolean(ok))
		good = json_object_object_get_ex(document, "error", &error) &&
		       json_object_is_type(error, json_type_string);
	json_object_put(document);
	return good;
}
