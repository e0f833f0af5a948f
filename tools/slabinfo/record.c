/* SPDX-License-Identifier: MIT */
/*
 * --record: a line for each sample (recording.h) until a signal ends it, or the process
 * ends. Signals come in only while it sleeps or waits for an answer, so that lines are
 * whole.
 */
#include "recording.h"
#include "select.h"
#include "top.h"
#include "views.h"

#include <math.h>
#include <poll.h>
#include <sys/pidfd.h>

#define INTERVAL_DEFAULT 1.0
#define ENDING_MS 1000 /* a process that does not answer may be about to end */

static volatile sig_atomic_t interrupted;

struct record {
	const struct options *options;
	struct process *process;
	struct recording recording;
	double interval;
	int pidfd; /* readable when the process has ended; -1: the kernel has none */
	size_t samples;
	bool silent; /* it did not answer last time, which was reported */
	bool screen; /* there is a terminal to show progress on */
	sigset_t outside;
};

/* Signals */

static void interrupt(int signal)
{
	(void)signal;
	interrupted = 1;
}

/* From here on they wait until they are let in with `outside`. */
static void hold_signals(struct record *record)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action = {.sa_handler = interrupt};
	sigset_t held;

	sigemptyset(&held);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		sigaddset(&held, signals[i]);
		sigaction(signals[i], &action, NULL);
	}
	sigprocmask(SIG_BLOCK, &held, &record->outside);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigdelset(&record->outside, signals[i]);
}

/* Sleeping */

/* Until then, or a signal, or the end of the process, which is returned. */
static bool sleep_until(struct record *record, double until)
{
	struct pollfd end = {record->pidfd, POLLIN, 0};
	const double left = fmax(until - top_clock(), 0);
	const struct timespec time = {(time_t)left, (long)(fmod(left, 1) * 1e9)};

	return ppoll(&end, 1, &time, &record->outside) == 1;
}

static bool has_ended(const struct record *record, int patience_ms)
{
	struct pollfd end = {record->pidfd, POLLIN, 0};

	if (record->pidfd >= 0)
		return poll(&end, 1, patience_ms) == 1;
	return kill(record->process->pid, 0) != 0 && errno == ESRCH;
}

/* Samples */

static void show_progress(const struct record *record, const struct model *model)
{
	uint64_t objects = 0, bytes = 0;
	char objects_text[SIZE_TEXT], bytes_text[SIZE_TEXT];

	if (!record->screen)
		return;
	for (size_t i = 0; i < model->count; i++) {
		objects += model->caches[i].objects;
		bytes += model->caches[i].slab_bytes;
	}
	fprintf(stderr, "\r%zu sample%s, %zu caches, %s objects, %s in slabs\033[K",
		record->samples, plural(record->samples), model->count,
		count_text(objects_text, objects), size_text(bytes_text, bytes));
}

static void leave_progress(const struct record *record)
{
	if (record->screen && record->samples)
		fputc('\n', stderr);
}

/* The statistics, while signals are let in; why there are none comes as `why`. */
static bool take(struct record *record, struct model *model, char *why, unsigned size)
{
	sigset_t held;
	bool taken;

	*why = '\0';
	fail_capture(why, size);
	sigprocmask(SIG_SETMASK, &record->outside, &held);
	taken = select_take(record->options, record->process, model);
	sigprocmask(SIG_SETMASK, &held, NULL);
	fail_capture(NULL, 0);
	return taken;
}

/* How a recording ends that its user did not end. */
static int report_end(const struct record *record)
{
	leave_progress(record);
	fail("process %d (%s) has ended; %zu sample%s %s in %s", record->process->pid,
	     record->process->command, record->samples, plural(record->samples),
	     record->samples == 1 ? "is" : "are", record->recording.path);
	return record->samples ? EXIT_DONE : EXIT_USAGE;
}

/* It may answer next time; only the first sample must succeed. Returns -1 to go on. */
static int report_silence(struct record *record, const char *why)
{
	if (interrupted)
		return -1;
	if (has_ended(record, ENDING_MS))
		return report_end(record);
	if (!record->silent)
		leave_progress(record);
	if (!record->samples || !record->silent)
		fail("%s", why);
	record->silent = true;
	return record->samples ? -1 : EXIT_USAGE;
}

/* Returns -1 to go on, or the exit status. */
static int record_sample(struct record *record)
{
	const struct options *options = record->options;
	struct model model;
	char why[512];
	int status = -1;

	if (!take(record, &model, why, sizeof(why)))
		return report_silence(record, why);
	record->silent = false;
	if (*why) { /* that its memory is read from now on */
		leave_progress(record);
		fail("%s", why);
	}
	if (options->pattern && model.count == 0 && record->samples == 0) {
		status = select_fail(options, record->process);
	} else if (!recording_append(&record->recording, record->process, &model,
				     record->interval)) {
		status = EXIT_USAGE;
	} else {
		record->samples++;
		show_progress(record, &model);
	}
	model_free(&model);
	return status;
}

static int record_samples(struct record *record)
{
	double moment = top_clock();
	int status = -1;

	while (status < 0) {
		status = record_sample(record);
		if (status >= 0)
			break;
		if (interrupted ||
		    (record->options->lines && record->samples >= record->options->lines)) {
			leave_progress(record);
			return EXIT_DONE;
		}
		/* Of samples that were missed none is made up for. */
		moment = fmax(moment + record->interval, top_clock());
		if (sleep_until(record, moment))
			return report_end(record);
		if (interrupted) {
			leave_progress(record);
			return EXIT_DONE;
		}
	}
	return status;
}

int view_record(const struct options *options, struct process *process)
{
	struct record record = {.options = options, .process = process, .pidfd = -1};
	int status;

	record.interval = options->interval > 0 ? options->interval : INTERVAL_DEFAULT;
	record.screen = isatty(STDERR_FILENO);
	if (!recording_open(&record.recording, options->file))
		return EXIT_USAGE;
	record.pidfd = pidfd_open(process->pid, 0);
	hold_signals(&record);
	status = record_samples(&record);
	if (record.pidfd >= 0)
		close(record.pidfd);
	recording_close(&record.recording);
	return status;
}
