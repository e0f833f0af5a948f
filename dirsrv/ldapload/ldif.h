/* SPDX-License-Identifier: MIT */
/* A directory to test with, as LDIF (RFC 2849). */
#ifndef LDAPLOAD_LDIF_H
#define LDAPLOAD_LDIF_H

#include "args.h"

#include <stdio.h>

/*
 * ldif_write: args->make_ldif entries, below those that args->base names. The same arguments give
 * the same bytes. Returns 0, or -1 with what is wrong in `error`.
 */
int ldif_write(FILE *out, const struct args *args, char *error, size_t size);

/* ldif_print: one attribute, in base64 if its value needs that. */
void ldif_print(FILE *out, const char *name, const char *value);

#endif /* LDAPLOAD_LDIF_H */
