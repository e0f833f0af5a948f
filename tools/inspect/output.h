/* SPDX-License-Identifier: MIT */
/* Files that are complete or not there. */
#ifndef INSPECT_OUTPUT_H
#define INSPECT_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * output_write: make `path` a file of these bytes; "-" is standard output. They are
 * written to a file beside it, which then takes its name, so that one that was there
 * before stays until the new one is complete. False after reporting with fail().
 */
bool output_write(const char *path, const char *text, size_t size);

#endif /* INSPECT_OUTPUT_H */
