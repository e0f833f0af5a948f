/* SPDX-License-Identifier: MIT */
/*
 * Parsing SLAB_DEBUG and SLAB_SAMPLE. The values stay text, which each function parses from the
 * start without copying it.
 *
 * SLAB_DEBUG is a list of blocks "debug flags[,name...]", separated by semicolons. A block with
 * names applies to these caches only; the first block that names the cache decides. If none does,
 * the last block without names decides.
 */
#include "base/debug_spec.h"
#include "base/names.h"
#include "base/text.h"

#include <slab/debug.h>
#include <slab/slab.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* --- debug flags ------------------------------------------------------------------------ */

static uint64_t flag_of_character(char c)
{
	uint64_t flag;
	char character;

	for (unsigned i = 0; (character = debug_flag_character(i, &flag)); i++)
		if ((c | 0x20) == character)
			return flag;
	return 0;
}

int debug_flags_parse(const char *text, size_t len, uint64_t *ret_debug_flags)
{
	uint64_t debug_flags = 0;

	if (len == 1 && text[0] == '-')
		len = 0;
	for (size_t i = 0; i < len; i++) {
		uint64_t flag = flag_of_character(text[i]);

		if (!flag)
			return -EINVAL;
		debug_flags |= flag;
	}
	*ret_debug_flags = debug_flags;
	return 0;
}

/* --- SLAB_DEBUG ----------------------------------------------------------------------- */

struct block {
	struct span debug_flags;
	struct span names; /* start is NULL: the block is for all caches */
};

/* Cut the next block off *rest. Skips empty blocks. false: there is no further block. */
static bool next_block(struct span *rest, struct block *block)
{
	while (rest->start) {
		block->names = span_cut(rest, ';');
		if (block->names.len) {
			block->debug_flags = span_cut(&block->names, ',');
			return true;
		}
	}
	return false;
}

static bool is_no_growth(char c)
{
	return (c | 0x20) == 'o';
}

/* A word that is no list of flags is the name of a cache more often than not: "entry" for ",entry".
 * Some of its letters are flags, and must not be taken for them. */
static bool is_flags(struct span text)
{
	for (size_t i = 0; i < text.len; i++) {
		const char c = text.start[i];

		if (c != '-' && !is_no_growth(c) && !flag_of_character(c))
			return false;
	}
	return true;
}

/* The flags of a block. No character at all means SLAB_DEBUG_DEFAULT; "-" clears the flags before
 * it. */
static uint64_t block_flags(struct span text)
{
	uint64_t debug_flags = 0;

	if (!text.len)
		return SLAB_DEBUG_DEFAULT;
	for (size_t i = 0; i < text.len; i++)
		debug_flags =
			text.start[i] == '-' ? 0 : debug_flags | flag_of_character(text.start[i]);
	return debug_flags;
}

uint64_t debug_text_flags(const char *text, const char *cache_name, bool *ret_no_growth)
{
	struct span rest = span_of(text);
	struct block block;
	uint64_t for_all = 0, for_name = 0;
	bool found = false;

	*ret_no_growth = false;
	while (next_block(&rest, &block)) {
		if (!is_flags(block.debug_flags))
			continue;
		for (size_t i = 0; i < block.debug_flags.len; i++)
			*ret_no_growth |= is_no_growth(block.debug_flags.start[i]);
		if (!block.names.start) {
			for_all = block_flags(block.debug_flags);
		} else if (!found && name_in_list(block.names.start, block.names.len, cache_name)) {
			for_name = block_flags(block.debug_flags);
			found = true;
		}
	}
	return found ? for_name : for_all;
}

static int complain_about_flags(const char *text, void (*complain)(const char *message))
{
	struct span rest = span_of(text);
	struct block block;
	char shown[SLAB_MAX_NAME + 2], advice[SLAB_MAX_NAME + 40] = "", message[300];

	do {
		if (!next_block(&rest, &block))
			return 0;
	} while (is_flags(block.debug_flags));
	option_printable(shown, sizeof(shown), block.debug_flags.start, block.debug_flags.len);
	if (!block.names.start && name_is_pattern(block.debug_flags.start, block.debug_flags.len))
		snprintf(advice, sizeof(advice), "; for the cache of that name: \",%s\"", shown);
	snprintf(
		message, sizeof(message),
		"SLAB_DEBUG: \"%s\" ignored; accepted are the flags F Z P U T A O and -, in upper or "
		"lower case%s",
		shown, advice);
	complain(message);
	return 1;
}

/* Find the first name in the text that no cache can have. */
static bool find_bad_name(const char *text, struct span *bad)
{
	struct span rest = span_of(text);
	struct block block;

	while (next_block(&rest, &block)) {
		while (block.names.start) {
			*bad = span_cut(&block.names, ',');
			if (!name_is_pattern(bad->start, bad->len))
				return true;
		}
	}
	return false;
}

static int complain_about_name(const char *text, void (*complain)(const char *message))
{
	char shown[SLAB_MAX_NAME + 2], message[300];
	struct span bad;

	if (!find_bad_name(text, &bad))
		return 0;
	option_printable(shown, sizeof(shown), bad.start, bad.len);
	snprintf(message, sizeof(message),
		 "SLAB_DEBUG: \"%s\" cannot be the name of a cache; accepted: 1 to %d printable "
		 "characters without spaces, of which a * stands for any end",
		 shown, SLAB_MAX_NAME);
	complain(message);
	return 1;
}

int debug_text_check(const char *text, void (*complain)(const char *message))
{
	return complain_about_flags(text, complain) + complain_about_name(text, complain);
}

/* --- SLAB_SAMPLE -------------------------------------------------------------------------- */

/* Parse NAME:N. A name may contain colons, so the last colon separates. */
static bool parse_sample(struct span item, struct span *name, unsigned long *interval)
{
	const char *colon = item.len ? memrchr(item.start, ':', item.len) : NULL;
	long n;

	if (!colon)
		return false;
	*name = (struct span){item.start, (size_t)(colon - item.start)};
	if (!name_is_pattern(name->start, name->len) ||
	    !option_number(colon + 1, item.len - name->len - 1, 0, LONG_MAX, &n))
		return false;
	*interval = (unsigned long)n;
	return true;
}

bool sample_text_is_good(const char *text)
{
	struct span rest = span_of(text), name;
	unsigned long interval;

	while (rest.start)
		if (!parse_sample(span_cut(&rest, ','), &name, &interval))
			return false;
	return true;
}

unsigned long sample_text_interval(const char *text, const char *cache_name)
{
	struct span rest = span_of(text), name;
	unsigned long interval;

	while (rest.start)
		if (parse_sample(span_cut(&rest, ','), &name, &interval) &&
		    name_matches(name, cache_name))
			return interval;
	return 0;
}
