/* SPDX-License-Identifier: MIT */
/*
 * vfork(), for children that allocate before they execute a program.
 *
 * The child runs in its parent's memory, with the parent's struct rseq, but the kernel has not
 * registered that for the child: it neither restarts the child's sequences nor updates the CPU's
 * number. So the child's allocations would act for the CPU that the parent ran on, at the same time
 * as other threads there. Therefore the child stores -1, "no CPU", which all engines know: its
 * allocations and frees take slow paths, which need no CPU.
 *
 * When the parent goes on, the kernel may consider its CPU unchanged and not store it again. The
 * parent then restores the number that the child found: the kernel stored that last, so it is the
 * parent's CPU, unless the kernel stores another one later. The restoring store is the end of a
 * restartable sequence, so it does not overwrite a number that is newer. In between, the parent is
 * a thread without a CPU.
 *
 * Kernels that are built to check struct rseq (CONFIG_DEBUG_RSEQ) end a process that writes to it.
 * The function is assembly because it returns twice: the child overwrites the stack below the
 * caller's frame.
 */
#include <errno.h>
#include <stddef.h>

#include "vfork.h"

#if defined(__x86_64__) || defined(__aarch64__)

#define HIDDEN __attribute__((visibility("hidden")))

/* Weak, because the C library may be older than its rseq support (2.35). */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

/* From the thread pointer to struct rseq; 0: there is none. */
HIDDEN long vfork_rseq;
/* The number that the child of this thread found. */
HIDDEN __thread int vfork_cpu __attribute__((tls_model("initial-exec")));

void vfork_init(void)
{
	if (&__rseq_size && &__rseq_offset && __rseq_size)
		vfork_rseq = __rseq_offset;
}

HIDDEN int vfork_failed(int error);

int vfork_failed(int error)
{
	errno = -error;
	return -1;
}

/* clang-format off */
#ifdef __x86_64__
__asm__(
	".pushsection .data.rel.ro, \"aw\"\n\t"
	".balign 32\n"
	"vfork_section: .long 0, 0\n\t"
	".quad 1f, 2f - 1f, 4f\n\t"
	".popsection\n\t"

	".text\n\t"
	".globl vfork\n\t"
	".type vfork, @function\n\t"
	".p2align 4\n"
	"vfork:\n\t"
	".cfi_startproc\n\t"
	"pop %rdi\n\t"                           /* the system call preserves it */
	".cfi_adjust_cfa_offset -8\n\t"
	".cfi_register %rip, %rdi\n\t"
	"mov vfork_rseq(%rip), %rsi\n\t"
	"mov vfork_cpu@gottpoff(%rip), %r8\n\t"
	"mov $-1, %r9d\n\t"
	"test %rsi, %rsi\n\t"
	"jz 3f\n\t"
	"mov %fs:4(%rsi), %r9d\n"                 /* negative: a child of vfork() itself */
	"3: mov $58, %eax\n\t"                      /* SYS_vfork */
	"syscall\n\t"
	"push %rdi\n\t"
	".cfi_adjust_cfa_offset 8\n\t"
	".cfi_rel_offset %rip, 0\n\t"
	"test %r9d, %r9d\n\t"
	"js 6f\n\t"
	"test %eax, %eax\n\t"
	"jnz 5f\n\t"

	/* The child. The parent may have changed its CPU before the system call. */
	"mov %fs:4(%rsi), %ecx\n\t"
	"mov %ecx, %fs:(%r8)\n\t"
	"movl $-1, %fs:4(%rsi)\n\t"
	"ret\n"

	/* The parent. */
	"5: lea vfork_section(%rip), %rcx\n\t"
	"mov %rcx, %fs:8(%rsi)\n"
	"1: cmpl $-1, %fs:4(%rsi)\n\t"
	"jne 6f\n\t"
	"mov %fs:(%r8), %edx\n\t"
	"mov %edx, %fs:4(%rsi)\n"
	"2:\n"
	"6: cmp $-4095, %eax\n\t"
	"jae 7f\n\t"
	"ret\n"
	"7: mov %eax, %edi\n\t"
	"jmp vfork_failed\n\t"

	".byte 0x0f, 0xb9, 0x3d\n\t.long 0x53053053\n"
	"4: jmp 5b\n\t"
	".cfi_endproc\n\t"
	".size vfork, . - vfork\n\t");
#else
__asm__(
	".pushsection .data.rel.ro, \"aw\"\n\t"
	".balign 32\n"
	"vfork_section: .long 0, 0\n\t"
	".quad 1f, 2f - 1f, 4f\n\t"
	".popsection\n\t"

	".text\n\t"
	".globl vfork\n\t"
	".type vfork, %function\n\t"
	".p2align 4\n"
	"vfork:\n\t"
	".cfi_startproc\n\t"
	"hint #34\n\t"                           /* bti c */
	"adrp x2, vfork_rseq\n\t"
	"ldr x2, [x2, #:lo12:vfork_rseq]\n\t"
	"mrs x3, tpidr_el0\n\t"
	"adrp x4, :gottprel:vfork_cpu\n\t"
	"ldr x4, [x4, #:gottprel_lo12:vfork_cpu]\n\t"
	"add x4, x4, x3\n\t"                     /* vfork_cpu */
	"add x5, x3, x2\n\t"                     /* struct rseq */
	"mov w9, #-1\n\t"
	"cbz x2, 3f\n\t"
	"ldr w9, [x5, #4]\n"                     /* negative: a child of vfork() itself */
	"3: mov x0, #0x4111\n\t"                 /* CLONE_VFORK | CLONE_VM | SIGCHLD */
	"mov x1, #0\n\t"
	"mov x8, #220\n\t"                       /* SYS_clone; it preserves all registers but x0 */
	"svc #0\n\t"
	"tbnz w9, #31, 6f\n\t"
	"cbnz x0, 5f\n\t"

	/* The child. The parent may have changed its CPU before the system call. */
	"ldr w10, [x5, #4]\n\t"
	"str w10, [x4]\n\t"
	"mov w10, #-1\n\t"
	"str w10, [x5, #4]\n\t"
	"ret\n"

	/* The parent. */
	"5: adrp x11, vfork_section\n\t"
	"add x11, x11, #:lo12:vfork_section\n\t"
	"str x11, [x5, #8]\n"
	"1: ldr w10, [x5, #4]\n\t"
	"cmn w10, #1\n\t"
	"b.ne 6f\n\t"
	"ldr w12, [x4]\n\t"
	"str w12, [x5, #4]\n"
	"2:\n"
	"6: cmn x0, #4095\n\t"
	"b.hs 7f\n\t"
	"ret\n"
	"7: b vfork_failed\n\t"

	".inst 0xd428bc00\n"
	"4: b 5b\n\t"
	".cfi_endproc\n\t"
	".size vfork, . - vfork\n\t");
#endif
/* clang-format on */

#else

void vfork_init(void) {}

#endif
