/* SPDX-License-Identifier: MIT */
/*
 * A process with one thread. Its signal handlers may fork at any moment: the children return from
 * them, as the parent does. Its children may have a system call filter that forbids nearly all
 * calls. No test here starts a thread. A hang ends by SIGALRM.
 */
#include "preloaded.h"

#include <linux/filter.h>
#include <linux/seccomp.h>

#include "../support/process.h"

namespace
{

/* Blocks of all sizes, which come, go and change. They keep their contents, or the process ends. */
class churn
{
public:
	explicit churn(unsigned seed) : random_(seed) {}

	void step()
	{
		block &chosen = blocks_[random_() % count];

		check(chosen);
		if (random_() % 3 == 0) {
			free(chosen.start);
			chosen.start = nullptr;
		}
		chosen.size = std::size_t{1} << random_() % 21;
		chosen.size -= random_() % ((chosen.size + 1) / 2);
		chosen.start = static_cast<unsigned char *>(realloc(chosen.start, chosen.size));
		if (!chosen.start)
			std::abort();
		chosen.byte = static_cast<unsigned char>(random_());
		chosen.start[0] = chosen.start[chosen.size - 1] = chosen.byte;
	}

	void free_all()
	{
		for (block &each : blocks_) {
			check(each);
			free(each.start);
			each.start = nullptr;
		}
	}

private:
	static constexpr unsigned count = 200;

	struct block {
		unsigned char *start;
		std::size_t size;
		unsigned char byte;
	};

	static void check(const block &each)
	{
		if (each.start &&
		    (each.start[0] != each.byte || each.start[each.size - 1] != each.byte))
			std::abort();
	}

	std::minstd_rand random_;
	block blocks_[count] = {};
};

/* The process's CPU time in ms: signals that come by it cannot come faster than it goes on. */
void interrupt_each(long ms)
{
	const struct itimerval times = {{0, ms * 1000}, {0, ms * 1000}};

	setitimer(ITIMER_PROF, &times, nullptr);
}

constexpr int forks = 100;
volatile sig_atomic_t forked, failed, is_child;

/* Children of fork() have no timer. */
void fork_in_handler(int)
{
	const int saved = errno;
	const pid_t child = fork();
	int status = 0;

	if (child == 0) {
		is_child = 1;
		errno = saved;
		return;
	}
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	forked = forked + 1;
	failed = failed || child < 0 || status != 0;
	if (forked >= forks || failed)
		interrupt_each(0);
	errno = saved;
}

TEST(OneThread, ForksInHandlersWhereverTheyInterruptIt)
{
	const unsigned seed = std::random_device()();
	churn blocks(seed);

	SCOPED_TRACE("seed " + std::to_string(seed));
	alarm(child_seconds);
	signal(SIGPROF, fork_in_handler);
	interrupt_each(1);
	while (forked < forks && !failed && !is_child)
		blocks.step();
	if (is_child) {
		alarm(child_seconds);
		for (int i = 0; i < 500; i++)
			blocks.step();
		blocks.free_all();
		_exit(0);
	}
	EXPECT_FALSE(failed);
	blocks.free_all();
	alarm(0);
}

/* --- few system calls --------------------------------------------------------------------- */

/* Other calls than these kill the process from here on. The clock is a call where the kernel maps
 * no function for it, and the last two are the test's own. */
bool allow_few_calls()
{
	const unsigned allowed[] = {SYS_mmap,    SYS_munmap,    SYS_mremap,        SYS_mprotect,
				    SYS_madvise, SYS_futex,     SYS_clock_gettime, SYS_getcpu,
				    SYS_write,   SYS_exit_group};
	std::vector<struct sock_filter> code = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
	struct sock_fprog program;

	for (const unsigned number : allowed) {
		code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
		code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
	}
	code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
	program = {static_cast<unsigned short>(code.size()), code.data()};
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

/* What caches have, empty slabs too, and what no slab has. */
std::uint64_t held_bytes()
{
	struct slab_process_stats stats = {};

	stats.struct_size = sizeof(stats);
	slab_process_stats(&stats);
	return stats.slab_bytes + stats.cached_bytes;
}

/* More than is needed for huge pages (SLAB_HUGE=auto). Returns what was held at the peak. */
std::uint64_t grow_and_shrink()
{
	std::uint64_t peak;

	constexpr std::size_t size = 2000, count = (std::size_t{160} << 20) / size;
	static void *blocks[count];

	for (void *&block : blocks) {
		block = malloc(size);
		if (!block)
			std::abort();
		std::memset(block, 1, 1);
	}
	peak = held_bytes();
	for (void *&block : blocks)
		free(block);
	return peak;
}

/* Until most of what was free has returned, by frees or by decay. */
int live_with_few_calls(unsigned seed)
{
	constexpr unsigned rounds = 3;
	churn blocks(seed);

	if (!allow_few_calls())
		return 77;
	for (unsigned round = 0; round < rounds; round++) {
		const std::uint64_t peak = grow_and_shrink();

		do
			blocks.step();
		while (held_bytes() > peak / 4);
	}
	blocks.free_all();
	return 0;
}

TEST(OneThread, AChildNeedsFewSystemCalls)
{
	const unsigned seed = std::random_device()();
	std::string failure;

	SCOPED_TRACE("seed " + std::to_string(seed));
	failure = run_in_child_now([seed] { return live_with_few_calls(seed); });
	if (failure == "exit status 77")
		GTEST_SKIP() << "no system call filter here";
	EXPECT_EQ(failure, "");
}

} /* namespace */
