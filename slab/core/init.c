/* SPDX-License-Identifier: MIT */
/* Initialization on first use: the engine, the nodes, and the limit of SLAB_LIMIT. */
#include "core/init.h"
#include "core/cache.h"

#include <errno.h>
#include <slab/slab.h>
#include <slab/stats.h>
#include <string.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/compiler.h"
#include "base/note.h"
#include "base/options.h"
#include "cpu_cache.h"
#include "pages/account.h"
#include "pages/topology.h"
#include "report/profile.h"
#include "report/track.h"

SLAB_EARLY struct slab_process slab_process;

const char *slab_version(void)
{
	return SLAB_VERSION;
}

static void process_init(void)
{
	struct slab_process *process = &slab_process;

	process->nodes = topology_nodes();
	process->rseq_lack = cpu_rseq_lack;
	strncpy(process->engine, cpu_engine->name, sizeof(process->engine) - 1);
	__atomic_store_n(&process->started, track_now(), __ATOMIC_RELEASE);
}

static SLAB_EARLY pid_t process_id; /* 0: process_known() was not called yet */

void process_known(void)
{
	__atomic_store_n(&process_id, getpid(), __ATOMIC_RELAXED);
}

bool process_is_vforked(void)
{
	const pid_t known = __atomic_load_n(&process_id, __ATOMIC_RELAXED);

	return known && known != getpid();
}

void process_after_fork_child(void)
{
	process_known();
	__atomic_store_n(&slab_process.started, track_now(), __ATOMIC_RELAXED);
}

static void note_other_engine(const char *wanted)
{
	const char *why = strcmp(wanted, cpu_engine_rseq.name) == 0
				  ? cpu_rseq_lack_text(cpu_rseq_lack)
				  : NULL;

	slab_note("SLAB_ENGINE=%s is not available here%s%s; using %s", wanted, why ? ": " : "",
		  why ? why : "", cpu_engine->name);
}

/* As many shards as a node has CPUs, so that each lock has one user. */
static unsigned choose_shards(void)
{
	const unsigned cpus = __atomic_load_n(&cpu_possible_count, __ATOMIC_RELAXED);
	const unsigned of_node = (cpus + topology_nodes() - 1) / topology_nodes();

	return of_node < 1 ? 1 : of_node < SHARDS_MAX ? of_node : SHARDS_MAX;
}

static void init_once(void)
{
	static const char *const names[] = {NULL, "rseq", "cmpxchg16b", "mutex"};
	const char *wanted = names[slab_options()->engine];
	int cancel = cancel_disable();

	if (!cpu_engine_init(wanted))
		note_other_engine(wanted);
	shards_per_node = choose_shards();
	process_init();
	account_init();
	if (slab_options()->profile && !profile_set_period(slab_options()->profile))
		slab_note("SLAB_PROFILE is without effect: out of memory");
	cancel_restore(cancel);
}

/* Initialization reports no errors to its caller: errno keeps its value. If libslab is malloc,
 * an allocation of the C library during init_once() calls slab_init() again. */
bool slab_init(void)
{
	static SLAB_EARLY pthread_once_t once = PTHREAD_ONCE_INIT;
	static __thread bool initializes __attribute__((tls_model("initial-exec")));
	int saved = errno;

	if (initializes) {
		errno = ENOMEM;
		return false;
	}
	initializes = true;
	pthread_once(&once, init_once);
	initializes = false;
	errno = saved;
	return true;
}

const char *slab_engine(void)
{
	slab_init();
	return cpu_engine->name;
}
