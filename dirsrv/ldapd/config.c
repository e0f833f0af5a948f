/* SPDX-License-Identifier: MIT */
/*
 * The configuration: a table of names, kinds of values and places; each setting is an option under
 * the same name.
 */
#include "config.h"

#include "base/bytes.h"
#include "schema/dn.h"
#include "schema/schema.h"

#include <sched.h>

#define KIB UINT64_C(1024)
#define MIB (KIB * KIB)

enum kind {
	KIND_NUMBER,  /* unsigned, from min to max */
	KIND_LONG,    /* uint64_t, unsigned long or size_t */
	KIND_BYTES,   /* the same, with K, M or G */
	KIND_BOOLEAN, /* bool: TRUE or FALSE */
	KIND_OTHER,   /* a function */
};

typedef const char *set_fn(struct config *config, const char *value);

struct attribute {
	const char *name;
	enum kind kind;
	size_t place;
	uint64_t min, max;
	set_fn *set; /* returns NULL, or what is accepted */
};

/* --- values of several words -------------------------------------------------------------- */

static int word(const char *value, const char *const *words)
{
	for (int i = 0; words[i]; i++)
		if (strcasecmp(value, words[i]) == 0)
			return i;
	return -1;
}

static const char *set_listener(struct config *config, const char *value)
{
	static const char *const words[] = {"inline", "handoff", "accept-thread", "multi", NULL};
	int form = word(value, words);

	if (form < 0)
		return "inline, handoff, accept-thread or multi";
	config->form = (enum net_form)form;
	return NULL;
}

static const char *set_log(struct config *config, const char *value)
{
	return log_level_parse(value, &config->log_level) ? NULL : "error, warning, notice or info";
}

static const char *add_text(char *list, unsigned max, unsigned *count, size_t size,
			    const char *value)
{
	if (*count == max || !*value || strlen(value) >= size)
		return "up to 16 addresses and 64 indexes, of 1 to 255 bytes each";
	memcpy(list + (*count)++ * size, value, strlen(value) + 1);
	return NULL;
}

static bool begins(const char *value, const char *scheme)
{
	return strncasecmp(value, scheme, strlen(scheme)) == 0;
}

static const char *set_listen(struct config *config, const char *value)
{
	if (!begins(value, "ldap://") && !begins(value, "ldapi://"))
		return "ldap://HOST[:PORT], or ldapi://PATH with %2F for each slash";
	return add_text(config->listen[0], NET_ADDRESSES_MAX, &config->listen_count,
			CONFIG_TEXT_MAX, value);
}

static const char *set_dn(const char *value, char *place, size_t size)
{
	struct buffer normal = {0};
	bool good = dn_normalize(bytes_of(value), &normal) && normal.length;

	buffer_free(&normal);
	if (!good || strlen(value) >= size)
		return "a DN like dc=example, of up to 1023 bytes";
	memcpy(place, value, strlen(value) + 1);
	return NULL;
}

static const char *set_root_dn(struct config *config, const char *value)
{
	return set_dn(value, config->settings.root_dn, sizeof(config->settings.root_dn));
}

static const char *set_suffix(struct config *config, const char *value)
{
	return set_dn(value, config->suffix, sizeof(config->suffix));
}

static const char *set_root_password(struct config *config, const char *value)
{
	if (!password_supported(bytes_of(value)) ||
	    strlen(value) >= sizeof(config->settings.root_password))
		return "cleartext, or {CRYPT} and a hash of crypt(5), of up to 1023 bytes";
	memcpy(config->settings.root_password, value, strlen(value) + 1);
	return NULL;
}

static const char *set_db(struct config *config, const char *value)
{
	if (strlen(value) >= sizeof(config->db))
		return "up to 255 bytes";
	memcpy(config->db, value, strlen(value) + 1);
	return NULL;
}

static const char *set_accept_delay(struct config *config, const char *value)
{
	unsigned every, ms;
	char end;

	if (sscanf(value, "%u:%u%c", &every, &ms, &end) != 2)
		return "EVERY:MILLISECONDS";
	config->accept_delay_every = every;
	config->accept_delay_ms = ms;
	return NULL;
}

static const char *set_index(struct config *config, const char *value)
{
	return add_text(config->index[0], STORE_INDEXES_MAX, &config->index_count, CONFIG_TEXT_MAX,
			value);
}

/* --- the table -------------------------------------------------------------------------------- */

#define PLACE(member) offsetof(struct config, member)

static const struct attribute attributes[] = {
	{"listen", KIND_OTHER, 0, 0, 0, set_listen},
	{"listener", KIND_OTHER, 0, 0, 0, set_listener},
	{"threads", KIND_NUMBER, PLACE(threads), 1, NET_THREADS_MAX, NULL},
	{"db", KIND_OTHER, 0, 0, 0, set_db},
	{"fsync", KIND_BOOLEAN, PLACE(fsync), 0, 0, NULL},
	{"cacheBytes", KIND_BYTES, PLACE(cache_bytes), 64 * KIB, UINT64_MAX, NULL},
	{"mapLimit", KIND_BYTES, PLACE(map_limit), 1 * MIB, UINT64_MAX, NULL},
	{"memoryLimit", KIND_BYTES, PLACE(memory_limit), 1 * MIB, UINT64_MAX, NULL},
	{"suffix", KIND_OTHER, 0, 0, 0, set_suffix},
	{"index", KIND_OTHER, 0, 0, 0, set_index},
	{"logLevel", KIND_OTHER, 0, 0, 0, set_log},
	{"acceptDelay", KIND_OTHER, 0, 0, 0, set_accept_delay},
	{"stopSeconds", KIND_NUMBER, PLACE(stop_seconds), 0, 3600, NULL},
	{"rootDN", KIND_OTHER, 0, 0, 0, set_root_dn},
	{"rootPassword", KIND_OTHER, 0, 0, 0, set_root_password},
	{"anonymousRead", KIND_BOOLEAN, PLACE(settings.anonymous_read), 0, 0, NULL},
	{"maxConnections", KIND_NUMBER, PLACE(settings.net.connections), 1, 1000000, NULL},
	{"maxOperations", KIND_NUMBER, PLACE(settings.operations_in_all), 1, 1000000, NULL},
	{"maxConnectionOperations", KIND_NUMBER, PLACE(settings.operations_per_connection), 1,
	 100000, NULL},
	{"maxPduBytes", KIND_BYTES, PLACE(settings.net.pdu_max), 256, 1024 * MIB, NULL},
	{"maxOutputBytes", KIND_BYTES, PLACE(settings.net.output_max), 4096, 1024 * MIB, NULL},
	{"idleSeconds", KIND_NUMBER, PLACE(settings.net.idle_seconds), 0, 86400, NULL},
	{"requestSeconds", KIND_NUMBER, PLACE(settings.net.request_seconds), 0, 86400, NULL},
	{"writeSeconds", KIND_NUMBER, PLACE(settings.net.write_seconds), 0, 86400, NULL},
	{"sizeLimit", KIND_LONG, PLACE(settings.size_limit), 0, INT32_MAX, NULL},
	{"timeLimit", KIND_NUMBER, PLACE(settings.time_limit), 0, INT32_MAX, NULL},
	{"workLimit", KIND_LONG, PLACE(settings.work_limit), 0, INT32_MAX, NULL},
};

#define ATTRIBUTES (sizeof(attributes) / sizeof(attributes[0]))

static unsigned processors(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 2 : (unsigned)CPU_COUNT(&set);
}

static void set_defaults(struct config *config)
{
	unsigned threads = 2 * processors() + 2;

	*config = (struct config){
		.form = NET_MULTI,
		.threads = threads > NET_THREADS_MAX ? NET_THREADS_MAX : threads,
		.processors = processors(),
		.fsync = true,
		.cache_bytes = 64 * MIB,
		.log_level = LOG_LEVEL_NOTICE,
		.stop_seconds = 10,
		.settings =
			{
				.anonymous_read = true,
				.operations_per_connection = 100,
				.operations_in_all = 10000,
				.time_limit = 3600,
				.net =
					{
						.connections = 10000,
						.pdu_max = 16 * MIB,
						.output_max = 1 * MIB,
						.idle_seconds = 3600,
						.request_seconds = 30,
						.write_seconds = 60,
					},
			},
	};
}

/* --- setting ---------------------------------------------------------------------------------- */

static bool parse_number(const char *value, bool units, uint64_t min, uint64_t max,
			 uint64_t *number)
{
	char *end;
	uint64_t unit = 1;

	if (*value < '0' || *value > '9')
		return false;
	errno = 0;
	*number = strtoull(value, &end, 10);
	if (units && *end && !end[1]) {
		unit = *end == 'K' ? KIB : *end == 'M' ? MIB : *end == 'G' ? KIB * MIB : 0;
		end += unit != 0;
	}
	if (errno || *end || *number > UINT64_MAX / unit)
		return false;
	*number *= unit;
	return *number >= min && *number <= max;
}

static bool set_boolean(const char *value, bool *place)
{
	*place = strcasecmp(value, "TRUE") == 0 || strcasecmp(value, "yes") == 0;
	return *place || strcasecmp(value, "FALSE") == 0 || strcasecmp(value, "no") == 0;
}

static bool set_number(const struct attribute *attribute, const char *value, void *place)
{
	bool units = attribute->kind == KIND_BYTES;
	uint64_t number;

	if (!parse_number(value, units, attribute->min, attribute->max, &number))
		return false;
	if (attribute->kind == KIND_NUMBER)
		*(unsigned *)place = (unsigned)number;
	else
		memcpy(place, &number, sizeof(number));
	return true;
}

static bool set_value(struct config *config, const struct attribute *attribute, const char *value,
		      char *accepted, size_t size)
{
	void *place = (char *)config + attribute->place;
	const char *other;

	switch (attribute->kind) {
	case KIND_BOOLEAN:
		snprintf(accepted, size, "TRUE or FALSE");
		return set_boolean(value, place);
	case KIND_OTHER:
		other = attribute->set(config, value);
		snprintf(accepted, size, "%s", other ? other : "");
		return !other;
	default:
		snprintf(accepted, size, "a whole number from %lu to %lu%s",
			 (unsigned long)attribute->min, (unsigned long)attribute->max,
			 attribute->kind == KIND_BYTES ? ", or one with K, M or G" : "");
		return set_number(attribute, value, place);
	}
}

static bool set(struct config *config, const char *name, const char *value, char *error,
		size_t size)
{
	char accepted[128];

	for (unsigned i = 0; i < ATTRIBUTES; i++) {
		if (strcasecmp(attributes[i].name, name) != 0)
			continue;
		if (set_value(config, &attributes[i], value, accepted, sizeof(accepted)))
			return true;
		snprintf(error, size, "%s: invalid value '%s'; accepted: %s", attributes[i].name,
			 attributes[i].set == set_root_password ? "..." : value, accepted);
		return false;
	}
	snprintf(error, size, "unknown setting '%s'; see ldapd(1)", name);
	return false;
}

/* --- the command line ----------------------------------------------------------------------- */

#define EXIT_USAGE 2

static const char help[] =
	"usage: ldapd [OPTION]...\n"
	"A directory server (LDAP version 3) on loopback and local sockets, with every object\n"
	"in a typed cache of libslab.\n"
	"\n"
	"  --ldif FILE           load this file into an empty database\n"
	"  --packages            load the machine's Debian package catalogue instead\n"
	"  --help                this text\n"
	"  --SETTING VALUE       a setting. Among others:\n"
	"    --listen ADDRESS    ldap://HOST:PORT or ldapi://PATH; may be repeated\n"
	"                        (default: ldap://127.0.0.1:3389)\n"
	"    --listener FORM     inline, handoff, accept-thread or multi (default)\n"
	"    --threads N         threads that execute operations\n"
	"    --db FOLDER         the database (default: a temporary one)\n"
	"    --fsync no          do not wait for the disk at each write\n"
	"    --suffix DN         the naming context\n"
	"    --rootDN DN, --rootPassword PASSWORD\n"
	"                        the administrator\n"
	"    --logLevel LEVEL    error, warning, notice (default) or info\n"
	"\n"
	"ldapd(1) describes all settings. SIGTERM stops the server.\n"
	"Exit status: 0 stopped, 1 a failure, 2 a wrong option or setting.\n";

static int wrong(const char *message)
{
	fprintf(stderr, "ldapd: %s\n", message);
	return EXIT_USAGE;
}

static bool is_setting(const char *name)
{
	for (unsigned i = 0; i < ATTRIBUTES; i++)
		if (strcasecmp(attributes[i].name, name) == 0)
			return true;
	return false;
}

/* One option. `value` is the next argument, NULL after the last. */
static int take_option(struct config *config, const char *name, const char *value)
{
	bool loads = strcmp(name, "ldif") == 0;
	char error[512];

	if (!value) {
		snprintf(error, sizeof(error),
			 loads || is_setting(name) ? "--%s needs a value"
						   : "'--%s' is no option; see --help",
			 name);
		return wrong(error);
	}
	if (loads)
		config->ldif = value;
	else if (!set(config, name, value, error, sizeof(error)))
		return wrong(error);
	return -1;
}

/* A combination of options that means nothing. */
static int check_together(const struct config *config)
{
	if (config->ldif && config->packages)
		return wrong("--ldif and --packages exclude each other");
	if (config->settings.root_password[0] && !config->settings.root_dn[0])
		return wrong("rootPassword needs rootDN");
	return -1;
}

int config_parse(struct config *config, int argc, char **argv)
{
	char error[512];
	int status = -1;

	set_defaults(config);
	for (int i = 1; i < argc && status < 0; i++) {
		if (strcmp(argv[i], "--help") == 0) {
			fputs(help, stdout);
			return 0;
		}
		if (strncmp(argv[i], "--", 2) != 0) {
			snprintf(error, sizeof(error), "'%s' is no option; see --help", argv[i]);
			return wrong(error);
		}
		if (strcmp(argv[i], "--packages") == 0) {
			config->packages = true;
			continue;
		}
		status = take_option(config, argv[i] + 2, i + 1 < argc ? argv[i + 1] : NULL);
		i++;
	}
	return status >= 0 ? status : check_together(config);
}
