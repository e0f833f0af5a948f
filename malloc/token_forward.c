/* SPDX-License-Identifier: MIT */
/* libslab_token.a: the functions of C. */
#include <malloc.h>

#include "token_forward.h"

__thread uint64_t slab_token_wrapped __attribute__((tls_model("initial-exec")));

FORWARD_ALL(TOKEN_ENTRIES_C)
