/* SPDX-License-Identifier: MIT */
/* libslab_token.a: the operators new, for programs with a C++ library. */
#include "token_forward.h"

#define DECLARE(type, name, parameters, arguments) type name parameters;
TOKEN_ENTRIES_CXX(DECLARE)

FORWARD_ALL(TOKEN_ENTRIES_CXX)
