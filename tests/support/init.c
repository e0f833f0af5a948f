/* SPDX-License-Identifier: MIT */
/*
 * The first process of a machine that exists to run tests: mounts what they look into, runs the
 * tests of the file /tests and switches the machine off. A line of the file is a test: name, the
 * seconds that it may take, environment variables, program and arguments, with tabs in between.
 * The kernel's command line says how many run at a time (JOBS=4) and may have variables for all.
 *
 * On the console, which the host reads, a test is what it wrote, then a line "init: NAME: passed"
 * or what went wrong, and the seconds that it took. The last line is "init: passed", or how many
 * failed.
 */
#include <fcntl.h>
#include <net/if.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_JOBS 16
#define MAX_WORDS 32

struct job {
	pid_t pid; /* 0: free */
	char line[4096];
	char *words[MAX_WORDS + 1]; /* name, seconds, variables, program, arguments, NULL */
	char output[32];            /* the file of what it writes */
	time_t start;
	int timed_out;
};

static struct job jobs[MAX_JOBS];
static int failed;

static time_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec;
}

static void mount_at(const char *type, const char *where)
{
	mkdir(where, 0755);
	if (mount(type, where, type, 0, NULL))
		perror(where);
}

/* The loopback interface, which a machine begins without. */
static void loopback_up(void)
{
	struct ifreq interface = {.ifr_name = "lo"};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (ioctl(fd, SIOCGIFFLAGS, &interface) == 0) {
		interface.ifr_flags |= IFF_UP;
		ioctl(fd, SIOCSIFFLAGS, &interface);
	}
	close(fd);
}

/* In the child: never returns. */
static void run(struct job *job)
{
	char **word = job->words + 2;
	int out = open(job->output, O_RDWR | O_CREAT | O_TRUNC, 0600);
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	close(out);
	for (; *word && **word != '/'; word++)
		putenv(*word);
	if (*word)
		execv(*word, word);
	perror(*word);
	_exit(127);
}

/* The next line of the file that is a test: 1, or 0 at its end. */
static int start(struct job *job, FILE *tests)
{
	char *rest, *word;
	int words = 0;

	if (!fgets(job->line, sizeof(job->line), tests))
		return 0;
	job->line[strcspn(job->line, "\n")] = '\0';
	for (word = strtok_r(job->line, "\t", &rest); word && words < MAX_WORDS;
	     word = strtok_r(NULL, "\t", &rest))
		job->words[words++] = word;
	job->words[words] = NULL;
	if (words < 3) {
		printf("init: '%s' is no test\n", job->line);
		failed++;
		return 1;
	}
	snprintf(job->output, sizeof(job->output), "/tmp/init-output-%d", (int)(job - jobs));
	job->start = now();
	job->timed_out = 0;
	job->pid = fork();
	if (job->pid == 0)
		run(job);
	return 1;
}

static void show_output(const struct job *job)
{
	char text[4096];
	size_t n;
	FILE *file = fopen(job->output, "r");

	while (file && (n = fread(text, 1, sizeof(text), file)) > 0)
		fwrite(text, 1, n, stdout);
	if (file)
		fclose(file);
}

static void finish(struct job *job, int status)
{
	const int seconds = (int)(now() - job->start);

	kill(-job->pid, SIGKILL); /* what it left behind */
	show_output(job);
	printf("\ninit: %s: ", job->words[0]);
	if (job->timed_out)
		printf("timed out, %d s\n", seconds);
	else if (WIFSIGNALED(status))
		printf("killed by signal %d, %d s\n", WTERMSIG(status), seconds);
	else if (WEXITSTATUS(status))
		printf("exit status %d, %d s\n", WEXITSTATUS(status), seconds);
	else
		printf("passed, %d s\n", seconds);
	fflush(stdout);
	failed += status != 0;
	job->pid = 0;
}

static void kill_if_late(struct job *job)
{
	if (job->pid && !job->timed_out && now() - job->start > atoi(job->words[1])) {
		job->timed_out = 1;
		kill(-job->pid, SIGKILL);
		kill(job->pid, SIGKILL);
	}
}

/* Waits for a child or a second. Orphans of tests end as children of this process, too. */
static void wait_for_some(const sigset_t *child)
{
	static const struct timespec second = {1, 0};
	int status;
	pid_t pid;

	sigtimedwait(child, NULL, &second);
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (int i = 0; i < MAX_JOBS; i++)
			if (jobs[i].pid == pid)
				finish(&jobs[i], status);
}

static void run_tests(FILE *tests, int count)
{
	sigset_t child;
	int more = 1, running = 1;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	while (running) {
		running = 0;
		for (int i = 0; i < count; i++) {
			while (more && !jobs[i].pid)
				more = start(&jobs[i], tests);
			kill_if_late(&jobs[i]);
			running += jobs[i].pid != 0;
		}
		if (running)
			wait_for_some(&child);
	}
}

int main(void)
{
	const char *count = getenv("JOBS");
	FILE *tests = fopen("/tests", "re");

	mount_at("proc", "/proc");
	mount_at("sysfs", "/sys");
	mount_at("devtmpfs", "/dev");
	mount_at("devpts", "/dev/pts");
	mount_at("tmpfs", "/dev/shm");
	mount_at("tmpfs", "/tmp");
	loopback_up();
	setenv("SLAB_RUNTIME_DIR", "/tmp", 1);
	if (tests)
		run_tests(tests,
			  count && atoi(count) > 0 && atoi(count) <= MAX_JOBS ? atoi(count) : 1);
	if (!tests || failed)
		printf("init: %d failed\n", failed);
	else
		printf("init: passed\n");
	fflush(stdout);
	sync();
	reboot(RB_POWER_OFF);
	return 1;
}
