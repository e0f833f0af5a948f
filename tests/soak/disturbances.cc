/* SPDX-License-Identifier: MIT */
/* What conductors do to the process. */
#include "conductor.h"

#include "../support/array_length.h"
#include "../support/process.h"
#include "faults.h"

extern "C" {
#include "inject.h"
#include "control/server.h"
#include "control/json.h"
}

namespace soak
{

namespace
{

/* How long shortages last, and delays before something else happens. */
constexpr long moment_ns = 3000000;

void wait_a_moment()
{
	const struct timespec moment = {0, moment_ns};

	nap(&moment);
}

/* A cache of slab_malloc(); if memory is short, that of movable objects. */
struct slab_cache *some_size_cache(chance &random)
{
	void *obj = slab_malloc(1 + random.below(SLAB_MALLOC_MAX_CACHED));
	struct slab_cache *cache = obj ? slab_cache_of(obj) : movable_cache();

	slab_mfree(obj);
	return cache;
}

struct slab_cache *some_cache(chance &random)
{
	const unsigned focused = focus.load(), any = random.below(kinds_count);
	struct slab_cache *cache =
		cache_of(focused < kinds_count && random.below(2) ? focused : any);

	if (cache)
		return cache;
	return random.below(2) ? movable_cache() : some_size_cache(random);
}

/* --- memory ----------------------------------------------------------------------------------- */

void shrink(struct conductor *c)
{
	if (slab_cache_shrink(some_cache(c->random)) < 0)
		error("not shrunk", "conductor", nullptr, 0);
}

void trim(struct conductor *)
{
	slab_trim();
}

void reclaim(struct conductor *c)
{
	slab_reclaim(std::size_t{1} << (12 + c->random.below(12)));
}

void maintain(struct conductor *)
{
	slab_maintain();
}

void defragment(struct conductor *)
{
	slab_cache_defrag(movable_cache());
}

void limit(struct conductor *c)
{
	struct slab_process_stats stats = {};
	shortage while_limited;

	stats.struct_size = sizeof(stats);
	slab_process_stats(&stats);
	slab_set_limit(stats.slab_bytes + stats.large_bytes + 65536 * c->random.below(64) + 65536);
	wait_a_moment();
	slab_set_limit(0);
}

void array_length(struct conductor *c)
{
	const unsigned lengths[] = {2, 8, 64, cpu_array_room(true)};

	set_array_length(some_cache(c->random), lengths[c->random.below(4)]);
}

/* --- looking ---------------------------------------------------------------------------------- */

void validate(struct conductor *c)
{
	struct slab_cache *cache = some_cache(c->random);

	if (slab_cache_validate(cache) != 0)
		error("invalid", slab_cache_name(cache), cache, 0);
}

void count(struct conductor *c)
{
	struct slab_stats stats = {};

	stats.struct_size = sizeof(stats);
	if (slab_cache_stats(some_cache(c->random), &stats) != 0)
		error("no statistics", "conductor", nullptr, 0);
}

/* What slabinfo asks for. As in a server, one thread at a time answers. */
void answer(struct conductor *c)
{
	static std::mutex answers;
	const std::unique_lock<std::mutex> guard(answers, std::try_to_lock);

	if (!guard)
		return;
	static const char *const requests[] = {"slab/2 trim", "slab/2 ping"};
	struct slab_json reply = {};
	const char *request = requests[c->random.below(2)];

	slab_control_answer(&reply, request, true);
	slab_json_end(&reply);
	if (!shortages && reply.text &&
	    std::strncmp(reply.text, "{\"slab\":2,\"ok\":true", 19) != 0)
		error("refused", request, nullptr, 0);
	slab_json_free(&reply);
}

/* --- switches --------------------------------------------------------------------------------- */

void switch_debug_flags(struct conductor *c)
{
	struct slab_cache *cache = some_cache(c->random);
	const std::uint64_t all = SLAB_DEBUG_FLAGS & ~SLAB_TRACE;

	slab_cache_debug(cache, c->random.below(8) ? 0 : c->random.next() & all);
}

void switch_sampling(struct conductor *c)
{
	struct slab_cache *cache = some_cache(c->random);

	slab_cache_sample(cache, c->random.below(2) ? 20 + c->random.below(2000) : 0);
	wait_a_moment();
	slab_cache_sample(cache, 0);
}

void switch_profile(struct conductor *c)
{
	slab_set_profile(c->random.below(4) ? 0 : 16384u << c->random.below(10));
}

/* --- threads ---------------------------------------------------------------------------------- */

void signal(struct conductor *c)
{
	for (unsigned n = 1 + c->random.below(64); n; n--) {
		const pid_t tid = some_thread(c->random);

		if (tid)
			syscall(SYS_tgkill, getpid(), tid, soak_signal);
	}
}

void migrate(struct conductor *c)
{
	for (unsigned n = 1 + c->random.below(64); n; n--) {
		const pid_t tid = some_thread(c->random);

		if (tid)
			pin(c->random.below(64), tid);
	}
}

void cancel(struct conductor *c)
{
	cancel_one(c->random);
}

void retire(struct conductor *c)
{
	retire_one(c->random);
}

void renew(struct conductor *)
{
	renew_ended();
}

/* Another number of threads that work at a time. */
void crowd(struct conductor *c)
{
	static const int numbers[] = {2, 4, 8, 16, 16, 16, 32, workers_most};

	active_most = numbers[c->random.below(8)];
}

/* --- processes -------------------------------------------------------------------------------- */

void fork_one(struct conductor *c)
{
	fork_child(&c->seat);
}

void vfork_one(struct conductor *)
{
	vfork_child();
}

/* As a program that becomes a daemon. */
void close_descriptors(struct conductor *)
{
	syscall(SYS_close_range, 3u, ~0u, 0u);
}

/* --- shortages -------------------------------------------------------------------------------- */

void fail_allocations(struct conductor *c)
{
	char spec[64];
	shortage meanwhile;

	std::snprintf(spec, sizeof(spec), "interval=%u,probability=%u", 1 + c->random.below(20),
		      20 + c->random.below(81));
	slab_set_fail(spec);
	wait_a_moment();
	slab_set_fail(nullptr);
}

void fail_system_calls(struct conductor *c)
{
	shortage meanwhile;

	fail_calls(1 + c->random.below(30));
	wait_a_moment();
	fail_calls(0);
}

/* --- caches ----------------------------------------------------------------------------------- */

/* A destructor that uses other caches. Any thread may run it. */
void destruct(void *obj, void *)
{
	static thread_local chance random(11);
	static thread_local std::uint64_t stamps;
	held object;

	if (load_word(obj, 0) != idle_tag(obj))
		error("destroyed in use", "cache of a conductor", obj, 0);
	if (random.below(8) == 0 && obtain(random.below(8), random, &stamps, 1, &object))
		dispose(object, random);
}

int construct(void *obj, void *)
{
	*words_of(obj) = idle_tag(obj);
	return 0;
}

void use_briefly(struct slab_cache *cache, std::uint64_t *stamps)
{
	held objects[100];
	unsigned n = 0;

	for (held &object : objects) {
		void *obj = slab_alloc(cache);

		if (!obj)
			break;
		object = {obj, ++*stamps, 120, 0xffff};
		claim(object, fresh::IDLE);
		n++;
	}
	while (n) {
		disclaim(objects[--n]);
		slab_free(cache, objects[n].obj);
	}
}

void create_and_destroy(struct conductor *c)
{
	struct slab_cache_args args = {};
	struct slab_cache *cache;
	char name[SLAB_MAX_NAME];

	args.ctor = construct;
	args.dtor = destruct;
	std::snprintf(name, sizeof(name), "soak-%u-%u", c->number, ++c->created);
	cache = slab_cache_create(name, 120, &args, 0);
	if (!cache)
		return;
	use_briefly(cache, &c->seat.stamps);
	if (slab_cache_destroy(cache) != 0)
		error("not destroyed", name, cache, 0);
}

/* --- delays ----------------------------------------------------------------------------------- */

std::atomic<bool> passed[CPU_INJECT_POINTS];

/* Points of sections in assembly spin by themselves, each time. Here other threads pass the one
 * that is held up. */
void spin_at(int point)
{
	static thread_local unsigned passes;
	unsigned loops = __atomic_load_n(&cpu_inject_loops[point], __ATOMIC_RELAXED);

	if (!loops || passes++ % 2)
		return;
	passed[point].store(true, std::memory_order_relaxed);
	if (loops % 3 == 0) {
		sched_yield();
		return;
	}
	for (; loops; loops--)
		std::atomic_signal_fence(std::memory_order_seq_cst);
}

/* Without a system call, in which another thread would take the CPU. */
void busy_wait(unsigned ns)
{
	struct timespec begun, now;

	clock_gettime(CLOCK_MONOTONIC, &begun);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - begun.tv_sec) * 1000000000L + now.tv_nsec - begun.tv_nsec <
	       static_cast<long>(ns));
}

/* Take the objects of a kind from the CPUs, again and again. In between the CPUs fill their
 * arrays. */
void drain_often(struct conductor *c, unsigned kind)
{
	struct slab_cache *cache = cache_of(kind);

	for (unsigned left = 10 + c->random.below(40); cache && left && !conductors_leave; left--) {
		slab_cache_shrink(cache);
		busy_wait(c->random.below(300000));
	}
}

/* How long threads stay at a point. Sections of engines other than rseq hold a lock that is not
 * fair. */
unsigned choose_loops(chance &random, unsigned point)
{
	static const unsigned lengths[] = {20, 100, 999, 3000, 30000};
	const bool has_locks = std::strcmp(slab_engine(), "rseq") != 0;

	if (point >= CPU_INJECT_SECTIONS)
		return lengths[1 + random.below(4)];
	return lengths[random.below(has_locks ? 3 : 4)];
}

void set_loops(unsigned point, unsigned loops)
{
	__atomic_store_n(&cpu_inject_loops[point], loops, __ATOMIC_RELAXED);
}

/* Hold threads up at a point of a section and at a step of a slow path, with objects of one kind.
 * Either the arrays of this kind are drained meanwhile; or they stay as they are, so that one
 * thread can find a slab as another one left it long before. Some threads are interrupted there,
 * which aborts a section. */
void delay(struct conductor *c)
{
	const unsigned section = c->random.below(CPU_INJECT_SECTIONS);
	const unsigned step =
		CPU_INJECT_SECTIONS + c->random.below(CPU_INJECT_POINTS - CPU_INJECT_SECTIONS);
	const unsigned kind = choose_kind(c->random);

	focus = kind;
	__atomic_store_n(&cpu_inject_hook, &spin_at, __ATOMIC_RELAXED);
	if (c->random.below(4))
		set_loops(section, choose_loops(c->random, section));
	set_loops(step, choose_loops(c->random, step));
	wait_a_moment();
	if (c->random.below(4) == 0)
		signal(c);
	if (c->random.below(2))
		drain_often(c, kind);
	else
		wait_a_moment();
	set_loops(section, 0);
	set_loops(step, 0);
	focus = no_focus;
}

const char *step_name(unsigned point)
{
	static const char *const names[] = {
#define NAME(name) #name,
		CPU_INJECT_STEPS(NAME)
#undef NAME
	};

	return names[point - CPU_INJECT_SECTIONS];
}

} /* namespace */

struct disturbance disturbances[] = {
	{"shrink", 10, shrink},
	{"trim", 3, trim},
	{"reclaim", 2, reclaim},
	{"maintain", 3, maintain},
	{"defragment", 4, defragment},
	{"limit", 2, limit},
	{"array length", 4, array_length},
	{"validate", 8, validate},
	{"count", 6, count},
	{"answer", 3, answer},
	{"debug flags", 8, switch_debug_flags},
	{"sampling", 3, switch_sampling},
	{"profile", 2, switch_profile},
	{"signal", 10, signal},
	{"migrate", 10, migrate},
	{"cancel", 4, cancel},
	{"retire", 4, retire},
	{"renew", 8, renew},
	{"crowd", 1, crowd},
	{"fork", 4, fork_one},
	{"vfork", 4, vfork_one},
	{"close descriptors", 2, close_descriptors},
	{"fail allocations", 3, fail_allocations},
	{"fail system calls", 3, fail_system_calls},
	{"create and destroy", 6, create_and_destroy},
	{"delay", 20, delay},
};
const unsigned disturbances_count = sizeof(disturbances) / sizeof(disturbances[0]);

unsigned points_passed(unsigned *ret_all)
{
	unsigned n = 0;

	for (unsigned point = CPU_INJECT_SECTIONS; point < CPU_INJECT_POINTS; point++)
		n += passed[point];
	*ret_all = CPU_INJECT_POINTS - CPU_INJECT_SECTIONS;
	return n;
}

void print_disturbances()
{
	std::printf("soak: disturbances:");
	for (unsigned i = 0; i < disturbances_count; i++)
		std::printf("%s %s %lu", i ? "," : "", disturbances[i].name,
			    disturbances[i].made.load());
	std::printf("\n");
	for (unsigned point = CPU_INJECT_SECTIONS; point < CPU_INJECT_POINTS; point++)
		if (!passed[point])
			std::printf("soak: no thread was delayed at %s\n", step_name(point));
}

} /* namespace soak */
