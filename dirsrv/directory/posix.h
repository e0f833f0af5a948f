/* SPDX-License-Identifier: MIT */
/* The C library and POSIX, for all files of the example directory. */
#pragma once

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
