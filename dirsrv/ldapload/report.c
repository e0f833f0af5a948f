/* SPDX-License-Identifier: MIT */
/* Latencies, counts, and their output. */
#include "report.h"
#include "load.h"

#include <math.h>

/* --- histograms: a bucket for each small value, then some for each power of two ------------- */

#define STEP_BITS 6 /* HISTOGRAM_STEPS is 2^6 */

_Static_assert(HISTOGRAM_STEPS == 1u << STEP_BITS, "the steps are a power of two");

static unsigned bucket_of(uint64_t ns)
{
	unsigned shift, bucket;

	if (ns < HISTOGRAM_STEPS)
		return (unsigned)ns;
	shift = 63 - (unsigned)__builtin_clzll(ns) - STEP_BITS;
	bucket = (shift + 1) * HISTOGRAM_STEPS + (unsigned)(ns >> shift) - HISTOGRAM_STEPS;
	return bucket < HISTOGRAM_BUCKETS ? bucket : HISTOGRAM_BUCKETS - 1;
}

/* The largest value of a bucket. */
static uint64_t bucket_edge(unsigned bucket)
{
	unsigned shift;

	if (bucket < HISTOGRAM_STEPS)
		return bucket;
	shift = bucket / HISTOGRAM_STEPS - 1;
	return ((UINT64_C(1) + HISTOGRAM_STEPS + bucket % HISTOGRAM_STEPS) << shift) - 1;
}

void histogram_add(struct histogram *histogram, uint64_t ns)
{
	histogram->count[bucket_of(ns)]++;
	histogram->total++;
	if (ns > histogram->max)
		histogram->max = ns;
}

void histogram_merge(struct histogram *histogram, const struct histogram *from)
{
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
		histogram->count[i] += from->count[i];
	histogram->total += from->total;
	if (from->max > histogram->max)
		histogram->max = from->max;
}

uint64_t histogram_percentile(const struct histogram *histogram, double percent)
{
	uint64_t wanted = (uint64_t)ceil((double)histogram->total * percent / 100);
	uint64_t below = 0, edge;
	unsigned i = 0;

	if (histogram->total == 0)
		return 0;
	for (; i < HISTOGRAM_BUCKETS - 1; i++) {
		below += histogram->count[i];
		if (below > 0 && below >= wanted)
			break;
	}
	edge = i == HISTOGRAM_BUCKETS - 1 ? histogram->max : bucket_edge(i);
	return edge < histogram->max ? edge : histogram->max;
}

/* --- counts --------------------------------------------------------------------------------- */

/* The outcome of that kind and code; a new one if there is room, otherwise the last one. */
static struct outcome *outcome_of(struct tally *tally, enum kind kind, int code)
{
	struct outcome *outcome = tally->outcomes;

	for (; outcome < tally->outcomes + tally->outcome_count; outcome++)
		if (outcome->kind == kind && outcome->code == code)
			return outcome;
	if (tally->outcome_count == OUTCOMES_MAX)
		return outcome - 1;
	tally->outcome_count++;
	*outcome = (struct outcome){.kind = kind, .code = code};
	return outcome;
}

void tally_outcome(struct tally *tally, enum kind kind, int code, bool unexpected, uint64_t count,
		   const char *text, size_t length)
{
	struct outcome *outcome = outcome_of(tally, kind, code);

	outcome->count += count;
	outcome->unexpected |= unexpected;
	if (text && length > 0 && !*outcome->text) {
		length = length < TEXT_MAX ? length : TEXT_MAX - 1;
		memcpy(outcome->text, text, length);
		outcome->text[length] = '\0';
	}
	if (unexpected)
		tally->unexpected += count;
}

void tally_merge(struct tally *tally, const struct tally *from)
{
	for (int kind = 0; kind < KIND_COUNT; kind++) {
		histogram_merge(&tally->latency[kind], &from->latency[kind]);
		tally->in_time[kind] += from->in_time[kind];
		tally->entries[kind] += from->entries[kind];
	}
	if (from->last_ns > tally->last_ns)
		tally->last_ns = from->last_ns;
	for (unsigned i = 0; i < from->outcome_count; i++) {
		const struct outcome *outcome = &from->outcomes[i];

		tally_outcome(tally, outcome->kind, outcome->code, outcome->unexpected,
			      outcome->count, outcome->text, strlen(outcome->text));
	}
}

const char *tally_code_name(int code)
{
	switch (code) {
	case CODE_EMPTY:
		return "no entry found";
	case LDAP_SERVER_DOWN:
		return "connection lost";
	case LDAP_TIMEOUT:
		return "no answer in time";
	case LDAP_CONNECT_ERROR:
		return "cannot connect";
	case LDAP_DECODING_ERROR:
		return "malformed answer";
	default:
		return ldap_err2string(code);
	}
}

/* --- output: a line for each kind of operations, and the outcomes --------------------------- */

#define US 1e3 /* ns */

static const struct percentile {
	const char *name;
	double percent;
} percentiles[] = {{"p50", 50}, {"p90", 90}, {"p99", 99}, {"p99.9", 99.9}, {"max", 100}};

#define PERCENTILES (sizeof(percentiles) / sizeof(*percentiles))

/* A line of the output. */
struct line {
	const char *name;
	const struct histogram *latency;
	uint64_t entries;
	double rate; /* per second */
};

static double percentile_us(const struct line *line, size_t i)
{
	return (double)histogram_percentile(line->latency, percentiles[i].percent) / US;
}

static struct line line_of(const struct results *results, enum kind kind)
{
	const struct tally *tally = results->tally;

	return (struct line){kind_names[kind], &tally->latency[kind], tally->entries[kind],
			     (double)tally->in_time[kind] / results->seconds};
}

/* The sum of all operations; `latency` is its memory. */
static struct line line_of_all(const struct results *results, struct histogram *latency)
{
	struct line all = {.name = "all", .latency = latency};

	memset(latency, 0, sizeof(*latency));
	for (int kind = 0; kind < MIX_COUNT; kind++) {
		struct line line = line_of(results, (enum kind)kind);

		histogram_merge(latency, line.latency);
		all.entries += line.entries;
		all.rate += line.rate;
	}
	return all;
}

/* print() for each kind that there was, for all together, and for new connections. */
static void each_line(FILE *out, const struct results *results,
		      void (*print)(FILE *out, const struct line *line))
{
	static struct histogram latency;
	struct line line;

	for (int kind = 0; kind < MIX_COUNT; kind++) {
		line = line_of(results, (enum kind)kind);
		if (line.latency->total > 0)
			print(out, &line);
	}
	line = line_of_all(results, &latency);
	print(out, &line);
	line = line_of(results, KIND_CONNECT);
	print(out, &line);
}

uint64_t report_unexpected(const struct results *results)
{
	return results->tally->unexpected + results->idle_lost;
}

/* ---- table ---- */

static void print_row(FILE *out, const struct line *line)
{
	fprintf(out, "%-8s %11llu %11.1f %11llu", line->name,
		(unsigned long long)line->latency->total, line->rate,
		(unsigned long long)line->entries);
	for (size_t i = 0; i < PERCENTILES; i++)
		fprintf(out, " %9.1f", percentile_us(line, i));
	fputc('\n', out);
}

static const char *plural(unsigned count)
{
	return count == 1 ? "" : "s";
}

static void print_table(FILE *out, const struct results *results)
{
	const struct args *args = results->args;
	const struct tally *tally = results->tally;

	fprintf(out, "%s: %u connections, %u idle, %u thread%s, %u operation%s at a time on each; ",
		args->uri, args->connections, args->idle, args->threads, plural(args->threads),
		args->depth, plural(args->depth));
	fprintf(out, "measured for %.2f s\n", results->seconds);
	fprintf(out, "%-8s %11s %11s %11s", "", "count", "per second", "entries");
	for (size_t i = 0; i < PERCENTILES; i++)
		fprintf(out, " %6s us", percentiles[i].name);
	fputc('\n', out);
	each_line(out, results, print_row);
	for (unsigned i = 0; i < tally->outcome_count; i++) {
		const struct outcome *outcome = &tally->outcomes[i];

		if (outcome->unexpected)
			fprintf(out, "unexpected: %llu %s: %s (%d)%s%s\n",
				(unsigned long long)outcome->count, kind_names[outcome->kind],
				tally_code_name(outcome->code), outcome->code,
				*outcome->text ? ": " : "", outcome->text);
	}
	if (results->idle_lost)
		fprintf(out, "unexpected: the server closed %u of %u idle connections\n",
			results->idle_lost, args->idle);
}

/* ---- JSON ---- */

static void print_string(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fprintf(out, "\\%c", *text);
		else if ((unsigned char)*text < ' ')
			fprintf(out, "\\u%04x", (unsigned)*text);
		else
			fputc(*text, out);
	}
	fputc('"', out);
}

static void print_member(FILE *out, const struct line *line)
{
	fprintf(out, ",\n  \"%s\": {\"count\": %llu, \"per_second\": %.3f, \"entries\": %llu",
		line->name, (unsigned long long)line->latency->total, line->rate,
		(unsigned long long)line->entries);
	for (size_t i = 0; i < PERCENTILES; i++)
		fprintf(out, ", \"%s_us\": %.3f", percentiles[i].name, percentile_us(line, i));
	fputc('}', out);
}

static void print_json(FILE *out, const struct results *results)
{
	const struct args *args = results->args;
	const struct tally *tally = results->tally;

	fputs("{\n  \"uri\": ", out);
	print_string(out, args->uri);
	fprintf(out,
		",\n  \"connections\": %u, \"threads\": %u, \"depth\": %u, \"per_connection\": %u"
		",\n  \"idle\": %u, \"idle_lost\": %u,\n  \"seconds\": %.6f, \"unexpected\": %llu",
		args->connections, args->threads, args->depth, args->per_connection, args->idle,
		results->idle_lost, results->seconds,
		(unsigned long long)report_unexpected(results));
	each_line(out, results, print_member);
	fputs(",\n  \"outcomes\": [", out);
	for (unsigned i = 0; i < tally->outcome_count; i++) {
		const struct outcome *outcome = &tally->outcomes[i];

		fprintf(out, "%s\n    {\"kind\": \"%s\", \"code\": %d, \"name\": ", i ? "," : "",
			kind_names[outcome->kind], outcome->code);
		print_string(out, tally_code_name(outcome->code));
		fprintf(out, ", \"count\": %llu, \"unexpected\": %s, \"text\": ",
			(unsigned long long)outcome->count, outcome->unexpected ? "true" : "false");
		print_string(out, outcome->text);
		fputc('}', out);
	}
	fputs("]\n}\n", out);
}

void report_print(FILE *out, const struct results *results)
{
	if (results->args->json)
		print_json(out, results);
	else
		print_table(out, results);
}
