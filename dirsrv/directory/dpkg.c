/* SPDX-License-Identifier: MIT */
/*
 * The Debian package catalogue as a directory: every installed package is
 *
 *   cn=PACKAGE,ou=SECTION,dc=packages
 *
 * with its true fields as attributes ("Installed-Size" is installedSize), each
 * dependency as its own value. Packages that may be installed for several
 * architectures are named PACKAGE:ARCHITECTURE, as dpkg names them.
 */
#include "source.h"

#define SUFFIX "dc=packages"
#define SKIP_FIELD "this field is skipped"
#define SKIP_PACKAGE "this package is skipped"
#define ACCEPTED_FIELD "'Field: value'"

/* The fields that say how the entry is named. */
struct naming {
	char package[64];
	char section[64];
	char architecture[32];
	bool same; /* one per architecture may be installed */
	bool installed;
};

/* One field of a stanza. */
struct field {
	const char *name;
	size_t name_length;
	const char *value;
};

/* Fields whose value is a list of values of their own, with this separator. */
static const char *separator_of(const struct field *field)
{
	static const char *const by_comma[] = {"Depends",  "Pre-Depends", "Recommends", "Suggests",
					       "Provides", "Conflicts",   "Breaks",     "Replaces",
					       "Enhances", "Tag",         "Built-Using"};

	if (field->name_length == 9 && memcmp(field->name, "Conffiles", 9) == 0)
		return "\n";
	for (size_t i = 0; i < sizeof(by_comma) / sizeof(by_comma[0]); i++)
		if (strlen(by_comma[i]) == field->name_length &&
		    memcmp(field->name, by_comma[i], field->name_length) == 0)
			return ",\n";
	return NULL;
}

/* "Installed-Size" -> "installedSize". */
static size_t type_of(const struct field *field, char type[ATTRIBUTE_TYPE_MAX + 1])
{
	size_t used = 0;
	bool upper = false;

	for (size_t i = 0; i < field->name_length && used < ATTRIBUTE_TYPE_MAX; i++) {
		unsigned char c = (unsigned char)field->name[i];

		if (c != '-') {
			if (upper)
				c = (unsigned char)toupper(c);
			else if (!used)
				c = (unsigned char)tolower(c);
			type[used++] = (char)c;
		}
		upper = c == '-';
	}
	type[used] = '\0';
	return used;
}

static void add_values(struct record *record, const struct field *field)
{
	char type[ATTRIBUTE_TYPE_MAX + 1];
	size_t type_length = type_of(field, type);
	const char *separator = separator_of(field);
	const char *at = field->value;

	if (!separator) {
		record_add(record, type, type_length, at, strlen(at));
		return;
	}
	while (*at) {
		size_t length;

		at += strspn(at, separator);
		at += strspn(at, " ");
		length = strcspn(at, separator);
		if (length)
			record_add(record, type, type_length, at, length);
		at += length;
	}
}

static bool is_field(const struct field *field, const char *name)
{
	return strlen(name) == field->name_length &&
	       strncasecmp(field->name, name, field->name_length) == 0;
}

/* Remember the fields that name the entry. */
static void note_naming(struct naming *naming, const struct field *field)
{
	if (is_field(field, "Package"))
		snprintf(naming->package, sizeof(naming->package), "%s", field->value);
	else if (is_field(field, "Section"))
		snprintf(naming->section, sizeof(naming->section), "%s", field->value);
	else if (is_field(field, "Architecture"))
		snprintf(naming->architecture, sizeof(naming->architecture), "%s", field->value);
	else if (is_field(field, "Multi-Arch"))
		naming->same = strcmp(field->value, "same") == 0;
	else if (is_field(field, "Status"))
		naming->installed = strstr(field->value, " installed") != NULL;
}

/* All fields of a stanza whose first line has been read. */
static void read_stanza(struct source *source, struct record *record, struct naming *naming)
{
	record->line = source->line.number;
	do {
		struct field field = {.name = source->line.text};
		const char *colon = strchr(field.name, ':');

		if (!colon || colon == field.name) {
			source_bad(source, source->line.number, SKIP_FIELD,
				   "no 'Field:' in the line", ACCEPTED_FIELD);
			continue;
		}
		field.name_length = (size_t)(colon - field.name);
		field.value = colon + 1 + strspn(colon + 1, " ");
		note_naming(naming, &field);
		add_values(record, &field);
	} while (source_read_line(source, '\n') && source->line.length);
}

/* '+' has a meaning in a DN: "g++" is written "g\+\+". */
static void escape(char *out, size_t size, const char *text)
{
	size_t used = 0;

	for (; *text && used + 3 < size; text++) {
		if (strchr("+,;<>\\\"#=", *text))
			out[used++] = '\\';
		out[used++] = *text;
	}
	out[used] = '\0';
}

static void name_package(struct record *record, const struct naming *naming)
{
	char name[128], rdn[256], section[128], dn[512];
	int length;

	snprintf(name, sizeof(name), "%s%s%s", naming->package, naming->same ? ":" : "",
		 naming->same ? naming->architecture : "");
	escape(rdn, sizeof(rdn), name);
	escape(section, sizeof(section), naming->section);
	length = snprintf(dn, sizeof(dn), "cn=%s,ou=%s," SUFFIX, rdn, section);
	record_set_dn(record, dn, (size_t)length);
	record_add(record, "objectClass", 11, "top", 3);
	record_add(record, "objectClass", 11, "debianPackage", 13);
	record_add(record, "cn", 2, name, strlen(name));
}

static void container(struct record *record, const char *dn, const char *class, const char *type,
		      const char *name)
{
	record_clear(record);
	record_set_dn(record, dn, strlen(dn));
	record_add(record, "objectClass", 11, "top", 3);
	record_add(record, "objectClass", 11, class, strlen(class));
	record_add(record, type, 2, name, strlen(name));
}

/* True when the section's entry has been made before; notes it otherwise. */
static bool section_known(struct source *source, const char *section)
{
	char(*grown)[64];

	for (size_t i = 0; i < source->section_count; i++)
		if (strcmp(source->sections[i], section) == 0)
			return true;
	grown = realloc(source->sections, (source->section_count + 1) * sizeof(*grown));
	if (!grown) {
		fprintf(stderr, "directory: out of memory while reading %s\n", source->path);
		exit(1);
	}
	source->sections = grown;
	snprintf(grown[source->section_count++], sizeof(*grown), "%s", section);
	return false;
}

/* Let the section's entry go first and keep the package for the next call. */
static void section_first(struct source *source, struct record *record, const char *section)
{
	struct record package = *record;
	char dn[256], escaped[128];

	*record = source->pending;
	source->pending = package;
	escape(escaped, sizeof(escaped), section);
	snprintf(dn, sizeof(dn), "ou=%s," SUFFIX, escaped);
	container(record, dn, "organizationalUnit", "ou", section);
}

/* The next stanza of an installed package. */
static enum source_status next_package(struct source *source, struct record *record)
{
	while (source_read_line(source, '\n')) {
		struct naming naming = {.section = "unknown"};

		record_clear(record);
		if (!source->line.length)
			continue;
		read_stanza(source, record, &naming);
		if (!naming.package[0])
			source_bad(source, record->line, SKIP_PACKAGE,
				   "a stanza without 'Package:'", "one 'Package:' per stanza");
		if (!naming.package[0] || !naming.installed)
			continue;
		name_package(record, &naming);
		if (!section_known(source, naming.section))
			section_first(source, record, naming.section);
		return SOURCE_RECORD;
	}
	return SOURCE_END;
}

enum source_status dpkg_next(struct source *source, struct record *record)
{
	if (!source->suffix_done) {
		source->suffix_done = true;
		container(record, SUFFIX, "domain", "dc", "packages");
		return SOURCE_RECORD;
	}
	if (source->pending.count) {
		struct record package = source->pending;

		source->pending = *record;
		*record = package;
		record_clear(&source->pending);
		return SOURCE_RECORD;
	}
	return next_package(source, record);
}
