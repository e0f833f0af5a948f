/* SPDX-License-Identifier: MIT */
/*
 * Formatting a problem (bug_info.c) as a report, without locks, in the form of SLUB's reports:
 *
 *   BUG entry: Right Redzone overwritten    what is wrong
 *   0x…-0x… @offset=64. First byte …        where
 *   Allocated in …, Freed in …              threads and stacks of both
 *   Destroyed in …                          the same of a cache
 *   Detected in …                           the thread that found it
 *   Slab 0x…, Object 0x…                    the slab and the object
 *   Redzone, Object, Redzone, Padding       the bytes around the damage
 *   FIX entry: …                            the repair
 *
 * A report is one write of at most REPORT_MAX bytes and fits on a screen. Outer frames of stacks
 * are left out until it does.
 */
#include "debug/bug_info.h"
#include "base/cancel.h"
#include "base/compiler.h"
#include "core/debug_record.h"
#include "core/slab.h"
#include "pages/os.h"
#include "report/report.h"
#include "report/symbol.h"
#include "report/track.h"

#include <errno.h>
#include <inttypes.h>
#include <slab/debug.h>
#include <slab/slab.h>
#include <stdio.h>
#include <string.h>

#define SCREEN_LINES 45u
#define STACK_FRAMES 8u    /* most frames of a stack */
#define DETECTED_FRAMES 6u /* fewer: the misuse is usually near the top */

struct stack {
	const char *verb;
	struct slab_track track;
	bool aged;
	unsigned shown;
	char (*text)[SYMBOL_TEXT]; /* of the shown frames */
};

enum { STACK_ALLOCATED, STACK_FREED, STACK_DETECTED, STACKS };

/* Data that is too large for a small stack. */
struct work {
	const struct bug_tracks *tracks; /* NULL: the process is this one */
	struct report report;
	struct stack stack[STACKS];
	const void *frames[2 * STACK_FRAMES + DETECTED_FRAMES];
	char text[2 * STACK_FRAMES + DETECTED_FRAMES][SYMBOL_TEXT];
	unsigned n;
};

static uintptr_t number(const void *address)
{
	return (uintptr_t)address;
}

#define ADDRESS "0x%" PRIxPTR
#define ADDRESSES ADDRESS "-" ADDRESS

static void take_stack(struct work *work, struct stack *stack, const struct track *track,
		       unsigned most)
{
	if (work->tracks)
		work->tracks->describe(work->tracks->arg, track, &stack->track);
	else
		track_describe(track, &stack->track);
	stack->shown = stack->track.frames < most ? stack->track.frames : most;
	stack->text = &work->text[work->n];
	memcpy(&work->frames[work->n], stack->track.frame, stack->shown * sizeof(work->frames[0]));
	work->n += stack->shown;
}

/* Only who knows the mappings of the other process can name its functions. */
static void write_numbers(unsigned n, const void *const *frames, char (*text)[SYMBOL_TEXT])
{
	for (unsigned i = 0; i < n; i++)
		snprintf(text[i], SYMBOL_TEXT, "0x%" PRIxPTR, (uintptr_t)frames[i]);
}

static void take_stacks(struct work *work, const struct bug_info *bug)
{
	struct stack *stack = work->stack;
	const bool aged = !work->tracks || work->tracks->has_ages;

	stack[STACK_ALLOCATED] = (struct stack){.verb = "Allocated", .aged = aged};
	stack[STACK_FREED] = (struct stack){
		.verb = bug->problem == SLAB_PROBLEM_DESTROYED_CACHE ? "Destroyed" : "Freed",
		.aged = aged,
	};
	stack[STACK_DETECTED] = (struct stack){.verb = "Detected"};
	work->n = 0;
	take_stack(work, &stack[STACK_ALLOCATED], &bug->allocated, STACK_FRAMES);
	take_stack(work, &stack[STACK_FREED], &bug->freed, STACK_FRAMES);
	take_stack(work, &stack[STACK_DETECTED], &bug->detected, DETECTED_FRAMES);
	if (work->n && work->tracks)
		write_numbers(work->n, work->frames, work->text);
	else if (work->n)
		symbolize(work->n, work->frames, work->text);
}

static void add_stack(struct report *report, const struct stack *stack, unsigned most)
{
	const struct slab_track *track = &stack->track;
	unsigned shown = stack->shown < most ? stack->shown : most;
	char age[32] = "";

	if (!track->tid)
		return;
	if (stack->aged)
		snprintf(age, sizeof(age), " age=%" PRIu64 " ms", track->age_ms);
	report_line(report, "%s in %s%s cpu=%d tid=%d (%s)", stack->verb,
		    stack->shown ? stack->text[0] : "unknown", age, track->cpu, track->tid,
		    track->thread);
	for (unsigned i = 0; i < shown; i++)
		report_line(report, "\t%s", stack->text[i]);
	if (shown < track->frames)
		report_line(report, "\t... %u more", track->frames - shown);
}

static void add_stacks(struct work *work, const struct bug_info *bug, unsigned most)
{
	if (bug->tracks && !bug->allocated.tid)
		report_line(&work->report, "object allocation stack trace missing");
	for (unsigned i = 0; i < STACKS; i++)
		add_stack(&work->report, &work->stack[i], most);
}

static const char *debug_flags_text(uint64_t debug_flags, char text[8])
{
	static const struct {
		uint64_t flag;
		char letter;
	} known[] = {
		{SLAB_CONSISTENCY_CHECKS, 'F'}, {SLAB_RED_ZONE, 'Z'}, {SLAB_POISON, 'P'},
		{SLAB_STORE_USER, 'U'},         {SLAB_TRACE, 'T'},
	};
	unsigned n = 0;

	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (debug_flags & known[i].flag)
			text[n++] = known[i].letter;
	if (!n)
		text[n++] = '-';
	text[n] = '\0';
	return text;
}

/* " fp=0x…" if the next free object is known, else "". */
static const char *fp_text(const struct bug_info *bug, const char *object, char text[32])
{
	text[0] = '\0';
	if (bug->lists_free)
		snprintf(text, 32, " fp=" ADDRESS, number(object));
	return text;
}

static void add_places(struct report *report, const struct bug_info *bug)
{
	char fp[32], debug_flags[8], requested[32] = "";

	if (!bug->slab)
		return;
	report_line(report, "Slab " ADDRESS " objects=%u used=%u%s flags=%s", number(bug->slab),
		    bug->objects, bug->used, fp_text(bug, bug->freelist, fp),
		    debug_flags_text(bug->debug_flags, debug_flags));
	if (!bug->object)
		return;
	if (bug->requested != bug->object_size)
		snprintf(requested, sizeof(requested), " requested=%zu", bug->requested);
	report_line(report, "Object " ADDRESS " @offset=%zu%s size=%zu%s\n", number(bug->object),
		    bug->offset, fp_text(bug, bug->next_free, fp), bug->object_size, requested);
}

static void add_dump_line(struct report *report, const char *label, const char *address,
			  const char *bytes, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	char hex[3 * BUG_DUMP_LINE + 1], ascii[BUG_DUMP_LINE + 1];

	memset(hex, ' ', sizeof(hex));
	for (size_t i = 0; i < n; i++) {
		unsigned char byte = (unsigned char)bytes[i];

		hex[3 * i] = digits[byte >> 4];
		hex[3 * i + 1] = digits[byte & 15];
		ascii[i] = byte >= ' ' && byte <= '~' ? (char)byte : '.';
	}
	hex[3 * BUG_DUMP_LINE] = ascii[n] = '\0';
	report_line(report, "%-8s " ADDRESS ": %s |%s|", label, number(address), hex, ascii);
}

static void add_dump(struct report *report, const char *label, const struct dump *dump,
		     const char *bytes)
{
	for (size_t at = 0; at < dump->len; at += BUG_DUMP_LINE) {
		size_t n = dump->len - at < BUG_DUMP_LINE ? dump->len - at : BUG_DUMP_LINE;

		add_dump_line(report, label, dump->start + at, bytes + at, n);
	}
	if (dump->more)
		report_line(report, "%-8s ... %u bytes more", label, dump->more);
}

static void add_dumps(struct report *report, const struct bug_info *bug)
{
	add_dump(report, bug->has_red_zone ? "Redzone" : "Bytes b4", &bug->before,
		 bug->bytes_before);
	add_dump(report, "Object", &bug->body, bug->bytes_body);
	add_dump(report, "Redzone", &bug->red_zone, bug->bytes_red_zone);
	add_dump(report, "Padding", &bug->padding, bug->bytes_padding);
}

static void add_head(struct report *report, const struct bug_info *bug)
{
	report_begin(report, bug->problem, bug->cache, "%s", bug->reason);
	if (bug->first && bug->slab)
		report_line(report, ADDRESSES " @offset=%zu. First byte 0x%02x instead of 0x%02x",
			    number(bug->first), number(bug->last), (size_t)(bug->first - bug->base),
			    bug->found, bug->expected);
	if (bug->note[0])
		report_line(report, "%s", bug->note);
	if (bug->late)
		report_line(report, "%s", bug->late);
}

static bool fits_a_screen(const struct report *report)
{
	unsigned lines = 0;

	for (const char *at = report->text; (at = strchr(at, '\n')); at++)
		lines++;
	return !report->full && lines <= SCREEN_LINES;
}

/* Add everything after the head. With no frames at all it always fits. */
static void add_rest(struct work *work, const struct bug_info *bug)
{
	struct report *report = &work->report;
	size_t head = report->len;

	for (unsigned most = STACK_FRAMES;; most--) {
		add_stacks(work, bug, most);
		add_places(report, bug);
		add_dumps(report, bug);
		for (unsigned i = 0; i < bug->fixes; i++)
			report_fix(report, "%s", bug->fix[i]);
		if (most == 0 || fits_a_screen(report))
			return;
		report_rewind(report, head);
	}
}

static void fill_info(struct work *work, const struct bug_info *bug)
{
	struct slab_report *info = &work->report.info;

	info->object = bug->object;
	info->object_size = bug->requested;
	info->offset = bug->offset;
	info->first = bug->first;
	info->last = bug->last;
	info->found = bug->found;
	info->expected = bug->expected;
	info->debug_flags = bug->debug_flags;
	info->objects = bug->objects;
	info->used = bug->used;
	info->allocated = work->stack[STACK_ALLOCATED].track;
	info->freed = work->stack[STACK_FREED].track;
	info->detected = work->stack[STACK_DETECTED].track;
}

static void compose(struct work *work, const struct bug_info *bug)
{
	add_head(&work->report, bug);
	take_stacks(work, bug);
	fill_info(work, bug);
	add_rest(work, bug);
}

static void work_report(struct work *work, const struct bug_info *bug)
{
	work->tracks = NULL;
	compose(work, bug);
	report_emit(&work->report);
}

/* There is no memory to map, so the data goes on the stack, whatever its size. */
static SLAB_SLOWPATH void report_on_stack(const struct bug_info *bug)
{
	struct work work;

	work_report(&work, bug);
}

void bug_info_report(const struct bug_info *bug)
{
	int saved_errno = errno, cancel = cancel_disable();
	struct work *work = os_map(sizeof(*work), 1);

	if (work) {
		work_report(work, bug);
		os_unmap(work, sizeof(*work));
	} else {
		report_on_stack(bug);
	}
	cancel_restore(cancel);
	errno = saved_errno;
}

size_t bug_info_text(const struct bug_info *bug, const struct bug_tracks *tracks,
		     char text[REPORT_MAX])
{
	struct work *work = os_map(sizeof(*work), 1);
	size_t length;

	if (!work)
		return 0;
	work->tracks = tracks;
	compose(work, bug);
	length = work->report.len;
	memcpy(text, work->report.text, length + 1);
	os_unmap(work, sizeof(*work));
	return length;
}
