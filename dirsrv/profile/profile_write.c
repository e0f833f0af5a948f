/* SPDX-License-Identifier: MIT */
/*
 * Writing the profile as JSON (dirsrv/docs/schema/pblock.schema.json). The same lives give the same file,
 * in whatever order they ended: the most frequent kinds come first, and parameters are ordered by
 * number.
 */
#include "profile_write.h"
#include "file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERSION 1

/* Parameters by number, of one kind of lives or of all. */
struct kind {
	uint64_t pblocks;
	bool whole;
	size_t count;
	struct use *uses;
};

struct profile {
	struct kind *kinds;
	size_t count, room;
	bool failed; /* no memory */
	uint64_t pblocks, earlier;
	struct lives_counts counts;
	struct use totals[SLAB_PBLOCK_NUMBERS];
};

/* Collecting */

static int compare_uses(const void *one, const void *other)
{
	const struct use *a = one, *b = other;

	return (a->parameter > b->parameter) - (a->parameter < b->parameter);
}

static bool copy_uses(struct kind *kind, const struct life *life)
{
	size_t total = 0;

	for (const struct uses *uses = life->uses; uses; uses = uses->next)
		total += uses->count;
	kind->uses = malloc((total + 1) * sizeof(*kind->uses));
	if (!kind->uses)
		return false;
	for (const struct uses *uses = life->uses; uses; uses = uses->next) {
		memcpy(kind->uses + kind->count, uses->of, uses->count * sizeof(*kind->uses));
		kind->count += uses->count;
	}
	qsort(kind->uses, kind->count, sizeof(*kind->uses), compare_uses);
	return true;
}

static bool make_room(struct profile *profile)
{
	size_t room = profile->room ? profile->room * 2 : 64;
	struct kind *kinds;

	if (profile->count < profile->room)
		return true;
	kinds = realloc(profile->kinds, room * sizeof(*kinds));
	if (!kinds)
		return false;
	profile->kinds = kinds;
	profile->room = room;
	return true;
}

static void add_totals(struct profile *profile, const struct kind *kind)
{
	for (size_t i = 0; i < kind->count; i++) {
		struct use *total = &profile->totals[kind->uses[i].parameter];

		total->gets += kind->uses[i].gets;
		total->sets += kind->uses[i].sets;
	}
	*(kind->whole ? &profile->pblocks : &profile->earlier) += kind->pblocks;
}

static void collect(const struct life *life, void *arg)
{
	struct kind kind = {.pblocks = life->pblocks, .whole = life->whole};
	struct profile *profile = arg;

	if (!make_room(profile) || !copy_uses(&kind, life)) {
		profile->failed = true;
		return;
	}
	profile->kinds[profile->count++] = kind;
	add_totals(profile, &kind);
}

static int order(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_use(const struct use *a, const struct use *b)
{
	int by = order(a->parameter, b->parameter);

	by = by ? by : order(b->sets > 0, a->sets > 0);
	return by ? by : order(b->gets > 0, a->gets > 0);
}

static int compare_kinds(const void *one, const void *other)
{
	const struct kind *a = one, *b = other;
	int by = order(b->pblocks, a->pblocks);

	by = by ? by : order(b->whole, a->whole);
	for (size_t i = 0; by == 0 && i < a->count && i < b->count; i++)
		by = compare_use(&a->uses[i], &b->uses[i]);
	return by ? by : order(a->count, b->count);
}

/* Writing */

static void print_use(FILE *out, const char *indent, const struct use *use, const char *before)
{
	fprintf(out,
		"%s\n%s{\"parameter\": %" PRIu32 ", \"gets\": %" PRIu64 ", \"sets\": %" PRIu64 "}",
		before, indent, use->parameter, use->gets, use->sets);
}

static void print_totals(FILE *out, const struct profile *profile)
{
	const char *before = "";

	fputs("  \"parameters\": [", out);
	for (uint32_t i = 0; i < SLAB_PBLOCK_NUMBERS; i++) {
		struct use use = profile->totals[i];

		use.parameter = i;
		if (use.gets || use.sets) {
			print_use(out, "    ", &use, before);
			before = ",";
		}
	}
	fputs("\n  ],\n", out);
}

static void print_kind(FILE *out, const struct kind *kind, const char *before)
{
	fprintf(out, "%s\n    {\"pblocks\": %" PRIu64 ", \"whole\": %s, \"parameters\": [", before,
		kind->pblocks, kind->whole ? "true" : "false");
	for (size_t i = 0; i < kind->count; i++)
		print_use(out, "      ", &kind->uses[i], i ? "," : "");
	fputs("]}", out);
}

/* A program's name may contain any bytes; those that JSON cannot contain become '?'. */
static void print_command(FILE *out)
{
	fputs("  \"command\": \"", out);
	for (const char *at = program_invocation_short_name; *at; at++)
		fputc(*at < ' ' || *at > '~' || strchr("\"\\", *at) ? '?' : *at, out);
	fputs("\",\n", out);
}

static int print_profile(FILE *out, const void *arg)
{
	const struct profile *profile = arg;
	const struct lives_counts *counts = &profile->counts;

	fprintf(out, "{\n  \"pblock_profile\": %d,\n", VERSION);
	print_command(out);
	fprintf(out,
		"  \"pblocks\": %" PRIu64 ",\n  \"earlier\": %" PRIu64 ",\n  \"alive\": %" PRIu64
		",\n  \"dropped_pblocks\": %" PRIu64 ",\n  \"dropped_accesses\": %" PRIu64 ",\n",
		profile->pblocks, profile->earlier, counts->alive, counts->dropped_pblocks,
		counts->dropped_accesses);
	print_totals(out, profile);
	fputs("  \"kinds\": [", out);
	for (size_t i = 0; i < profile->count; i++)
		print_kind(out, &profile->kinds[i], i ? "," : "");
	fputs("\n  ]\n}\n", out);
	return 0;
}

int profile_write(const char *file, const struct lives_counts *counts)
{
	struct profile *profile = calloc(1, sizeof(*profile));
	int error = -ENOMEM;

	if (!profile)
		return error;
	profile->counts = *counts;
	lives_each(collect, profile);
	if (!profile->failed) {
		if (profile->count)
			qsort(profile->kinds, profile->count, sizeof(*profile->kinds),
			      compare_kinds);
		error = file_write(file, print_profile, profile);
	}
	for (size_t i = 0; i < profile->count; i++)
		free(profile->kinds[i].uses);
	free(profile->kinds);
	free(profile);
	return error;
}
