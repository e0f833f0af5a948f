/* SPDX-License-Identifier: MIT */
/* A program unloads a library whose definition has a destructor: the cache stays, and calls it. */
#include <dlfcn.h>
#include <stdio.h>

#include <slab/memory.h>

int main(int argc, char **argv)
{
	void *plugin = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
	void (*use)(void);
	const int *calls;

	if (!plugin) {
		printf("define_unload: %s\n", dlerror());
		return 1;
	}
	*(void **)&use = dlsym(plugin, "plugin_use");
	calls = dlsym(plugin, "plugin_calls");
	use();
	dlclose(plugin);
	slab_trim();
	if (*calls == 0)
		puts("define_unload: the destructor was not called");
	return *calls == 0;
}
