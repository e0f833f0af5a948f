/* SPDX-License-Identifier: MIT */
/* Reads a JSON answer into the structures of model.h. */
#include "model.h"
#include "fail.h"

#define PAGE_BYTES UINT64_C(4096)

static const struct {
	const char *key;
	size_t offset;
} fields[] = {
	{"flags", offsetof(struct cache, flags)},
	{"object_size", offsetof(struct cache, object_size)},
	{"slab_size", offsetof(struct cache, slab_size)},
	{"align", offsetof(struct cache, align)},
	{"objects_per_slab", offsetof(struct cache, objects_per_slab)},
	{"order", offsetof(struct cache, order)},
	{"has_ctor", offsetof(struct cache, has_ctor)},
	{"slabs", offsetof(struct cache, slabs)},
	{"slab_bytes", offsetof(struct cache, slab_bytes)},
	{"partial", offsetof(struct cache, partial)},
	{"full", offsetof(struct cache, full)},
	{"empty", offsetof(struct cache, empty)},
	{"objects", offsetof(struct cache, objects)},
	{"total_objects", offsetof(struct cache, total_objects)},
	{"objects_partial", offsetof(struct cache, objects_partial)},
	{"cpu_objects", offsetof(struct cache, cpu_objects)},
	{"errors", offsetof(struct cache, errors)},
	{"debug_slabs", offsetof(struct cache, debug_slabs)},
	{"legacy_slabs", offsetof(struct cache, legacy_slabs)},
	{"sample", offsetof(struct cache, sample)},
};

struct json_object *model_member(struct json_object *object, const char *key)
{
	struct json_object *member = NULL;

	json_object_object_get_ex(object, key, &member);
	return member;
}

uint64_t model_number(struct json_object *object, const char *key)
{
	return json_object_get_uint64(model_member(object, key));
}

size_t model_length(struct json_object *array)
{
	return json_object_is_type(array, json_type_array) ? json_object_array_length(array) : 0;
}

static void load_cache(struct cache *cache, struct json_object *json)
{
	memset(cache, 0, sizeof(*cache));
	cache->name = model_text(json, "name");
	cache->json = json;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		uint64_t number = model_number(json, fields[i].key);

		memcpy((char *)cache + fields[i].offset, &number, sizeof(number));
	}
}

bool model_load(struct model *model, struct json_object *document)
{
	struct json_object *caches = model_member(document, "caches");

	memset(model, 0, sizeof(*model));
	model->document = document;
	if (!json_object_is_type(caches, json_type_array)) {
		fail("the process did not answer with a list of caches");
		model_free(model);
		return false;
	}
	model->count = model_length(caches);
	model->caches = calloc(model->count ? model->count : 1, sizeof(*model->caches));
	if (!model->caches) {
		fail("no memory for %zu caches", model->count);
		model_free(model);
		return false;
	}
	for (size_t i = 0; i < model->count; i++)
		load_cache(&model->caches[i], json_object_array_get_idx(caches, i));
	return true;
}

void model_free(struct model *model)
{
	free(model->caches);
	json_object_put(model->document);
	*model = (struct model){.document = NULL};
}

void model_add_number(struct json_object *object, const char *key, uint64_t number)
{
	json_object_object_add(object, key, json_object_new_uint64(number));
}

void model_add_text(struct json_object *object, const char *key, const char *text)
{
	json_object_object_add(object, key, json_object_new_string(text));
}

uint64_t model_event(const struct cache *cache, const char *name)
{
	return model_number(model_member(cache->json, "events"), name);
}

const char *model_raw_text(struct json_object *object, const char *key)
{
	const char *text = json_object_get_string(model_member(object, key));

	return text ? text : "";
}

static void free_copy(struct json_object *string, void *copy)
{
	(void)string;
	free(copy);
}

/* Most texts are printable; otherwise the JSON string keeps a printable copy. */
static const char *printable(struct json_object *string)
{
	const char *text = json_object_get_string(string);
	char *copy;

	if (!text || is_printable(text))
		return text ? text : "";
	copy = json_object_get_userdata(string);
	if (!copy && (copy = strdup(text))) {
		make_printable(copy);
		json_object_set_userdata(string, copy, free_copy);
	}
	return copy ? copy : "?";
}

const char *model_text(struct json_object *object, const char *key)
{
	return printable(model_member(object, key));
}

uint64_t cache_slab_bytes(const struct cache *cache)
{
	return cache->order < 52 ? PAGE_BYTES << cache->order : 0;
}

uint64_t cache_used_bytes(const struct cache *cache)
{
	return cache->objects * cache->object_size;
}

uint64_t cache_cpu_slabs(const struct cache *cache)
{
	const uint64_t each = cache->objects_per_slab ? cache->objects_per_slab : 1;

	return cache->cpu_objects / each + (cache->cpu_objects % each != 0);
}

uint64_t percent(uint64_t part, uint64_t whole)
{
	return whole ? part * 100 / whole : 0;
}
