/* SPDX-License-Identifier: MIT */
/*
 * The only process of a machine that exists to run tests: mounts what they look into,
 * runs each line of /tests ("ENGINE PROGRAM") and switches the machine off. Says "init:
 * passed" on the console, or what failed; the host reads that.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void mount_at(const char *type, const char *where)
{
	mkdir(where, 0755);
	if (mount(type, where, type, 0, NULL))
		perror(where);
}

static int run(const char *engine, const char *program)
{
	int status = -1;
	pid_t child = fork();

	if (child == 0) {
		setenv("SLAB_ENGINE", engine, 1);
		setenv("SLAB_RUNTIME_DIR", "/tmp", 1);
		execl(program, program, (char *)NULL);
		perror(program);
		_exit(127);
	}
	waitpid(child, &status, 0);
	return status;
}

static int run_tests(void)
{
	char line[256], engine[32], program[128];
	FILE *tests = fopen("/tests", "r");
	int failed = tests ? 0 : 1;

	while (tests && fgets(line, sizeof(line), tests)) {
		if (sscanf(line, "%31s %127s", engine, program) != 2)
			continue;
		printf("init: %s %s\n", engine, program);
		fflush(stdout);
		if (run(engine, program)) {
			printf("init: %s %s failed\n", engine, program);
			failed++;
		}
	}
	return failed;
}

int main(void)
{
	mount_at("proc", "/proc");
	mount_at("sysfs", "/sys");
	mount_at("devtmpfs", "/dev");
	mkdir("/tmp", 01777);
	printf(run_tests() ? "init: failed\n" : "init: passed\n");
	fflush(stdout);
	sync();
	reboot(RB_POWER_OFF);
	return 1;
}
