/* SPDX-License-Identifier: MIT */
/*
 * Reports of misuse and corruption.
 *
 * A report goes to stderr, or is appended to the file that SLAB_LOG names, in
 * one write; after it the program goes on with the damage contained, unless
 * SLAB_DEBUG_ABORT=1.
 */
#ifndef SLAB_DEBUG_H
#define SLAB_DEBUG_H

#include <slab/slab.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * slab_set_report_handler: call `handler` with every report's text instead of
 * writing it; NULL restores the default. The text is valid during the call.
 * The handler may be called by any thread, with locks of libslab held: it must
 * not call libslab. Returns nothing; affects the whole process.
 */
SLAB_API void slab_set_report_handler(void (*handler)(const char *report, void *arg), void *arg);

#ifdef __cplusplus
}
#endif

#endif /* SLAB_DEBUG_H */
