/* SPDX-License-Identifier: MIT */
/*
 * Values from their range or file, DNs from values; a directory as LDIF, about 400 bytes for a
 * person.
 */

#include "args.h"

#include <ldif.h>
#include <strings.h>

/* --- values and DNs ------------------------------------------------------------------------- */

#define WIDTH_MAX 20
#define RANGE_MAX UINT64_C(1000000000000)
#define RANGE_FORM "FORMAT:FIRST-LAST, where FORMAT has one %%u or %%06u, as in user%%06u:0-9999"

/* "%06u" at the beginning of text: its length, 0 if it is something else. */
static size_t parse_conversion(const char *text, unsigned *width)
{
	char *end = (char *)text + 1;

	*width = 0;
	if (text[1] == '0') {
		unsigned long n = strtoul(text + 1, &end, 10);

		if (n < 1 || n > WIDTH_MAX)
			return 0;
		*width = (unsigned)n;
	}
	return *end == 'u' ? (size_t)(end + 1 - text) : 0;
}

static int parse_number(const char *text, const char **end, uint64_t *number)
{
	char *after;

	if (*text < '0' || *text > '9')
		return -1;
	errno = 0;
	*number = strtoull(text, &after, 10);
	*end = after;
	return errno || *number >= RANGE_MAX ? -1 : 0;
}

/* "FIRST-LAST" */
static int parse_range(struct values *values, const char *text)
{
	uint64_t last;

	if (parse_number(text, &text, &values->first) || *text != '-' ||
	    parse_number(text + 1, &text, &last) || *text || last < values->first)
		return -1;
	values->count = last - values->first + 1;
	return 0;
}

static int parse_format(struct values *values, const char *text, const char *colon)
{
	const char *percent = memchr(text, '%', (size_t)(colon - text));
	size_t length = percent ? parse_conversion(percent, &values->width) : 0;
	const char *suffix = percent + length;

	if (length == 0 || suffix > colon || memchr(suffix, '%', (size_t)(colon - suffix)) ||
	    (size_t)(percent - text) >= sizeof(values->prefix) ||
	    (size_t)(colon - suffix) >= sizeof(values->suffix))
		return -1;
	memcpy(values->prefix, text, (size_t)(percent - text));
	memcpy(values->suffix, suffix, (size_t)(colon - suffix));
	return 0;
}

int values_parse(struct values *values, const char *text, char *error, size_t size)
{
	const char *colon = strrchr(text, ':');

	*values = (struct values){0};
	if (!colon || parse_format(values, text, colon) || parse_range(values, colon + 1)) {
		snprintf(error, size, "'%s' is no range of values; accepted: " RANGE_FORM, text);
		return -1;
	}
	return 0;
}

/* Keeps a line without its end. NULL, or what the file has that it must not have. */
static const char *add_line(struct values *values, const char *line)
{
	size_t length = strcspn(line, "\r\n"), value = strcspn(line, "\t\r\n");

	if (length == 0)
		return NULL;
	if (value == 0)
		return "a line without a value before the tab";
	if (value >= VALUE_MAX)
		return "a value longer than 255 bytes";
	if (length >= DN_MAX)
		return "a DN longer than 1023 bytes";
	if ((values->count & (values->count + 1)) == 0) { /* doubled when full: 1, 3, 7, … */
		char **lines = realloc(values->lines, (values->count * 2 + 1) * sizeof(*lines));

		if (!lines)
			return "more values than memory";
		values->lines = lines;
	}
	values->lines[values->count] = strndup(line, length);
	return values->lines[values->count++] ? NULL : "more values than memory";
}

int values_read(struct values *values, const char *path, char *error, size_t size)
{
	FILE *file = fopen(path, "re");
	const char *wrong = NULL;
	char *line = NULL;
	size_t capacity = 0;

	*values = (struct values){0};
	if (!file) {
		snprintf(error, size, "%s: %s", path, strerror(errno));
		return -1;
	}
	while (!wrong && getline(&line, &capacity, file) >= 0)
		wrong = add_line(values, line);
	if (!wrong && ferror(file))
		wrong = strerror(errno);
	else if (!wrong && values->count == 0)
		wrong = "no value; accepted: a value on each line";
	if (wrong)
		snprintf(error, size, "%s has %s", path, wrong);
	free(line);
	fclose(file);
	return wrong ? -1 : 0;
}

const char *values_get(const struct values *values, uint64_t index, char value[VALUE_MAX])
{
	const char *line, *tab;

	if (!values->lines) {
		snprintf(value, VALUE_MAX, "%s%0*llu%s", values->prefix, (int)values->width,
			 (unsigned long long)values->first + index, values->suffix);
		return NULL;
	}
	line = values->lines[index];
	tab = strchr(line, '\t');
	snprintf(value, VALUE_MAX, "%.*s", (int)strcspn(line, "\t"), line);
	return tab ? tab + 1 : NULL;
}

/* Must this character of a value have a backslash? */
static bool is_special(const char *value, const char *at)
{
	return strchr(",+\"\\<>;=", *at) || (at == value && (*at == ' ' || *at == '#')) ||
	       (at[1] == '\0' && *at == ' ');
}

void dn_print(char dn[DN_MAX], const char *attribute, const char *value, const char *base)
{
	char escaped[2 * VALUE_MAX], *to = escaped;

	for (const char *at = value; *at && to < escaped + sizeof(escaped) - 2; at++) {
		if (is_special(value, at))
			*to++ = '\\';
		*to++ = *at;
	}
	*to = '\0';
	snprintf(dn, DN_MAX, "%s=%s%s%s", attribute, escaped, *base ? "," : "", base);
}

/* --- LDIF ----------------------------------------------------------------------------------- */

static const char *const given_names[] = {"Ada",  "Barbara", "Edsger",   "Grace",
					  "Hedy", "Ken",     "Margaret", "Niklaus"};
#define GIVEN_NAMES (sizeof(given_names) / sizeof(*given_names))
#define TITLES 40
#define MANAGED 7 /* people with the same manager */

void ldif_print(FILE *out, const char *name, const char *value)
{
	char *line = ldif_put_wrap(LDIF_PUT_VALUE, name, value, strlen(value), LDIF_LINE_WIDTH_MAX);

	if (!line) {
		fputs("ldapload: no memory for a line of LDIF\n", stderr);
		exit(EXIT_FAILURE);
	}
	fputs(line, out);
	ber_memfree(line);
}

/* ---- the entries above ---- */

/* The class of an entry that is named by this type. */
static const char *class_of(const struct berval *type)
{
	static const struct {
		const char *type, *class;
	} known[] = {{"dc", "domain"},
		     {"ou", "organizationalUnit"},
		     {"o", "organization"},
		     {"c", "country"},
		     {"l", "locality"}};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strlen(known[i].type) == type->bv_len &&
		    strncasecmp(known[i].type, type->bv_val, type->bv_len) == 0)
			return known[i].class;
	return NULL;
}

static bool is_dc(LDAPRDN rdn)
{
	const char *class = class_of(&rdn[0]->la_attr);

	return class && strcmp(class, "domain") == 0;
}

/* The entry whose DN begins with dn[0]. */
static int print_above(FILE *out, LDAPRDN *dn, char *error, size_t size)
{
	const struct berval *type = &dn[0][0]->la_attr, *value = &dn[0][0]->la_value;
	const char *class = class_of(type);
	char *text = NULL, name[64], word[VALUE_MAX];

	if (!class || dn[0][1] || value->bv_len >= sizeof(word)) {
		snprintf(error, size,
			 "--make-ldif cannot write the entry of '%.*s' in the base; accepted: dc, "
			 "ou, o, c, l",
			 (int)type->bv_len, type->bv_val);
		return -1;
	}
	if (ldap_dn2str(dn, &text, LDAP_DN_FORMAT_LDAPV3) != LDAP_SUCCESS) {
		snprintf(error, size, "there is no memory for a DN");
		return -1;
	}
	snprintf(name, sizeof(name), "%.*s", (int)type->bv_len, type->bv_val);
	snprintf(word, sizeof(word), "%.*s", (int)value->bv_len, value->bv_val);
	ldif_print(out, "dn", text);
	fprintf(out, "objectClass: %s\n", class);
	ldif_print(out, name, word);
	fputc('\n', out);
	ldap_memfree(text);
	return 0;
}

/* From the suffix down to the base. dc=example,dc=com at the end is one entry, the suffix. */
static int print_base(FILE *out, const char *base, char *error, size_t size)
{
	LDAPDN dn = NULL;
	int count = 0, status = 0;

	if (ldap_str2dn(base, &dn, LDAP_DN_FORMAT_LDAPV3) != LDAP_SUCCESS || !dn) {
		snprintf(error, size, "'%s' is no DN; accepted: as in ou=People,dc=example,dc=com",
			 base);
		return -1;
	}
	while (dn[count])
		count++;
	for (count--; count > 0 && is_dc(dn[count]) && is_dc(dn[count - 1]);)
		count--;
	for (; count >= 0 && status == 0; count--)
		status = print_above(out, &dn[count], error, size);
	ldap_dnfree(dn);
	return status;
}

/* ---- people ---- */

/* An attribute, unless it is the naming one. */
static void print_more(FILE *out, const struct args *args, const char *name, const char *value)
{
	if (strcasecmp(name, args->attribute) != 0)
		ldif_print(out, name, value);
}

static void print_person(FILE *out, const struct args *args, uint64_t i)
{
	const char *given = given_names[i % GIVEN_NAMES];
	char value[VALUE_MAX], manager[VALUE_MAX], dn[DN_MAX], text[2 * VALUE_MAX];
	unsigned long long number = i;

	values_get(&args->values, i, value);
	dn_print(dn, args->attribute, value, args->base);
	ldif_print(out, "dn", dn);
	fputs("objectClass: inetOrgPerson\n", out);
	ldif_print(out, args->attribute, value);
	snprintf(text, sizeof(text), "%s Number%llu", given, number);
	print_more(out, args, "cn", text);
	snprintf(text, sizeof(text), "Number%llu", number);
	print_more(out, args, "sn", text);
	print_more(out, args, "givenName", given);
	snprintf(text, sizeof(text), "%s@example.com", value);
	print_more(out, args, "mail", text);
	snprintf(text, sizeof(text), "+49 30 %07llu", number);
	print_more(out, args, "telephoneNumber", text);
	snprintf(text, sizeof(text), "%llu", number);
	print_more(out, args, "employeeNumber", text);
	snprintf(text, sizeof(text), "Engineer %llu", number % TITLES);
	print_more(out, args, "title", text);
	values_get(&args->values, i / MANAGED, manager);
	dn_print(dn, args->attribute, manager, args->base);
	print_more(out, args, "manager", dn);
	snprintf(text, sizeof(text), "a person of this directory with the number %llu", number);
	print_more(out, args, "description", text);
	fputc('\n', out);
}

int ldif_write(FILE *out, const struct args *args, char *error, size_t size)
{
	struct args all = *args;

	all.values.count = args->make_ldif;
	if (print_base(out, args->base, error, size))
		return -1;
	for (uint64_t i = 0; i < args->make_ldif; i++)
		print_person(out, &all, i);
	if (fflush(out) != 0 || ferror(out)) {
		snprintf(error, size, "the LDIF file cannot be written: %s", strerror(errno));
		return -1;
	}
	return 0;
}
