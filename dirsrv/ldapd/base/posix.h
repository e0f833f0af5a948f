/* SPDX-License-Identifier: MIT */
/* The C library, POSIX and the numbers of LDAP, for all files of ldapd. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <ldap.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>
