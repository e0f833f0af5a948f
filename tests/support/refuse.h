/* SPDX-License-Identifier: MIT */
/* Kernels and containers that refuse a system call, by a seccomp filter. */
#pragma once

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* From here on, system call `number` is answered by `action` (SECCOMP_RET_*) in this thread, in
 * threads that it starts and in programs that it runs. False: the machine does not permit it. */
inline bool answer_by(unsigned number, unsigned action)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

/* answer_by(): the system call fails with `error`. */
inline bool refuse(unsigned number, unsigned error)
{
	return answer_by(number, SECCOMP_RET_ERRNO | error);
}

/* The thread can neither fence by membarrier(2) nor visit CPUs from here on. */
inline bool refuse_fences(unsigned error = EPERM)
{
	return refuse(SYS_membarrier, error) && refuse(SYS_sched_setaffinity, error);
}
