/* SPDX-License-Identifier: MIT */
/* Steps and labels of the axes of plots: numbers, bytes, and local times. */
#include "plot.h"

#include <math.h>

#define SECOND UINT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

/* The largest power of the base up to a number, and which power that is. */
static double unit_of(double number, double base, size_t *ret_power)
{
	double unit = 1;

	for (*ret_power = 0; *ret_power < 4 && number >= unit * base; ++*ret_power)
		unit *= base;
	return unit;
}

double axis_step(double most, unsigned ticks, bool is_bytes)
{
	size_t power;
	const double unit = is_bytes ? unit_of(most, 1024, &power) : 1;
	const double least = unit > 1 ? 0.01 : 1;
	double decade = pow(10, floor(log10(fmax(most / unit / ticks, least)))), step = decade;

	for (unsigned i = 0; step * unit * ticks < most; i++)
		step = (i % 3 == 0 ? 2 : i % 3 == 1 ? 5 : 10) * decade;
	return step * unit;
}

const char *axis_number(char text[AXIS_TEXT], double number, double step, bool is_bytes)
{
	static const char *const prefixes[] = {"", "K", "M", "G", "T"};
	size_t power;
	const double unit = unit_of(number, is_bytes ? 1024 : 1000, &power);

	/* A tick that is no multiple of its unit shows the part that is. */
	snprintf(text, AXIS_TEXT, "%.*f%s%s", step >= unit ? 0 : (int)ceil(log10(unit / step)),
		 number / unit, prefixes[power], is_bytes && power ? "iB" : "");
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
