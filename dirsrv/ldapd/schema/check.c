/* SPDX-License-Identifier: MIT */
/* What the classes of an entry demand and allow. */
#include <ldap.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "schema/tables.h"

/* The next word of a list; false: there is none. */
static bool next_word(const char **list, struct dirsrv_bytes *word)
{
	*list += strspn(*list, " ");
	word->data = *list;
	word->length = strcspn(*list, " ");
	*list += word->length;
	return word->length > 0;
}

static bool has_word(const char *list, struct dirsrv_bytes wanted)
{
	struct dirsrv_bytes word;

	while (next_word(&list, &word))
		if (bytes_equal_folded(word, wanted))
			return true;
	return false;
}

/* Class number i of an entry; false: there is none. *cls is NULL if the schema lacks it. */
static bool class_at(const struct schema_entry *entry, size_t i, const struct schema_class **cls,
		     struct dirsrv_bytes *name)
{
	*name = entry->value(entry->arg, "objectClass", i);
	*cls = name->data ? schema_class_find(name->data, name->length) : NULL;
	return name->data != NULL;
}

/* Complain about the first required type that is absent. */
static bool lacks(const struct schema_entry *entry, const struct schema_class *cls, char *message,
		  size_t size)
{
	for (; cls; cls = schema_class_sup(cls)) {
		const char *must = cls->must;
		struct dirsrv_bytes word;

		while (next_word(&must, &word)) {
			char type[64];

			snprintf(type, sizeof(type), "%.*s", (int)word.length,
				 (const char *)word.data);
			if (entry->value(entry->arg, type, 0).data)
				continue;
			snprintf(message, size, "object class '%s' requires attribute '%s'",
				 cls->name, type);
			return true;
		}
	}
	return false;
}

/* Whether one of the classes, all of them in the schema, allows a type. */
static bool allowed(const struct schema_entry *entry, struct dirsrv_bytes type)
{
	const struct schema_class *cls;
	struct dirsrv_bytes name;

	for (size_t i = 0; class_at(entry, i, &cls, &name); i++)
		for (; cls; cls = schema_class_sup(cls))
			if (has_word(cls->must, type) || has_word(cls->may, type))
				return true;
	return false;
}

static int check_allowed(const struct schema_entry *entry, char *message, size_t size)
{
	const struct schema_type *known, *last = NULL;
	const char *type;

	for (size_t i = 0; (type = entry->type(entry->arg, i)); i++, last = known) {
		known = schema_type_find(type, strlen(type));
		if (!known || known == last || known->flags & SCHEMA_OPERATIONAL ||
		    allowed(entry, bytes_of(known->name)))
			continue;
		snprintf(message, size, "attribute '%s' not allowed", known->name);
		return LDAP_OBJECT_CLASS_VIOLATION;
	}
	return LDAP_SUCCESS;
}

/* What the classes of an entry are. */
struct classes {
	size_t count;
	bool unknown; /* one is not in the schema */
	bool extensible; /* one is extensibleObject */
	const char *first;
	const struct schema_class *structural;
	bool conflict; /* two structural classes, none of which is derived from the other */
};

static void add_class(struct classes *classes, const struct schema_class *cls)
{
	classes->first = cls->name;
	classes->extensible |= strcmp(cls->name, "extensibleObject") == 0;
	if (cls->kind != SCHEMA_STRUCTURAL)
		return;
	if (!classes->structural || schema_class_is(cls, classes->structural))
		classes->structural = cls;
	else if (!schema_class_is(classes->structural, cls))
		classes->conflict = true;
}

static const char *wrong_classes(const struct classes *classes)
{
	if (!classes->count)
		return "no objectClass attribute";
	if (classes->unknown)
		return NULL;
	if (!classes->structural)
		return "no structural object class provided";
	return classes->conflict ? "invalid structural object class chain" : NULL;
}

int schema_check(const struct schema_entry *entry, const char **structural, char *message,
		 size_t size)
{
	struct classes classes = {0};
	const struct schema_class *cls;
	struct dirsrv_bytes name;
	const char *wrong;

	*structural = NULL;
	for (size_t i = 0; class_at(entry, i, &cls, &name); i++) {
		classes.count++;
		classes.unknown |= !cls;
		if (cls)
			add_class(&classes, cls);
	}
	wrong = wrong_classes(&classes);
	if (wrong) {
		snprintf(message, size, "%s", wrong);
		return LDAP_OBJECT_CLASS_VIOLATION;
	}
	*structural = classes.structural ? classes.structural->name : classes.first;
	for (size_t i = 0; class_at(entry, i, &cls, &name); i++)
		if (lacks(entry, cls, message, size))
			return LDAP_OBJECT_CLASS_VIOLATION;
	return classes.unknown || classes.extensible ? LDAP_SUCCESS
						     : check_allowed(entry, message, size);
}
