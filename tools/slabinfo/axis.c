/* SPDX-License-Identifier: MIT */
#include "axis.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>

#define SECOND UINT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

double axis_step(double most, unsigned ticks)
{
	double decade = pow(10, floor(log10(fmax(most / ticks, 1)))), step = decade;

	if (step * ticks < most)
		step = 2 * decade;
	if (step * ticks < most)
		step = 5 * decade;
	if (step * ticks < most)
		step = 10 * decade;
	return step;
}

const char *axis_number(char text[AXIS_TEXT], double number, double step)
{
	static const struct {
		double unit;
		const char *letter;
	} units[] = {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "K"}, {1, ""}};
	size_t i = 0;

	while (i + 1 < sizeof(units) / sizeof(units[0]) && number < units[i].unit)
		i++;
	/* A tick that is no multiple of its unit shows the part that is. */
	snprintf(text, AXIS_TEXT, "%.*f%s",
		 step >= units[i].unit ? 0 : (int)ceil(log10(units[i].unit / step)),
		 number / units[i].unit, units[i].letter);
	return text;
}

uint64_t axis_time_step(uint64_t span_ms, unsigned ticks)
{
	static const uint64_t steps[] = {
		1,           2,           5,           10,      20,         50,
		100,         200,         500,         SECOND,  2 * SECOND, 5 * SECOND,
		10 * SECOND, 15 * SECOND, 30 * SECOND, MINUTE,  2 * MINUTE, 5 * MINUTE,
		10 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR,    2 * HOUR,   3 * HOUR,
		6 * HOUR,    12 * HOUR,   DAY,         2 * DAY, 7 * DAY,    14 * DAY,
		30 * DAY,    60 * DAY,    120 * DAY};
	const size_t count = sizeof(steps) / sizeof(steps[0]);
	uint64_t step;

	for (size_t i = 0; i < count; i++) {
		if (span_ms / steps[i] <= ticks)
			return steps[i];
	}
	for (step = 365 * DAY; span_ms / step > ticks; step *= 2)
		;
	return step;
}

static struct tm local_time(uint64_t ms)
{
	time_t seconds = (time_t)(ms / SECOND);
	struct tm parts = {0};

	localtime_r(&seconds, &parts);
	return parts;
}

uint64_t axis_first_time(uint64_t ms, uint64_t step_ms)
{
	int64_t zone = local_time(ms).tm_gmtoff * (int64_t)SECOND;
	uint64_t local = ms + (uint64_t)zone;

	return (local + step_ms - 1) / step_ms * step_ms - (uint64_t)zone;
}

const char *axis_time(char text[AXIS_TEXT], uint64_t ms, uint64_t step_ms)
{
	struct tm parts = local_time(ms);
	char clock[AXIS_TEXT / 2];

	if (step_ms >= DAY) {
		strftime(text, AXIS_TEXT, "%Y-%m-%d", &parts);
	} else if (step_ms >= MINUTE) {
		strftime(text, AXIS_TEXT, "%H:%M", &parts);
	} else if (step_ms >= SECOND) {
		strftime(text, AXIS_TEXT, "%H:%M:%S", &parts);
	} else {
		strftime(clock, sizeof(clock), "%H:%M:%S", &parts);
		snprintf(text, AXIS_TEXT, "%s.%03u", clock, (unsigned)(ms % SECOND));
	}
	return text;
}
