/* SPDX-License-Identifier: MIT */
/* generalizedTime: reading it, the present time. */
#include "schema/time.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* The most digits of a fraction that count. */
#define FRACTION_MAX 9
#define BILLION 1000000000

struct text {
	const char *at;
	const char *end;
};

/* Read n digits; -1: there are fewer. */
static int digits(struct text *text, int n)
{
	int number = 0;

	for (; n; n--, text->at++) {
		if (text->at == text->end || *text->at < '0' || *text->at > '9')
			return -1;
		number = number * 10 + (*text->at - '0');
	}
	return number;
}

static bool digit_follows(const struct text *text)
{
	return text->at < text->end && *text->at >= '0' && *text->at <= '9';
}

/* Read ".25" or ",25" in billionths; 0 without one; -1: no digit follows. */
static long fraction(struct text *text)
{
	long billionths = 0, unit = BILLION / 10;

	if (text->at == text->end || (*text->at != '.' && *text->at != ','))
		return 0;
	text->at++;
	if (!digit_follows(text))
		return -1;
	for (; digit_follows(text); text->at++, unit /= 10)
		billionths += (*text->at - '0') * unit;
	return billionths;
}

/* Read "Z" or "+0130" into seconds east of UTC. */
static bool zone(struct text *text, long *ret_east)
{
	int hours, minutes = 0;
	char sign;

	*ret_east = 0;
	if (text->at == text->end)
		return false;
	sign = *text->at++;
	if (sign == 'Z' || sign == 'z')
		return text->at == text->end;
	hours = digits(text, 2);
	if (digit_follows(text))
		minutes = digits(text, 2);
	*ret_east = (hours * 60L + minutes) * 60 * (sign == '-' ? -1 : 1);
	return (sign == '+' || sign == '-') && hours >= 0 && hours < 24 && minutes >= 0 &&
	       minutes < 60 && text->at == text->end;
}

/* Read all; *ret_rest is the fraction of a second in billionths. */
static bool read_time(struct text *text, struct tm *tm, long *ret_rest)
{
	long unit = 3600, part, east;
	long long rest;

	tm->tm_year = digits(text, 4) - 1900;
	tm->tm_mon = digits(text, 2) - 1;
	tm->tm_mday = digits(text, 2);
	tm->tm_hour = digits(text, 2);
	if (tm->tm_year < -1900 || tm->tm_mon < 0 || tm->tm_mon > 11 || tm->tm_mday < 1 ||
	    tm->tm_mday > 31 || tm->tm_hour < 0 || tm->tm_hour > 23)
		return false;
	if (digit_follows(text)) {
		tm->tm_min = digits(text, 2);
		unit = 60;
	}
	if (unit == 60 && digit_follows(text)) {
		tm->tm_sec = digits(text, 2);
		unit = 1;
	}
	part = fraction(text);
	if (tm->tm_min < 0 || tm->tm_min > 59 || tm->tm_sec < 0 || tm->tm_sec > 60 || part < 0 ||
	    !zone(text, &east))
		return false;
	rest = (long long)part * unit;
	tm->tm_sec += (int)(rest / BILLION - east);
	*ret_rest = (long)(rest % BILLION);
	return true;
}

bool time_normalize(struct dirsrv_bytes value, struct buffer *out)
{
	struct text text = {.at = value.data, .end = (const char *)value.data + value.length};
	struct tm tm = {0};
	char normal[64];
	time_t seconds;
	long rest;
	int n;

	if (!value.length || !read_time(&text, &tm, &rest))
		return false;
	seconds = timegm(&tm);
	gmtime_r(&seconds, &tm);
	n = snprintf(normal, sizeof(normal), "%04d%02d%02d%02d%02d%02d", tm.tm_year + 1900,
		     tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
	if (rest) {
		n += snprintf(normal + n, sizeof(normal) - (size_t)n, ".%0*ld", FRACTION_MAX, rest);
		while (normal[n - 1] == '0')
			n--;
	}
	buffer_append(out, normal, (size_t)n);
	return !out->failed;
}

void time_now(char out[TIME_TEXT_SIZE])
{
	time_t seconds = time(NULL);
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(out, TIME_TEXT_SIZE, "%Y%m%d%H%M%SZ", &tm);
}
