/* SPDX-License-Identifier: MIT */
/* Single steps, and what each instruction is (locked.h). */
#include "locked.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <ucontext.h>

#define PREFIX_LOCK 0xf0
#define XCHG_BYTE 0x86
#define XCHG 0x87
#define MOD_REGISTER 3
#define PLACES 512u

uint64_t locked_count, locked_instructions;

static struct place {
	const void *code;
	uint64_t times;
} places[PLACES];

static bool is_prefix(uint8_t byte)
{
	return byte == 0x66 || byte == 0x67 || byte == 0xf2 || byte == 0xf3 || byte == 0x2e ||
	       byte == 0x36 || byte == 0x3e || byte == 0x26 || byte == 0x64 || byte == 0x65;
}

static bool is_rex(uint8_t byte)
{
	return byte >> 4 == 4;
}

/* An exchange with memory is locked without the prefix. */
static bool is_locked(const uint8_t *code)
{
	while (is_prefix(*code))
		code++;
	if (*code == PREFIX_LOCK)
		return true;
	if (is_rex(*code))
		code++;
	return (*code == XCHG || *code == XCHG_BYTE) && code[1] >> 6 != MOD_REGISTER;
}

/* One thread runs at a time (cpus.h). */
static void count(const void *code)
{
	locked_count++;
	for (unsigned i = 0; i < PLACES; i++) {
		if (!places[i].code)
			places[i].code = code;
		if (places[i].code != code)
			continue;
		places[i].times++;
		return;
	}
}

static void on_step(int signal, siginfo_t *info, void *context)
{
	const ucontext_t *at = context;

	(void)signal;
	(void)info;
	locked_instructions++;
	if (is_locked((const uint8_t *)at->uc_mcontext.gregs[REG_RIP]))
		count((const void *)at->uc_mcontext.gregs[REG_RIP]);
}

void locked_init(void)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_sigaction = on_step;
	action.sa_flags = SA_SIGINFO | SA_RESTART;
	sigaction(SIGTRAP, &action, NULL);
}

/* Not inlined: the red zone of the caller's stack is not ours to push to. */
__attribute__((noinline)) void locked_begin(void)
{
	__asm__ volatile(
		"sub $128, %%rsp\n\tpushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\tadd $128, %%rsp" ::
			: "cc", "memory");
}

__attribute__((noinline)) void locked_end(void)
{
	__asm__ volatile(
		"sub $128, %%rsp\n\tpushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq\n\tadd $128, %%rsp" ::
			: "cc", "memory");
}

void locked_print(FILE *out)
{
	Dl_info info;

	for (const struct place *place = places; place < places + PLACES && place->code; place++)
		if (dladdr(place->code, &info))
			fprintf(out, "at %s %#jx %ju\n", info.dli_fname,
				(uintmax_t)((uintptr_t)place->code - (uintptr_t)info.dli_fbase),
				(uintmax_t)place->times);
}
