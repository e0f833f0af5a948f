/* SPDX-License-Identifier: MIT */
/* Options: each setting of the configuration is one, under the same name. */
#include "args.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define EXIT_USAGE 2

static const char help[] =
	"usage: ldapd [OPTION]...\n"
	"A directory server (LDAP version 3) on loopback and local sockets, with every object\n"
	"in a typed cache of libslab.\n"
	"\n"
	"  --config FILE         settings: the entry cn=config of an LDIF file\n"
	"  --ldif FILE           load this file into an empty database\n"
	"  --packages            load the machine's Debian package catalogue instead\n"
	"  --help                this text\n"
	"  --SETTING VALUE       a setting; it replaces that of the file. Among others:\n"
	"    --listen ADDRESS    ldap://HOST:PORT or ldapi://PATH; may be repeated\n"
	"                        (default: ldap://127.0.0.1:3389)\n"
	"    --listener FORM     inline, handoff, accept-thread or multi (default)\n"
	"    --threads N         threads that execute operations\n"
	"    --db FOLDER         the database (default: a temporary one)\n"
	"    --fsync no          do not wait for the disk at each write\n"
	"    --suffix DN         a naming context; may be repeated\n"
	"    --rootDN DN, --rootPassword PASSWORD\n"
	"                        the administrator\n"
	"    --logLevel LEVEL    error, warning, notice (default), info or debug\n"
	"  all:";

static void print_help(void)
{
	size_t column = 6;

	fputs(help, stdout);
	for (unsigned i = 0; config_name(i); i++) {
		column += strlen(config_name(i)) + 1;
		if (column > 78) {
			fputs("\n      ", stdout);
			column = 7 + strlen(config_name(i));
		}
		printf(" %s", config_name(i));
	}
	puts("\n\nSIGTERM stops the server. ldapd(1) describes all.\n"
	     "Exit status: 0 stopped, 1 a failure, 2 a wrong option or setting.");
}

static int wrong(const char *message)
{
	fprintf(stderr, "ldapd: %s\n", message);
	return EXIT_USAGE;
}

/* An option that is no setting. Returns the number of arguments that it takes, -1: no such
 * option. */
static int take_option(struct args *args, const char *name, char *value)
{
	if (strcmp(name, "config") == 0)
		args->config_path = value;
	else if (strcmp(name, "ldif") == 0)
		args->ldif = value;
	else if (strcmp(name, "packages") == 0)
		args->packages = true;
	else
		return -1;
	return strcmp(name, "config") == 0 || strcmp(name, "ldif") == 0;
}

/* A setting replaces the values that the file has for it, so lists begin anew. */
static void forget(struct config *config, const char *name)
{
	if (strcasecmp(name, "listen") == 0)
		config->listen_count = 0;
	else if (strcasecmp(name, "suffix") == 0)
		config->suffix_count = 0;
	else if (strcasecmp(name, "index") == 0)
		config->index_count = 0;
}

static bool seen_before(const struct args *args, int at)
{
	for (int i = 1; i < at; i++)
		if (strcasecmp(args->argv[i], args->argv[at]) == 0)
			return true;
	return false;
}

static bool is_setting(const char *name)
{
	for (unsigned i = 0; config_name(i); i++)
		if (strcasecmp(config_name(i), name) == 0)
			return true;
	return false;
}

/* One pass over the options: `settings` says whether settings or the others are taken. */
static int pass(struct args *args, struct config *config, bool settings)
{
	char error[512];

	for (int i = 1; i < args->argc; i++) {
		char *name = args->argv[i];
		char *value = i + 1 < args->argc ? args->argv[i + 1] : NULL;
		int taken;

		if (strncmp(name, "--", 2) != 0) {
			snprintf(error, sizeof(error), "'%s' is no option; see --help", name);
			return wrong(error);
		}
		taken = take_option(args, name + 2, value);
		if (taken != 0 && !value) {
			snprintf(error, sizeof(error),
				 taken > 0 || is_setting(name + 2)
					 ? "%s needs a value"
					 : "'%s' is no option; see --help",
				 name);
			return wrong(error);
		}
		if (taken < 0 && settings) {
			if (!seen_before(args, i))
				forget(config, name + 2);
			if (!config_set(config, name + 2, value, error, sizeof(error)))
				return wrong(error);
		}
		i += taken != 0;
	}
	return -1;
}

/* A combination of options that means nothing. */
static int check(const struct args *args, const struct config *config)
{
	if (args->ldif && args->packages)
		return wrong("--ldif and --packages exclude each other");
	if (config->settings.root_password[0] && !config->settings.root_dn[0])
		return wrong("rootPassword needs rootDN");
	return -1;
}

int args_parse(struct args *args, struct config *config)
{
	char error[512];
	int status;

	for (int i = 1; i < args->argc; i++) {
		if (strcmp(args->argv[i], "--help") == 0) {
			print_help();
			return 0;
		}
	}
	config_defaults(config);
	status = pass(args, config, false);
	if (status >= 0)
		return status;
	if (args->config_path && !config_read(config, args->config_path, error, sizeof(error)))
		return *error ? wrong(error) : EXIT_USAGE;
	status = pass(args, config, true);
	return status >= 0 ? status : check(args, config);
}
