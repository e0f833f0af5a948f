/* SPDX-License-Identifier: MIT */
/*
 * Processes that are dangerous to look at: each prints "ready" and stays until its
 * standard input ends. None of them uses libslab.
 *
 * usage: hostile_server notes|fault
 *   notes  has mapped a library whose notes would take hours to read
 *   fault  has mapped a library whose first byte never arrives: a reader of it waits
 *          for the process. "ready -1": this machine has no such memory
 */
#include <elf.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOTE_BYTES ((size_t)256 << 20)
#define NOTE_SEGMENTS 60000u
#define LIBRARY_BYTES (NOTE_BYTES + ((size_t)16 << 20))

/* Anonymous, but mapped as a file, and all zero. */
static unsigned char *map_library(void)
{
	int fd = memfd_create("library", MFD_CLOEXEC);
	void *library;

	if (fd < 0 || ftruncate(fd, LIBRARY_BYTES) != 0)
		return NULL;
	library = mmap(NULL, LIBRARY_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return library == MAP_FAILED ? NULL : library;
}

static int map_notes(void)
{
	unsigned char *library = map_library();
	Elf64_Phdr *segment = (Elf64_Phdr *)(library + sizeof(Elf64_Ehdr));
	const Elf64_Ehdr header = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
			    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB},
		.e_type = ET_DYN,
#ifdef __aarch64__
		.e_machine = EM_AARCH64,
#else
		.e_machine = EM_X86_64,
#endif
		.e_phoff = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = NOTE_SEGMENTS,
	};

	if (!library)
		return -1;
	memcpy(library, &header, sizeof(header));
	for (unsigned i = 0; i < NOTE_SEGMENTS; i++)
		segment[i] = (Elf64_Phdr){.p_type = PT_NOTE, .p_filesz = NOTE_BYTES};
	return 0;
}

static int map_fault(void)
{
	unsigned char *library = map_library();
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register area = {
		.range = {.start = (uintptr_t)library, .len = LIBRARY_BYTES},
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	if (!library || fd < 0 || ioctl(fd, UFFDIO_API, &api) != 0 ||
	    ioctl(fd, UFFDIO_REGISTER, &area) != 0)
		return -1;
	return 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	char byte;

	printf("ready %d\n", strcmp(mode, "fault") == 0 ? map_fault() : map_notes());
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	return 0;
}
