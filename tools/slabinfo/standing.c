/* SPDX-License-Identifier: MIT */
/* Stopping a process for a moment, and saying so. */
#include "standing.h"
#include "freeze.h"
#include "views.h"

#define SHOW_EVERY_US 100000

static bool shown;

void progress_show(const char *what, uint64_t done, uint64_t all)
{
	static uint64_t last_us;
	const uint64_t now_us = freeze_now();
	char size[SIZE_TEXT];

	if (!isatty(STDERR_FILENO) || (now_us - last_us < SHOW_EVERY_US && (!all || done < all)))
		return;
	last_us = now_us;
	shown = true;
	if (all)
		fprintf(stderr, "\r\033[K%s: %" PRIu64 " %%", what, done * 100 / all);
	else if (done)
		fprintf(stderr, "\r\033[K%s: %s", what, size_text(size, done));
	else
		fprintf(stderr, "\r\033[K%s", what);
}

void progress_clear(void)
{
	if (shown)
		fputs("\r\033[K", stderr);
	shown = false;
}

bool standing_take(const struct options *options, struct process *process,
		   struct snapshot *snapshot)
{
	bool taken;

	*snapshot = (struct snapshot){
		.limit_s = options->stop_limit != 0 ? options->stop_limit : STOP_LIMIT_S,
		.progress = progress_show,
	};
	taken = attach_stand_still(process, snapshot);
	progress_clear();
	return taken;
}

const char *standing_text(char text[STANDING_TEXT], const struct snapshot *snapshot)
{
	char size[SIZE_TEXT];

	text[0] = '\0';
	if (snapshot->still_us)
		snprintf(text, STANDING_TEXT, " stood still for %.1f ms while %s were copied",
			 (double)snapshot->still_us / 1000, size_text(size, snapshot->bytes));
	return text;
}
