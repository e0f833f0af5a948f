/* SPDX-License-Identifier: MIT */
/*
 * Restartable sequences under the scheduler. The library finds a struct rseq of this file, with the
 * CPU that the scheduler says, in place of the kernel's. So the kernel aborts nothing. A thread
 * goes through a sequence instruction by instruction, and wherever it is stopped the handler of
 * SIGTRAP does what the kernel would: if another thread ran on that CPU meanwhile, or fenced, the
 * thread goes on at the sequence's abort handler.
 */
#include "scheduler.h"

#include "../support/rooms.h"

#include <linux/rseq.h>
#if defined(__x86_64__)
#include <ucontext.h>
#endif

bool scheduler::stop_in_section()
{
	player &self = me();

	note(4);
	self.aborted = random(8) == 0; /* a signal */
	self.sleeps = random(2) ? random(60) : 0;
	give_turn_to(choose());
	self.aborted |= interrupt();
	return self.aborted;
}

void scheduler::abort_sections()
{
	for (const auto &one : players_)
		one->aborted = true;
}

#if defined(__x86_64__)

namespace
{

constexpr long trap_flag = 0x100;
constexpr unsigned most_steps = 250; /* to a section, and through one */

thread_local struct rseq shown;
thread_local unsigned steps_left;
thread_local bool is_inside;

const struct rseq_cs *sequence_at(std::uintptr_t ip)
{
	const auto *cs = reinterpret_cast<const struct rseq_cs *>(shown.rseq_cs);

	return cs && ip - cs->start_ip < cs->post_commit_offset ? cs : nullptr;
}

void on_trap(int, siginfo_t *, void *context)
{
	greg_t *regs = static_cast<ucontext_t *>(context)->uc_mcontext.gregs;
	scheduler *one = running_under();

	if (!steps_left || !one) {
		regs[REG_EFL] &= ~trap_flag;
		return;
	}
	const struct rseq_cs *cs = sequence_at(static_cast<std::uintptr_t>(regs[REG_RIP]));

	if (cs && one->random(6) == 0) {
		const unsigned left = steps_left;

		steps_left = 0;
		if (one->stop_in_section())
			regs[REG_RIP] = static_cast<greg_t>(cs->abort_ip);
		steps_left = left;
	}
	if (cs)
		is_inside = true;
	else if (is_inside)
		steps_left = 1; /* behind it */
	if (--steps_left == 0)
		regs[REG_EFL] &= ~trap_flag;
}

} /* namespace */

void schedule_cpus()
{
	slab_init();
	if (cpu_engine != &cpu_engine_rseq)
		return;
	cpu_rseq_offset =
		reinterpret_cast<char *>(&shown) - static_cast<char *>(__builtin_thread_pointer());
	struct sigaction action = {};

	action.sa_sigaction = on_trap;
	action.sa_flags = SA_SIGINFO | SA_NODEFER;
	sigaction(SIGTRAP, &action, nullptr);
}

void show_cpu(int cpu)
{
	shown.cpu_id = shown.cpu_id_start = static_cast<std::uint32_t>(cpu);
}

unsigned stop_stepping()
{
	return std::exchange(steps_left, 0);
}

void go_on_stepping(unsigned steps)
{
	if (!steps)
		return;
	steps_left = steps;
	__builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | trap_flag);
}

void step_through_sections()
{
	sigset_t blocked;

	if (cpu_engine != &cpu_engine_rseq || pthread_sigmask(0, nullptr, &blocked) != 0 ||
	    sigismember(&blocked, SIGTRAP))
		return;
	is_inside = false;
	go_on_stepping(most_steps);
}
#else
void schedule_cpus() {}

void show_cpu(int) {}

void step_through_sections() {}

unsigned stop_stepping()
{
	return 0;
}

void go_on_stepping(unsigned) {}
#endif
