/* SPDX-License-Identifier: MIT */
/*
 * One child finds the processes, then one child for each process queries it, at most
 * SCRAPE_FDS at a time. The memory of a process without a socket shows whether it has caches.
 * A hostile process can make that search endless, so the child that queries the process does
 * it, not the one that finds processes. A child converts an answer to a structure of bounded
 * size, so the exporter reads little data, whatever the process sent. A query fails if the
 * process does not answer in time or in a known format: the exporter reports this once on
 * stderr, and again only after a query has succeeded in between.
 */
#include "scrape.h"
#include "job.h"
#include "scrape_child.h"
#include "known_types.h"

/* Answers younger than this are shared. */
#define FRESH_MS 1000

/* A process without caches is not looked at again for so long. */
#define STRANGER_MS 60000

struct stranger {
	pid_t pid;
	uint64_t started;
	int64_t seen;
};

struct query {
	struct question question;
	struct job job;
};

struct scrape {
	const struct settings *settings;
	enum stage {
		STAGE_IDLE,
		STAGE_SEARCH,
		STAGE_QUERY,
	} stage;
	int64_t started, ended; /* ended: of the last one, 0: none yet */
	uint64_t scrapes;

	struct job search;
	struct found *found;
	size_t found_count, next; /* next: the process that is queried next */
	size_t strangers;         /* processes found to have no caches */
	struct stranger stranger[MOST_FOUND]; /* the last ones, by the remainder of their pids */
	struct query queries[SCRAPE_FDS];
	struct metrics *metrics; /* of the processes that answered, with room for a sum */
	size_t metrics_count;
	pid_t *failed, *failed_before; /* of found_count entries at most */
	size_t failed_count, failed_before_count;

	/* The results of the last scrape. */
	struct metrics *answer;
	size_t answer_count, processes, folded, failures;
	double duration; /* seconds */
};

/* --- failures -------------------------------------------------------------- */

/* A process that has ended in the meantime is not an error. */
static void note_failure(struct scrape *scrape, const struct found *process, const char *why)
{
	if (kill(process->pid, 0) != 0 && errno == ESRCH)
		return;
	scrape->failed[scrape->failed_count++] = process->pid;
	for (size_t i = 0; i < scrape->failed_before_count; i++) {
		if (scrape->failed_before[i] == process->pid)
			return;
	}
	fail("%s", why);
}

static void note_late(struct scrape *scrape, const struct found *process)
{
	char why[SENTENCE];

	snprintf(why, sizeof(why), "process %d (%s) did not answer within %g seconds",
		 (int)process->pid, process->command, scrape->settings->timeout_ms / 1000.0);
	note_failure(scrape, process, why);
	known_types_give_up(process->pid);
}

static void note_failed_query(struct scrape *scrape, const struct found *process,
			      const char *because)
{
	char why[SENTENCE];

	snprintf(why, sizeof(why), "process %d (%s) could not be queried: %s", (int)process->pid,
		 process->command, because);
	note_failure(scrape, process, why);
}

/* --- processes without caches ------------------------------------------------ */

static struct stranger *stranger_at(struct scrape *scrape, pid_t pid)
{
	return &scrape->stranger[(size_t)pid % MOST_FOUND];
}

static void note_stranger(struct scrape *scrape, const struct found *process)
{
	scrape->strangers++;
	*stranger_at(scrape, process->pid) =
		(struct stranger){process->pid, process->started, now_ms()};
}

static bool is_stranger(struct scrape *scrape, const struct found *process)
{
	const struct stranger *known = stranger_at(scrape, process->pid);

	return process->unseen && known->pid == process->pid &&
	       known->started == process->started && now_ms() - known->seen < STRANGER_MS;
}

/* --- steps ------------------------------------------------------------------- */

/* The caches behind a struct metrics, and the names of types behind them; false: the array is
 * incomplete, or there is no memory. */
static bool take_array(struct metrics *metrics, const char *data, size_t length)
{
	size_t caches = metrics->count * sizeof(metrics->cache[0]);

	metrics->cache = NULL;
	if (length < caches)
		return false;
	metrics->cache = malloc(caches + 1);
	if (!metrics->cache)
		return false;
	memcpy(metrics->cache, data, caches);
	known_types_learn(data + caches, length - caches);
	return true;
}

/* The metrics in an answer, without its first byte; false: it has none. */
static bool take_numbers(struct scrape *scrape, const char *data, size_t length)
{
	struct metrics *metrics = &scrape->metrics[scrape->metrics_count];

	if (length < sizeof(*metrics))
		return false;
	memcpy(metrics, data, sizeof(*metrics));
	if (!take_array(metrics, data + sizeof(*metrics), length - sizeof(*metrics))) {
		metrics_free(metrics);
		return false;
	}
	scrape->metrics_count++;
	return true;
}

static void take_answer(struct scrape *scrape, const struct query *query)
{
	const struct job *job = &query->job;
	size_t length = job->length ? job->length - 1 : 0;
	char message[SENTENCE];

	if (job->length && job->data[0] == ANSWER_NOTHING) {
		note_stranger(scrape, &query->question.process);
	} else if (job->length && job->data[0] == ANSWER_SENTENCE && length < sizeof(message)) {
		memcpy(message, job->data + 1, length);
		message[length] = '\0';
		note_failure(scrape, &query->question.process, message);
	} else if (!length || !take_numbers(scrape, job->data + 1, length)) {
		note_failed_query(scrape, &query->question.process,
				  "the process that queried it ended early");
	}
}

/* The most bytes that a querying child may write. */
static size_t most_bytes(const struct settings *settings)
{
	return 1 + TYPES_BYTES_MAX + sizeof(struct metrics) +
	       (settings->max_caches + 1) * sizeof(struct metrics_cache);
}

/* Start queries in all free slots. Returns whether any query runs. */
static bool reclaim_next(struct scrape *scrape)
{
	bool busy = false;

	for (size_t i = 0; i < SCRAPE_FDS; i++) {
		struct query *query = &scrape->queries[i];

		if (!query->job.child && scrape->next < scrape->found_count) {
			query->question.settings = scrape->settings;
			query->question.process = scrape->found[scrape->next++];
			if (!job_start(&query->job, query_process, &query->question,
				       most_bytes(scrape->settings)))
				note_failed_query(scrape, &query->question.process,
						  strerror(errno));
		}
		busy |= query->job.child != 0;
	}
	return busy || scrape->next < scrape->found_count;
}

static void step_query(struct scrape *scrape)
{
	for (size_t i = 0; i < SCRAPE_FDS; i++) {
		struct query *query = &scrape->queries[i];

		if (!query->job.child || job_read(&query->job))
			continue;
		take_answer(scrape, query);
		job_end(&query->job);
	}
}

/* The list of processes is complete: allocate memory for their answers. */
static bool begin_query(struct scrape *scrape)
{
	size_t count = scrape->search.length / sizeof(struct found);

	scrape->found = malloc(count * sizeof(struct found) + 1);
	scrape->metrics = calloc(count + 1, sizeof(*scrape->metrics));
	scrape->failed = calloc(count + 1, sizeof(*scrape->failed));
	if (!scrape->found || !scrape->metrics || !scrape->failed)
		return false;
	scrape->found_count = 0;
	for (size_t i = 0; i < count; i++) {
		struct found *found = &scrape->found[scrape->found_count];

		memcpy(found, scrape->search.data + i * sizeof(*found), sizeof(*found));
		scrape->found_count += !is_stranger(scrape, found);
	}
	scrape->next = scrape->strangers = 0;
	scrape->stage = STAGE_QUERY;
	return true;
}

static void free_answer(struct scrape *scrape)
{
	for (size_t i = 0; i < scrape->answer_count; i++)
		metrics_free(&scrape->answer[i]);
	free(scrape->answer);
	scrape->answer = NULL;
	scrape->answer_count = 0;
}

/* Count processes that have not answered or were not queried. */
static void give_up(struct scrape *scrape)
{
	for (size_t i = 0; i < SCRAPE_FDS; i++) {
		if (scrape->queries[i].job.child)
			note_late(scrape, &scrape->queries[i].question.process);
		job_end(&scrape->queries[i].job);
	}
	while (scrape->next < scrape->found_count)
		note_late(scrape, &scrape->found[scrape->next++]);
}

static void end_scrape(struct scrape *scrape)
{
	if (scrape->stage == STAGE_SEARCH)
		fail("the processes could not be found within %g seconds",
		     scrape->settings->timeout_ms / 1000.0);
	give_up(scrape);
	job_end(&scrape->search);
	free_answer(scrape);
	scrape->answer = scrape->metrics;
	scrape->answer_count = metrics_fold(scrape->metrics, scrape->metrics_count,
					    scrape->settings->max_processes, &scrape->folded);
	scrape->processes = scrape->found_count - scrape->strangers;
	scrape->failures = scrape->failed_count;
	scrape->ended = now_ms();
	scrape->duration = (double)(scrape->ended - scrape->started) / 1000;
	free(scrape->failed_before);
	scrape->failed_before = scrape->failed;
	scrape->failed_before_count = scrape->failed_count;
	free(scrape->found);
	scrape->found = NULL;
	scrape->metrics = NULL;
	scrape->failed = NULL;
	scrape->found_count = scrape->metrics_count = scrape->failed_count = scrape->next = 0;
	scrape->stage = STAGE_IDLE;
	scrape->scrapes++;
}

/* --- interface --------------------------------------------------------------- */

struct scrape *scrape_open(const struct settings *settings)
{
	struct scrape *scrape = calloc(1, sizeof(*scrape));

	if (scrape)
		scrape->settings = settings;
	return scrape;
}

void scrape_close(struct scrape *scrape)
{
	for (size_t i = 0; i < SCRAPE_FDS; i++)
		job_end(&scrape->queries[i].job);
	job_end(&scrape->search);
	for (size_t i = 0; i < scrape->metrics_count; i++)
		metrics_free(&scrape->metrics[i]);
	free(scrape->metrics);
	free_answer(scrape);
	free(scrape->found);
	free(scrape->failed);
	free(scrape->failed_before);
	free(scrape);
}

bool scrape_is_running(const struct scrape *scrape)
{
	return scrape->stage != STAGE_IDLE;
}

bool scrape_is_fresh(const struct scrape *scrape)
{
	return scrape->ended && now_ms() - scrape->ended < FRESH_MS;
}

void scrape_start(struct scrape *scrape)
{
	if (scrape_is_running(scrape))
		return;
	job_reap();
	scrape->started = now_ms();
	scrape->stage = STAGE_SEARCH;
	if (!job_start(&scrape->search, find_processes, scrape->settings,
		       MOST_FOUND * sizeof(struct found)))
		end_scrape(scrape);
}

size_t scrape_fds(const struct scrape *scrape, struct pollfd *fds, int *timeout)
{
	int64_t left = scrape->started + scrape->settings->timeout_ms - now_ms();
	size_t count = 0;

	*timeout = scrape_is_running(scrape) ? (int)(left > 0 ? left : 0) : -1;
	if (scrape->search.child)
		fds[count++] = (struct pollfd){.fd = scrape->search.fd, .events = POLLIN};
	for (size_t i = 0; i < SCRAPE_FDS; i++) {
		const struct job *job = &scrape->queries[i].job;

		if (job->child)
			fds[count++] = (struct pollfd){.fd = job->fd, .events = POLLIN};
	}
	return count;
}

bool scrape_step(struct scrape *scrape)
{
	bool is_late;

	if (!scrape_is_running(scrape))
		return false;
	is_late = now_ms() - scrape->started >= scrape->settings->timeout_ms;
	if (scrape->stage == STAGE_SEARCH && !job_read(&scrape->search)) {
		is_late |= !begin_query(scrape);
		job_end(&scrape->search);
	}
	if (scrape->stage == STAGE_QUERY) {
		step_query(scrape);
		if (!is_late && reclaim_next(scrape))
			return false;
		is_late = true;
	}
	if (is_late)
		end_scrape(scrape);
	return is_late;
}

/* --- the exporter's own numbers ---------------------------------------------- */

void scrape_write(const struct scrape *scrape, FILE *out, enum exposition exposition)
{
	static const struct family info = {"slab_exporter", FAMILY_INFO, NULL,
					   "Version of slab-exporter."};
	const struct {
		struct family family;
		double number;
	} own[] = {
		{{"slab_exporter_scrapes", FAMILY_COUNTER, NULL,
		  "Times that the processes were queried."},
		 (double)scrape->scrapes},
		{{"slab_exporter_scrape_duration_seconds", FAMILY_GAUGE, "seconds",
		  "How long it took to ask the processes the last time."},
		 scrape->duration},
		{{"slab_exporter_processes", FAMILY_GAUGE, NULL, "Processes that were found."},
		 (double)scrape->processes},
		{{"slab_exporter_failed_processes", FAMILY_GAUGE, NULL,
		  "Processes that were found and did not answer."},
		 (double)scrape->failures},
		{{"slab_exporter_folded_processes", FAMILY_GAUGE, NULL,
		  "Processes that are summed up under process=\"" METRICS_OTHER "\"."},
		 (double)scrape->folded},
	};

	openmetrics_head(out, exposition, &info);
	fputs("slab_exporter_info{version=\"" EXPORTER_VERSION "\"} 1\n", out);
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		openmetrics_number(out, exposition, &own[i].family, own[i].number);
	openmetrics_write(out, exposition, scrape->answer, scrape->answer_count);
	openmetrics_end(out, exposition);
}
