/* SPDX-License-Identifier: MIT */
/*
 * The values of the naming attribute: a range of numbers in a format, or the lines of a file. An
 * entry's DN is ATTRIBUTE=VALUE,BASE. A line may name another base, after a tab.
 */
#ifndef LDAPLOAD_VALUES_H
#define LDAPLOAD_VALUES_H

#include <stddef.h>
#include <stdint.h>

#define VALUE_MAX 256 /* bytes of a value, with its NUL */
#define DN_MAX 1024   /* bytes of a DN, with its NUL */

struct values {
	char prefix[VALUE_MAX / 2], suffix[VALUE_MAX / 4];
	unsigned width; /* digits at least */
	uint64_t first, count;
	char **lines; /* of a file; NULL: the range */
};

/*
 * values_parse: "user%06u:0-9999". values_read: the lines of a file; empty ones are left out.
 * Both return 0, or -1 with what is wrong in `error`. The program keeps the lines until it ends.
 */
int values_parse(struct values *values, const char *text, char *error, size_t size);
int values_read(struct values *values, const char *path, char *error, size_t size);

/* values_get: the value with that index, which is less than `count`. Returns the base that its line
 * names, or NULL. */
const char *values_get(const struct values *values, uint64_t index, char value[VALUE_MAX]);

/* dn_print: ATTRIBUTE=VALUE,BASE, with the value escaped as RFC 4514 says. Longer DNs are cut. */
void dn_print(char dn[DN_MAX], const char *attribute, const char *value, const char *base);

#endif /* LDAPLOAD_VALUES_H */
