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

static bool is_setting(const char *name)
{
	for (unsigned i = 0; config_name(i); i++)
		if (strcasecmp(config_name(i), name) == 0)
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
	else if (!config_set(config, name, value, error, sizeof(error)))
		return wrong(error);
	return -1;
}

/* A combination of options that means nothing. */
static int check(const struct config *config)
{
	if (config->ldif && config->packages)
		return wrong("--ldif and --packages exclude each other");
	if (config->settings.root_password[0] && !config->settings.root_dn[0])
		return wrong("rootPassword needs rootDN");
	return -1;
}

int args_parse(struct config *config, int argc, char **argv)
{
	char error[512];
	int status = -1;

	config_defaults(config);
	for (int i = 1; i < argc && status < 0; i++) {
		if (strcmp(argv[i], "--help") == 0) {
			print_help();
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
	return status >= 0 ? status : check(config);
}
