/* SPDX-License-Identifier: MIT */
/* usage: host PLUGIN: loads it, lets several threads use it, unloads it, and goes on. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int (*run)(void);

static void *use(void *arg)
{
	(void)arg;
	return run() ? &run : NULL;
}

int main(int argc, char **argv)
{
	void *plugin = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	pthread_t thread;
	void *failed;

	if (!plugin) {
		fprintf(stderr, "host: %s\n", argc == 2 ? dlerror() : "no plug-in");
		return 1;
	}
	*(void **)&run = dlsym(plugin, "plugin_run");
	if (!run || run() != 0)
		return 1;
	if (pthread_create(&thread, NULL, use, NULL) != 0 || pthread_join(thread, &failed) != 0)
		return 1;
	dlclose(plugin);
	return failed ? 1 : 0;
}
