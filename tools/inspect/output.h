/* SPDX-License-Identifier: MIT */
/* Writing a file so that it is either complete or not there. */
#pragma once

#include "posix.h"

/*
 * output_write: write these bytes to the file `path`; "-" is standard output. They are written to
 * a temporary file in the same directory, which is then renamed: an older file stays until the new
 * one is complete. false after an error message by fail().
 */
bool output_write(const char *path, const char *text, size_t size);
