/* SPDX-License-Identifier: MIT */
/* The C library, POSIX and the numbers of LDAP, for all files of ldapload. */
#pragma once

#include <errno.h>
#include <ldap.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
