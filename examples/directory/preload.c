/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* dladdr(), asprintf() */
#include "preload.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The start of an ELF file, which is the same for 32 and 64 bits. */
struct elf_start {
	unsigned char ident[EI_NIDENT];
	Elf64_Half type;
	Elf64_Half machine;
};

static bool read_start(const char *path, struct elf_start *start)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool good;

	if (fd < 0)
		return false;
	good = read(fd, start, sizeof(*start)) == (ssize_t)sizeof(*start);
	close(fd);
	return good && memcmp(start->ident, ELFMAG, SELFMAG) == 0;
}

/* The dynamic linker ignores a library of another machine, and the program would run on
 * glibc's malloc() after all. */
static bool for_this_machine(const char *path)
{
	struct elf_start self, library;

	return read_start("/proc/self/exe", &self) && read_start(path, &library) &&
	       library.ident[EI_CLASS] == self.ident[EI_CLASS] && library.machine == self.machine;
}

static bool take(const char *found, char *path, size_t size)
{
	return for_this_machine(found) && snprintf(path, size, "%s", found) < (int)size;
}

static bool find_matching(const char *folders, const char *library, char *path, size_t size)
{
	char pattern[256];
	bool found = false;
	glob_t matches = {0};

	snprintf(pattern, sizeof(pattern), "%s/%s", folders, library);
	if (glob(pattern, 0, NULL, &matches) == 0)
		for (size_t i = 0; i < matches.gl_pathc && !found; i++)
			found = take(matches.gl_pathv[i], path, size);
	globfree(&matches);
	return found;
}

bool preload_find(const char *folder, const char *library, char *path, size_t size)
{
	static const char *const folders[] = {"/usr/local/lib", "/usr/lib/*-linux-gnu",
					      "/usr/lib64", "/usr/lib"};
	char file[4096];

	if (folder) {
		snprintf(file, sizeof(file), "%s/%s", folder, library);
		return take(file, path, size);
	}
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		if (find_matching(folders[i], library, path, size))
			return true;
	return false;
}

static bool is_preload(const char *setting)
{
	return strncmp(setting, "LD_PRELOAD=", strlen("LD_PRELOAD=")) == 0;
}

/* The first string is the only one that is allocated. */
char **preload_environment(const char *library)
{
	const char *before = getenv("LD_PRELOAD");
	size_t count = 0, used = 0;
	char **environment, *setting;

	while (environ[count])
		count++;
	environment = calloc(count + 2, sizeof(*environment));
	if (!environment)
		return NULL;
	if (asprintf(&setting, "LD_PRELOAD=%s%s%s", library, before ? ":" : "",
		     before ? before : "") < 0) {
		free(environment);
		return NULL;
	}
	environment[used++] = setting;
	for (size_t i = 0; i < count; i++)
		if (!is_preload(environ[i]))
			environment[used++] = environ[i];
	return environment;
}

void preload_free(char **environment)
{
	if (environment)
		free(environment[0]);
	free(environment);
}

void preload_malloc_from(char *path, size_t size)
{
	void *function = dlsym(RTLD_DEFAULT, "malloc");
	Dl_info info;

	path[0] = '\0';
	if (function && dladdr(function, &info) && info.dli_fname)
		snprintf(path, size, "%s", info.dli_fname);
}
