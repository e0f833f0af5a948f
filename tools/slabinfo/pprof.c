/* SPDX-License-Identifier: MIT */
/*
 * --pprof: the heap profile as pprof reads it, a gzipped protocol buffer (profile.proto of
 * github.com/google/pprof), with the four values of Go's heap profiles.
 *
 * All texts are in one table, and other messages have their numbers. Text 0 is empty.
 */
#include "elf_image.h"
#include "heap.h"
#include "output.h"
#include "views.h"

#include <math.h>
#include <search.h>
#include <zlib.h>

/* --- protocol buffers: protobuf.dev/programming-guides/encoding ------------------------------ */

/* A message that is being written. All zero: empty. */
struct protobuf {
	unsigned char *bytes;
	size_t size, room;
	bool failed; /* no memory; further fields are ignored */
};

/* The low bits of a field's key. */
enum wire_type { VARINT = 0, LENGTH = 2 };

#define VARINT_MAX 10u

static void put_bytes(struct protobuf *message, const void *bytes, size_t size)
{
	if (message->room - message->size < size) {
		size_t room = 2 * (message->room + size);
		unsigned char *larger = message->failed ? NULL : realloc(message->bytes, room);

		if (!larger) {
			message->failed = true;
			return;
		}
		message->bytes = larger;
		message->room = room;
	}
	if (size)
		memcpy(message->bytes + message->size, bytes, size);
	message->size += size;
}

/* Seven bits a byte, the lowest first; the highest bit says that more bytes follow. */
static size_t make_varint(unsigned char varint[VARINT_MAX], uint64_t number)
{
	size_t size = 0;

	for (; number >= 0x80; number >>= 7)
		varint[size++] = (unsigned char)(number | 0x80);
	varint[size++] = (unsigned char)number;
	return size;
}

static void put_varint(struct protobuf *message, uint64_t number)
{
	unsigned char varint[VARINT_MAX];

	put_bytes(message, varint, make_varint(varint, number));
}

static void put_key(struct protobuf *message, unsigned field, enum wire_type type)
{
	put_varint(message, (uint64_t)field << 3 | type);
}

static void put_field(struct protobuf *message, unsigned field, const void *bytes, size_t size)
{
	put_key(message, field, LENGTH);
	put_varint(message, size);
	put_bytes(message, bytes, size);
}

static void protobuf_free(struct protobuf *message)
{
	free(message->bytes);
	*message = (struct protobuf){0};
}

static void protobuf_number(struct protobuf *message, unsigned field, uint64_t number)
{
	if (!number)
		return;
	put_key(message, field, VARINT);
	put_varint(message, number);
}

static void protobuf_numbers(struct protobuf *message, unsigned field, const uint64_t *number,
			     size_t count)
{
	unsigned char varint[VARINT_MAX];
	size_t size = 0;

	for (size_t i = 0; i < count; i++)
		size += make_varint(varint, number[i]);
	put_key(message, field, LENGTH);
	put_varint(message, size);
	for (size_t i = 0; i < count; i++)
		put_varint(message, number[i]);
}

static void protobuf_text(struct protobuf *message, unsigned field, const char *text)
{
	put_field(message, field, text, strlen(text));
}

static void protobuf_message(struct protobuf *message, unsigned field, struct protobuf *part)
{
	put_field(message, field, part->bytes, part->size);
	message->failed |= part->failed;
	part->size = 0;
}

/* Fields of the messages. */
enum profile_field {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING_TABLE = 6,
	PROFILE_TIME_NANOS = 9,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,
};
enum value_type_field { VALUE_TYPE = 1, VALUE_UNIT = 2 };
enum sample_field { SAMPLE_LOCATION_ID = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };
enum label_field { LABEL_KEY = 1, LABEL_STR = 2, LABEL_NUM = 3, LABEL_NUM_UNIT = 4 };
enum mapping_field {
	MAPPING_ID = 1,
	MAPPING_MEMORY_START = 2,
	MAPPING_MEMORY_LIMIT = 3,
	MAPPING_FILE_OFFSET = 4,
	MAPPING_FILENAME = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_FILENAMES = 8,
	MAPPING_HAS_LINE_NUMBERS = 9,
};
enum location_field {
	LOCATION_ID = 1,
	LOCATION_MAPPING_ID = 2,
	LOCATION_ADDRESS = 3,
	LOCATION_LINE = 4,
};
enum line_field { LINE_FUNCTION_ID = 1, LINE_LINE = 2 };
enum function_field { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_FILENAME = 4 };

#define VALUES 4
#define MAPPINGS_MAX 4096u /* mappings with higher numbers are left out */

/* A text, with its number. A tree, since many places share one. */
struct text {
	char *text;
	uint64_t number;
	uint64_t function; /* number of the function with this name, 0: none yet */
};

struct pprof {
	const struct heap *heap;
	struct protobuf profile, part, inner;
	void *texts; /* of tsearch() */
	uint64_t count;
	uint64_t functions;
};

/* --- texts ---------------------------------------------------------------------------- */

static int compare_texts(const void *a, const void *b)
{
	const struct text *left = a, *right = b;

	return strcmp(left->text, right->text);
}

static void free_text(void *text)
{
	free(((struct text *)text)->text);
	free(text);
}

/* The entry of a text, which is written to the table the first time; NULL: no memory. */
static struct text *text_of(struct pprof *pprof, const char *text)
{
	struct text **found =
		tfind(&(struct text){.text = (char *)text}, &pprof->texts, compare_texts);
	struct text *entry;

	if (found)
		return *found;
	entry = calloc(1, sizeof(*entry));
	if (entry)
		entry->text = strdup(text);
	if (!entry || !entry->text || !tsearch(entry, &pprof->texts, compare_texts)) {
		if (entry)
			free_text(entry);
		pprof->profile.failed = true;
		return NULL;
	}
	entry->number = pprof->count++;
	protobuf_text(&pprof->profile, PROFILE_STRING_TABLE, text);
	return entry;
}

static uint64_t text_id(struct pprof *pprof, const char *text)
{
	const struct text *entry = text_of(pprof, text);

	return entry ? entry->number : 0;
}

/* --- types of values --------------------------------------------------------------------- */

static void put_type(struct pprof *pprof, unsigned field, const char *type, const char *unit)
{
	protobuf_number(&pprof->part, VALUE_TYPE, text_id(pprof, type));
	protobuf_number(&pprof->part, VALUE_UNIT, text_id(pprof, unit));
	protobuf_message(&pprof->profile, field, &pprof->part);
}

static void put_types(struct pprof *pprof)
{
	struct timespec now;

	put_type(pprof, PROFILE_SAMPLE_TYPE, "alloc_objects", "count");
	put_type(pprof, PROFILE_SAMPLE_TYPE, "alloc_space", "bytes");
	put_type(pprof, PROFILE_SAMPLE_TYPE, "inuse_objects", "count");
	put_type(pprof, PROFILE_SAMPLE_TYPE, "inuse_space", "bytes");
	put_type(pprof, PROFILE_PERIOD_TYPE, "space", "bytes");
	protobuf_number(&pprof->profile, PROFILE_PERIOD, pprof->heap->period);
	protobuf_number(&pprof->profile, PROFILE_DEFAULT_SAMPLE_TYPE,
			text_id(pprof, "inuse_space"));
	clock_gettime(CLOCK_REALTIME, &now);
	protobuf_number(&pprof->profile, PROFILE_TIME_NANOS,
			(uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec);
}

/* --- mappings ----------------------------------------------------------------------------- */

static bool has_mapping(const struct heap_place *place)
{
	return place->is_mapped && place->mapped.number < MAPPINGS_MAX;
}

static const char *build_id_text(const char *path, char text[2 * sizeof(struct build_id)])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct build_id id = {.size = 0};

	text[0] = '\0';
	if (fd < 0)
		return text;
	id = build_id_of_file(fd);
	close(fd);
	for (size_t i = 0; i < id.size; i++)
		sprintf(text + 2 * i, "%02x", id.byte[i]);
	return text;
}

/* Does the first place know more of its function? */
static bool knows_more(const struct heap_place *place, const struct heap_place *than)
{
	if (!than || place->calls != than->calls)
		return !than || place->calls > than->calls;
	return place->calls && place->call[0].file && !than->call[0].file;
}

/* `place` knows as much of its function as any place of the mapping does: if that is a name, pprof
 * need not look for names. */
static void put_mapping(struct pprof *pprof, const struct heap_place *place)
{
	const struct memory_mapped *mapped = &place->mapped;
	const bool has_file = place->calls && place->call[0].file;
	char text[2 * sizeof(struct build_id)];
	struct protobuf *part = &pprof->part;

	protobuf_number(part, MAPPING_ID, mapped->number + 1);
	protobuf_number(part, MAPPING_MEMORY_START, mapped->start);
	protobuf_number(part, MAPPING_MEMORY_LIMIT, mapped->end);
	protobuf_number(part, MAPPING_FILE_OFFSET, mapped->offset);
	protobuf_number(part, MAPPING_FILENAME, text_id(pprof, mapped->path));
	protobuf_number(part, MAPPING_BUILD_ID, text_id(pprof, build_id_text(mapped->path, text)));
	protobuf_number(part, MAPPING_HAS_FUNCTIONS, place->calls != 0);
	protobuf_number(part, MAPPING_HAS_FILENAMES, has_file);
	protobuf_number(part, MAPPING_HAS_LINE_NUMBERS, has_file);
	protobuf_message(&pprof->profile, PROFILE_MAPPING, part);
}

/* In order of addresses: pprof takes the first mapping for the program. */
static void put_mappings(struct pprof *pprof)
{
	const struct heap *heap = pprof->heap;
	const struct heap_place *known[MAPPINGS_MAX] = {NULL};

	for (size_t i = 0; i < heap->places; i++) {
		const struct heap_place *place = &heap->place[i];

		if (has_mapping(place) && knows_more(place, known[place->mapped.number]))
			known[place->mapped.number] = place;
	}
	for (size_t i = 0; i < MAPPINGS_MAX; i++) {
		if (known[i])
			put_mapping(pprof, known[i]);
	}
}

/* --- locations ----------------------------------------------------------------------------- */

static uint64_t function_id(struct pprof *pprof, const struct heap_call *call)
{
	struct protobuf function = {0};
	struct text *name = text_of(pprof, call->function);

	if (!name)
		return 0;
	if (!name->function) {
		name->function = ++pprof->functions;
		protobuf_number(&function, FUNCTION_ID, pprof->functions);
		protobuf_number(&function, FUNCTION_NAME, name->number);
		if (call->file)
			protobuf_number(&function, FUNCTION_FILENAME, text_id(pprof, call->file));
		protobuf_message(&pprof->profile, PROFILE_FUNCTION, &function);
		protobuf_free(&function);
	}
	return name->function;
}

static void put_location(struct pprof *pprof, size_t number)
{
	const struct heap_place *place = &pprof->heap->place[number];

	protobuf_number(&pprof->part, LOCATION_ID, number + 1);
	if (has_mapping(place))
		protobuf_number(&pprof->part, LOCATION_MAPPING_ID, place->mapped.number + 1);
	protobuf_number(&pprof->part, LOCATION_ADDRESS, place->address);
	for (size_t i = 0; i < place->calls; i++) {
		protobuf_number(&pprof->inner, LINE_FUNCTION_ID,
				function_id(pprof, &place->call[i]));
		protobuf_number(&pprof->inner, LINE_LINE, (uint64_t)place->call[i].line);
		protobuf_message(&pprof->part, LOCATION_LINE, &pprof->inner);
	}
	protobuf_message(&pprof->profile, PROFILE_LOCATION, &pprof->part);
}

/* --- samples ------------------------------------------------------------------------------- */

static uint64_t rounded(double estimate)
{
	return (uint64_t)llround(estimate);
}

/* The size and the type of the objects are labels, the size as in Go's heap profiles. */
static void put_sample(struct pprof *pprof, const struct heap_site *site)
{
	const uint64_t value[VALUES] = {rounded(site->alloc_objects), rounded(site->alloc_bytes),
					rounded(site->inuse_objects), rounded(site->inuse_bytes)};
	uint64_t *location = calloc(site->frames + 1, sizeof(*location));

	if (!location) {
		pprof->profile.failed = true;
		return;
	}
	for (size_t i = 0; i < site->frames; i++)
		location[i] = site->place[i] + 1;
	protobuf_numbers(&pprof->part, SAMPLE_LOCATION_ID, location, site->frames);
	protobuf_numbers(&pprof->part, SAMPLE_VALUE, value, VALUES);
	protobuf_number(&pprof->inner, LABEL_KEY, text_id(pprof, "bytes"));
	protobuf_number(&pprof->inner, LABEL_NUM, site->size);
	protobuf_number(&pprof->inner, LABEL_NUM_UNIT, text_id(pprof, "bytes"));
	protobuf_message(&pprof->part, SAMPLE_LABEL, &pprof->inner);
	if (*site->type) {
		protobuf_number(&pprof->inner, LABEL_KEY, text_id(pprof, "type"));
		protobuf_number(&pprof->inner, LABEL_STR, text_id(pprof, site->type));
		protobuf_message(&pprof->part, SAMPLE_LABEL, &pprof->inner);
	}
	protobuf_message(&pprof->profile, PROFILE_SAMPLE, &pprof->part);
	free(location);
}

static void put_profile(struct pprof *pprof)
{
	text_id(pprof, "");
	put_types(pprof);
	put_mappings(pprof);
	for (size_t i = 0; i < pprof->heap->places; i++)
		put_location(pprof, i);
	for (size_t i = 0; i < pprof->heap->sites; i++)
		put_sample(pprof, &pprof->heap->site[i]);
}

/* --- the file ------------------------------------------------------------------------------- */

/* Compress into a buffer that the caller frees; NULL: there is no memory. */
static unsigned char *compress_gzip(const struct protobuf *from, size_t *ret_size)
{
	const int gzip = 16 + MAX_WBITS;
	z_stream stream = {.next_in = from->bytes, .avail_in = (uInt)from->size};
	unsigned char *to = NULL;
	uLong room;

	if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip, 8, Z_DEFAULT_STRATEGY) !=
	    Z_OK)
		return NULL;
	room = deflateBound(&stream, (uLong)from->size);
	to = malloc(room);
	stream.next_out = to;
	stream.avail_out = (uInt)room;
	if (to && deflate(&stream, Z_FINISH) != Z_STREAM_END) {
		free(to);
		to = NULL;
	}
	*ret_size = stream.total_out;
	deflateEnd(&stream);
	return to;
}

static int write_profile(const struct pprof *pprof, const char *path)
{
	unsigned char *file = NULL;
	int status = EXIT_USAGE;
	size_t size;

	if (!pprof->profile.failed && !pprof->part.failed && pprof->profile.size <= UINT32_MAX / 2)
		file = compress_gzip(&pprof->profile, &size);
	if (!file)
		fail("no memory for a profile of %zu bytes", pprof->profile.size);
	else if (output_write(path, (const char *)file, size))
		status = EXIT_DONE;
	free(file);
	return status;
}

static void free_pprof(struct pprof *pprof)
{
	tdestroy(pprof->texts, free_text);
	protobuf_free(&pprof->profile);
	protobuf_free(&pprof->part);
	protobuf_free(&pprof->inner);
}

int view_pprof(const struct options *options, struct process *process)
{
	struct heap heap;
	struct pprof pprof = {.heap = &heap};
	int status = heap_load(&heap, process, options->part);

	if (status == EXIT_DONE) {
		put_profile(&pprof);
		status = write_profile(&pprof, options->file);
	}
	free_pprof(&pprof);
	heap_free(&heap);
	return status;
}
