/* SPDX-License-Identifier: MIT */
/* Every bug's name, and the requests that bring it out. */
#include "bugs.h"

#include <stddef.h>

enum bug bug_chosen = BUG_NONE;

#define SCRIPT(...) ((const char *const[]){__VA_ARGS__, NULL})

const char *const everyday[] = {
	"1:put anna anna.berg@example.org\n",
	"1:put bert bert.holm@example.org\n",
	"1:put carl carl.lindqvist@mail.stockholm.south.example.org\n",
	"2:put dora dora.ek@example.org\n",
	"2:put emil emil.ask@example.org\n",
	"3:put fred fred.sjo@example.org\n",
	"3:get anna\n",
	NULL,
};

const char *const evening[] = {
	"3:del fred\n", "2:del emil\n", "2:del dora\n", "1:del carl\n",
	"1:del bert\n", "1:del anna\n", "2:del gert\n", NULL,
};

const struct bug_info bugs[BUG_COUNT] = {
	[BUG_NONE] = {"none", "no bug: the server as it should be", SCRIPT("1:get carl\n")},
	[BUG_OVERFLOW] = {"overflow", "a text is copied without room for its last byte",
			  SCRIPT("1:put dora dora.ek@mail.gothenburg.harbour-east.example.org\n",
				 "3:get anna\n")},
	[BUG_UNDERFLOW] = {"underflow", "the newline of a line that is empty is cut off",
			   SCRIPT("3:get an", "2:", "3:na\n", "4:", "3:get anna\n")},
	[BUG_USE_AFTER_FREE_WRITE] = {"use-after-free-write",
				      "an entry that was deleted is counted up",
				      SCRIPT("1:watch emil\n", "2:del emil\n", "2:put gert G\n",
					     "1:again\n", "2:stat gert\n")},
	[BUG_USE_AFTER_FREE_READ] = {"use-after-free-read",
				     "the text of an entry that was deleted is sent",
				     SCRIPT("1:watch emil\n", "2:del emil\n",
					    "2:put gert gert's secret\n", "1:again\n")},
	[BUG_DOUBLE_FREE] = {"double-free", "a request is released by the parser, and again",
			     SCRIPT("1:gett anna\n", "2:get bert\n", "1:get anna\n")},
	[BUG_DOUBLE_FREE_THREADS] = {"double-free-threads",
				     "a request is released by the worker, and by the listener",
				     SCRIPT("2:bye\n", "1:get anna\n")},
	[BUG_INVALID_FREE] = {"invalid-free", "a pointer is advanced, and freed",
			      SCRIPT("1:note           call anna\n", "1:get anna\n")},
	[BUG_WRONG_CACHE] = {"wrong-cache", "an entry is given to the cache of the requests",
			     SCRIPT("1:put root me\n")},
	[BUG_FOREIGN_MEMORY] = {"foreign-memory", "malloc's memory is given to slab_mfree()",
				SCRIPT("1:hello\n")},
	[BUG_LEAK] = {"leak", "a request that cannot be parsed is not released",
		      SCRIPT("1:gett anna\n", "2:gett bert\n")},
	[BUG_MALLOC_OVERFLOW] = {"malloc-overflow", "18 bytes are requested, 20 are written",
				 SCRIPT("1:note call the plumbers\n")},
	[BUG_SLAB_PADDING] = {"slab-padding", "a text is ended where the client says it ends",
			      SCRIPT("12:upload 5500\n")},
	[BUG_UNINITIALISED] = {"uninitialised", "an entry's counter starts with what was there",
			       SCRIPT("2:get emil\n", "2:del emil\n",
				      "1:put gert gert@example.org\n", "1:stat gert\n")},
	[BUG_OUT_OF_BOUNDS_READ] = {"out-of-bounds-read",
				    "as many bytes are sent back as the client says it sent",
				    SCRIPT("1:echo 5000 h", "2:put gert gert's sec", "1:i\n",
					   "2:ret\n")},
	[BUG_REALLOC_OVERFLOW] = {"realloc-overflow",
				  "a text is appended to, and its block resized afterwards",
				  SCRIPT("1:hello anna\n")},
	[BUG_DATA_RACE] = {"data-race", "a request is counted while the worker has it already",
			   SCRIPT("1:count\n")},
};
