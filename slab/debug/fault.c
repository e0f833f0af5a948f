/* SPDX-License-Identifier: MIT */
/*
 * The handler of SIGSEGV and SIGBUS.
 *
 * A fault takes the course that it would take without libslab. If the application had installed
 * a handler, that handler runs with the same arguments, and with the mask and flags that it was
 * installed with. Otherwise the default action ends the process at the access itself, with the
 * fault's own signal, and the core shows that moment. If libslab explains the fault, it reports
 * it first.
 *
 * All signals are blocked in the handler. So a fault within a report, for example in a report
 * handler of the application, ends the process at once.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "debug/fault.h"
#include "trap.h"
#include "base/clock.h"
#include "debug/guard.h"
#include "pages/os.h"
#include "pages/segment.h"
#include "report/track.h"

/* Reports run on a separate stack, since alternate signal stacks often have only 8 KiB. The bytes
 * above it stay zero, so that unwinders stop there. */
#define REPORT_STACK ((size_t)256 << 10)
#define REPORT_STACK_ZEROS ((size_t)4096)
/* How long a second thread waits for the first one's report. */
#define REPORT_WAIT_MS 10000

static char *report_stack_top; /* NULL: none; reports run on the thread's stack */
static int reporting;
static bool installed;
static struct sigaction found[2]; /* the replaced actions of SIGSEGV and SIGBUS */

static struct sigaction *found_for(int signal)
{
	return &found[signal == SIGBUS];
}

/* --- the report ---------------------------------------------------------------- */

static bool report_begin_alone(void)
{
	for (int waited = 0; waited < REPORT_WAIT_MS; waited++) {
		if (!__atomic_exchange_n(&reporting, 1, __ATOMIC_ACQUIRE))
			return true;
		clock_sleep(1000000);
	}
	return false;
}

void fault_after_fork_child(void)
{
	__atomic_store_n(&reporting, 0, __ATOMIC_RELEASE);
}

static void report(void *arg)
{
	guard_report_fault(arg);
}

static void explain(const siginfo_t *info, const ucontext_t *context)
{
	struct guard_fault fault = {
		.address = info->si_addr,
		.access = trap_access(context),
	};

	if (!guard_covers(fault.address))
		return;
	/* Tracks hold return addresses, and their symbols are looked up one byte before. */
	track_fill(&fault.track, (const char *)trap_pc(context) + 1);
	if (!report_begin_alone())
		return;
	if (report_stack_top)
		trap_call_on(report_stack_top, report, &fault);
	else
		report(&fault);
	__atomic_store_n(&reporting, 0, __ATOMIC_RELEASE);
}

/* --- passing on ------------------------------------------------------------------ */

/* Did the kernel raise the signal for an access? A process may also have sent it. */
static bool is_fault(const siginfo_t *info)
{
	return info->si_code > 0;
}

/* Set the signal mask with which the kernel would call the replaced handler. */
static void take_mask(int signal, const struct sigaction *action, const ucontext_t *context)
{
	sigset_t mask = context->uc_sigmask;

	sigorset(&mask, &mask, &action->sa_mask);
	if (!(action->sa_flags & SA_NODEFER))
		sigaddset(&mask, signal);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

/* A fault occurs again when this handler returns. A signal that a process sent does not, so it is
 * sent again. */
static void take_default(int signal, siginfo_t *info)
{
	struct sigaction action = {.sa_handler = SIG_DFL};

	sigaction(signal, &action, NULL);
	if (!is_fault(info))
		syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), signal, info);
}

static void pass_on(int signal, siginfo_t *info, void *context)
{
	struct sigaction action = *found_for(signal);

	if (action.sa_flags & SA_RESETHAND)
		found_for(signal)->sa_handler = SIG_DFL;
	if (action.sa_handler == SIG_IGN && !is_fault(info))
		return;
	if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) {
		take_default(signal, info);
		return;
	}
	take_mask(signal, &action, context);
	if (action.sa_flags & SA_SIGINFO)
		action.sa_sigaction(signal, info, context);
	else
		action.sa_handler(signal);
}

static void handle(int signal, siginfo_t *info, void *context)
{
	int saved = errno;

	if (is_fault(info)) {
		if (trap_fix_up(context))
			return;
		explain(info, context);
	}
	errno = saved;
	pass_on(signal, info, context);
	errno = saved;
}

/* --- installation ------------------------------------------------------------------ */

static void map_report_stack(void)
{
	char *stack = os_map(REPORT_STACK, 1);

	if (!stack)
		return;
	/* The guard page is optional, so a failure does not matter. */
	os_protect(stack, os_page_size(), false);
	report_stack_top = stack + REPORT_STACK - REPORT_STACK_ZEROS;
}

static void install(int signal)
{
	struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};

	action.sa_sigaction = handle;
	sigfillset(&action.sa_mask);
	/* Read the old action first: a fault may occur as soon as the new one is installed. */
	sigaction(signal, NULL, found_for(signal));
	sigaction(signal, &action, NULL);
}

static void install_once(void)
{
	int saved = errno;

	map_report_stack();
	install(SIGSEGV);
	install(SIGBUS);
	__atomic_store_n(&installed, true, __ATOMIC_RELEASE);
	errno = saved;
}

void fault_install(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, install_once);
}

bool fault_installed(void)
{
	return __atomic_load_n(&installed, __ATOMIC_ACQUIRE);
}
