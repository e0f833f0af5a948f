/* SPDX-License-Identifier: MIT */
/* What the linker leads here (--wrap): what the library waits for, and what the system gives. */
#include "scheduler.h"

#include <linux/futex.h>

extern "C" {
#include "lock.h"

void __real_cpu_lock_wait(struct cpu_lock *lock);
int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __real_pthread_mutex_trylock(pthread_mutex_t *mutex);
int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __real_pthread_mutex_clocklock(pthread_mutex_t *, clockid_t, const struct timespec *);
int __real_pthread_mutex_timedlock(pthread_mutex_t *, const struct timespec *);
int __real_clock_gettime(clockid_t clock, struct timespec *time);
void __real_clock_sleep(long ns);
long __real_syscall(long number, long, long, long, long, long, long);
bool __real_fail_pages();
int __real_madvise(void *start, std::size_t bytes, int advice);
int __real_mprotect(void *start, std::size_t bytes, int access);
int __real_munmap(void *start, std::size_t bytes);
void *__real_mremap(void *start, std::size_t bytes, std::size_t to_bytes, int flags, void *to);
}

namespace
{

constexpr unsigned patience = 40; /* turns of others before a bounded wait ends */

struct {
	unsigned first, end, asked;
} requests[5];
std::vector<const void *> taken; /* locks, by threads that no scheduler runs */

void took_mutex(scheduler *one, const pthread_mutex_t *mutex)
{
	one->me().mutexes.push_back(mutex);
	one->took(mutex);
}

/* As if the time were over after some turns of others. */
int lock_within_patience(scheduler *one, pthread_mutex_t *mutex)
{
	for (unsigned i = 0; i < patience; i++) {
		if (__real_pthread_mutex_trylock(mutex) == 0) {
			took_mutex(one, mutex);
			return 0;
		}
		one->wait();
	}
	return ETIMEDOUT;
}

/* A thread unlocks what it has locked. */
void note_unlock(player &self, const pthread_mutex_t *mutex)
{
	const auto found = std::find(self.mutexes.begin(), self.mutexes.end(), mutex);

	if (found == self.mutexes.end())
		ADD_FAILURE() << "unlocks a mutex that it has not locked";
	else
		self.mutexes.erase(found);
}

long futex(scheduler *one, std::uint32_t *word, long op, std::uint32_t value)
{
	player &self = one->me();
	long woken = 0;

	if (op == FUTEX_WAIT_PRIVATE) {
		if (__atomic_load_n(word, __ATOMIC_SEQ_CST) != value) {
			errno = EAGAIN;
			return -1;
		}
		self.futex = word;
		while (self.futex == word)
			one->wait();
		return 0;
	}
	for (const auto &other : one->players())
		if (other->futex == word && woken < static_cast<long>(value)) {
			other->futex = nullptr;
			woken++;
		}
	one->pass(5);
	return woken;
}

bool refuses(request what)
{
	auto &one = requests[static_cast<std::size_t>(what)];

	one.asked++;
	return one.asked >= one.first && one.asked < one.end;
}

/* -1 with this error if the system refuses what a thread of the scheduler asks for. */
int ask(request what, int error)
{
	if (!running_under() || !refuses(what))
		return 0;
	errno = error;
	return -1;
}

/* membarrier(2), or the visit of a CPU: sections there end. */
long fence(scheduler *one, const unsigned long *cpus)
{
	if (ask(cpus ? request::visit : request::fence, EPERM))
		return -1;
	if (!cpus)
		one->abort_sections();
	else if ((*cpus & (*cpus - 1)) == 0)
		one->move_to(__builtin_ctzl(*cpus));
	one->pass(6);
	return 0;
}

} /* namespace */

void schedule_refuse(request what, unsigned first, unsigned end)
{
	auto &one = requests[static_cast<std::size_t>(what)];

	one.first = first;
	one.end = end;
}

void schedule_refuse_nothing()
{
	for (auto &one : requests)
		one = {};
}

unsigned schedule_asked(request what)
{
	return requests[static_cast<std::size_t>(what)].asked;
}

/* A word of four bytes has changed, which may be a lock (cpu_cache/lock.h). */
void schedule_lock_word(const volatile void *word, std::uint32_t before, std::uint32_t after)
{
	const void *lock = const_cast<const void *>(word);
	const unsigned steps = stop_stepping();
	scheduler *one = running_under();

	if (one && after == CPU_LOCK_FREE) {
		auto &mine = one->me().cpu_locks;

		mine.erase(std::remove(mine.begin(), mine.end(), lock), mine.end());
	} else if (before == CPU_LOCK_FREE && one) {
		one->me().cpu_locks.push_back(lock);
		one->took(lock);
	} else if (before == CPU_LOCK_FREE) {
		taken.push_back(lock);
	}
	go_on_stepping(steps);
}

std::vector<const void *> schedule_locks_of(const std::function<void()> &act)
{
	taken.clear();
	act();
	return std::exchange(taken, {});
}

bool schedule_holds()
{
	scheduler *one = running_under();

	return one && !(one->me().mutexes.empty() && one->me().cpu_locks.empty());
}

bool schedule_others_hold()
{
	scheduler *one = running_under();

	return one &&
	       std::any_of(one->players().begin(), one->players().end(), [one](const auto &other) {
		       return other.get() != &one->me() && !other->mutexes.empty();
	       });
}

extern "C" {

void __wrap_cpu_lock_wait(struct cpu_lock *lock)
{
	scheduler *one = running_under();

	if (!one || one->real_locks())
		__real_cpu_lock_wait(lock);
	else
		while (!cpu_lock_try(lock))
			one->wait();
	if (one && !one->real_locks())
		schedule_lock_word(lock, CPU_LOCK_FREE, CPU_LOCK_TAKEN);
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
	scheduler *one = running_under();

	if (!one) {
		taken.push_back(mutex);
		return __real_pthread_mutex_lock(mutex);
	}
	one->pass(1);
	while (__real_pthread_mutex_trylock(mutex) != 0)
		one->wait();
	took_mutex(one, mutex);
	one->pass(7);
	return 0;
}

int __wrap_pthread_mutex_trylock(pthread_mutex_t *mutex)
{
	const int result = __real_pthread_mutex_trylock(mutex);

	if (scheduler *one = running_under(); one && result == 0)
		took_mutex(one, mutex);
	return result;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	const int result = __real_pthread_mutex_unlock(mutex);

	if (scheduler *one = running_under()) {
		note_unlock(one->me(), mutex);
		one->pass(2);
	}
	return result;
}

int __wrap_pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock,
				   const struct timespec *until)
{
	scheduler *one = running_under();

	return one ? lock_within_patience(one, mutex)
		   : __real_pthread_mutex_clocklock(mutex, clock, until);
}

int __wrap_pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until)
{
	scheduler *one = running_under();

	return one ? lock_within_patience(one, mutex)
		   : __real_pthread_mutex_timedlock(mutex, until);
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
	scheduler *one = running_under();

	if (!one)
		return __real_clock_gettime(clock, time);
	const std::uint64_t now = one->tick();

	time->tv_sec = static_cast<time_t>(now / 1000000000);
	time->tv_nsec = static_cast<long>(now % 1000000000);
	return 0;
}

void __wrap_clock_sleep(long ns)
{
	if (scheduler *one = running_under())
		one->wait();
	else
		__real_clock_sleep(ns);
}

int __wrap_sched_getcpu()
{
	scheduler *one = running_under();

	return one ? one->me().cpu : 0;
}

long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	scheduler *one = running_under();

	stop_stepping(); /* rt_sigprocmask(2) may block SIGTRAP */
	if (one && number == SYS_futex)
		return futex(one, reinterpret_cast<std::uint32_t *>(a), b,
			     static_cast<std::uint32_t>(c));
	if (number == SYS_process_vm_readv && ask(request::peek, EFAULT))
		return -1;
	if (one && number == SYS_membarrier)
		return fence(one, nullptr);
	if (one && number == SYS_sched_setaffinity)
		return fence(one, reinterpret_cast<const unsigned long *>(c));
	if (one && number == SYS_sched_getaffinity) {
		*reinterpret_cast<unsigned long *>(c) = ~0ul; /* this process is pinned */
		return sizeof(long);
	}
	return __real_syscall(number, a, b, c, d, e, f);
}

bool __wrap_fail_pages()
{
	return refuses(request::pages) || __real_fail_pages();
}

int __wrap_madvise(void *start, std::size_t bytes, int advice)
{
	return ask(request::mappings, ENOMEM) ? -1 : __real_madvise(start, bytes, advice);
}

int __wrap_mprotect(void *start, std::size_t bytes, int access)
{
	return ask(request::mappings, ENOMEM) ? -1 : __real_mprotect(start, bytes, access);
}

int __wrap_munmap(void *start, std::size_t bytes)
{
	return ask(request::mappings, ENOMEM) ? -1 : __real_munmap(start, bytes);
}

void *__wrap_mremap(void *start, std::size_t bytes, std::size_t to_bytes, int flags, void *to)
{
	return ask(request::mappings, ENOMEM) ? MAP_FAILED
					      : __real_mremap(start, bytes, to_bytes, flags, to);
}

} /* extern "C" */
