/* SPDX-License-Identifier: MIT */
/* The tables, for the files of this room. */
#ifndef LDAPD_SCHEMA_TABLES_H
#define LDAPD_SCHEMA_TABLES_H

#include "schema/schema.h"

extern const struct schema_type schema_types[];
extern const size_t schema_type_count;
extern const struct schema_class schema_classes[];
extern const size_t schema_class_count;

#endif /* LDAPD_SCHEMA_TABLES_H */
