/* SPDX-License-Identifier: MIT */
/*
 * The HTTP side: /metrics, /-/healthy and a page at /. It has no thread of its own:
 * the caller waits for http_fd() and then calls http_step().
 */
#pragma once

#include "scrape.h"
#include "settings.h"

struct http;

/* http_open: listen. NULL after an error message by fail(). */
struct http *http_open(const struct settings *settings, struct scrape *scrape);
void http_close(struct http *http);

/* http_url: the URL of the metrics, with the actual port. */
const char *http_url(const struct http *http);

/* http_fd: the descriptor to wait for (input), and the most milliseconds to wait (-1: no
 * limit). http_step: serve all requests. http_answer: a scrape has ended; waiting requests
 * get its result with the next step. */
int http_fd(const struct http *http, int *timeout);
void http_step(struct http *http);
void http_answer(struct http *http);
