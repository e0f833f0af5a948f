/* SPDX-License-Identifier: MIT */
/*
 * What is read of an ELF image, and of a process that has many of them, however much
 * it claims to have.
 */
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

extern "C" {
#include "memory_source.h"
}

namespace
{

constexpr std::uint64_t mib = 1 << 20;

/* A library of note segments, at every address that is a multiple of `apart`. */
struct forgery {
	std::uint16_t segments;
	std::uint64_t note_bytes;
	std::uint64_t apart = UINT64_C(1) << 40;
	std::uint64_t read = 0; /* bytes that were asked for */

	Elf64_Ehdr header() const
	{
		Elf64_Ehdr elf = {};

		std::memcpy(elf.e_ident, ELFMAG, SELFMAG);
		elf.e_ident[EI_CLASS] = ELFCLASS64;
		elf.e_ident[EI_DATA] =
			__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
#ifdef __aarch64__
		elf.e_machine = EM_AARCH64;
#else
		elf.e_machine = EM_X86_64;
#endif
		elf.e_phoff = sizeof(elf);
		elf.e_phentsize = sizeof(Elf64_Phdr);
		elf.e_phnum = segments;
		return elf;
	}

	int copy(std::uint64_t at, std::size_t size, void *to)
	{
		const Elf64_Ehdr elf = header();
		std::vector<Elf64_Phdr> list;

		read += size;
		std::memset(to, 0, size);
		at %= apart;
		if (at == 0)
			std::memcpy(to, &elf, std::min(size, sizeof(elf)));
		if (at == sizeof(elf)) {
			Elf64_Phdr segment = {};

			segment.p_type = PT_NOTE;
			segment.p_vaddr = segment.p_offset = mib;
			segment.p_filesz = note_bytes;
			list.assign(segments, segment);
			std::memcpy(to, list.data(), std::min(size, list.size() * sizeof(segment)));
		}
		return 0;
	}
};

int copy_forged(void *arg, std::uint64_t at, std::size_t size, void *to)
{
	return static_cast<forgery *>(arg)->copy(at, size, to);
}

bool ignore(const struct elf_note *, void *)
{
	return false;
}

/* The bytes of notes that are read of such an image. */
std::uint64_t read_of(enum elf_kind kind, std::uint16_t segments, std::uint64_t note_bytes)
{
	forgery forged = {segments, note_bytes};
	struct elf_image image;

	EXPECT_EQ(elf_open(&image, kind, {copy_forged, &forged}, 0), 0);
	forged.read = 0;
	EXPECT_FALSE(elf_each_note(&image, ignore, nullptr));
	elf_close(&image);
	return forged.read;
}

TEST(ElfImageTest, NotesOfALibraryAreBoundedInSum)
{
	for (enum elf_kind kind : {ELF_FILE, ELF_LOADED}) {
		EXPECT_EQ(read_of(kind, 3, 1000), 3000U);
		EXPECT_EQ(read_of(kind, 1, mib), mib);
		EXPECT_EQ(read_of(kind, 1, mib + 1), 0U);
		EXPECT_EQ(read_of(kind, 4000, mib / 2), mib);
	}
}

TEST(ElfImageTest, NotesOfACoreFileAreBoundedInSum)
{
	EXPECT_EQ(read_of(ELF_CORE, 3, mib), 3 * mib);
	EXPECT_EQ(read_of(ELF_CORE, 60000, 100 * mib), 200 * mib);
}

TEST(ElfImageTest, SegmentsOfALibraryAreBounded)
{
	forgery forged = {4097, 1};
	struct elf_image image;

	for (enum elf_kind kind : {ELF_FILE, ELF_LOADED})
		EXPECT_EQ(elf_open(&image, kind, {copy_forged, &forged}, 0), -EBADMSG);
	EXPECT_EQ(elf_open(&image, ELF_CORE, {copy_forged, &forged}, 0), 0);
	elf_close(&image);
}

/* --- many of them ---------------------------------------------------------------- */

struct forged_process {
	struct memory memory;
	forgery forged;
};

int read_forged(struct memory *memory, std::uint64_t address, std::size_t size, void *to)
{
	return reinterpret_cast<forged_process *>(memory)->forged.copy(address, size, to);
}

int read_no_pieces(struct memory *, std::uint64_t, std::size_t, std::size_t, std::size_t, void *)
{
	return -EFAULT;
}

TEST(ElfImageTest, WhatIsSearchedOfAProcessIsBounded)
{
	const struct memory_source source = {read_forged, read_no_pieces, nullptr, false};
	forged_process process = {{}, {1000, 1000, UINT64_C(1) << 32}};

	process.memory.source = &source;
	for (std::uint64_t i = 0; i < 1000; i++) {
		struct mapping mapping = {};

		mapping.start = i << 32;
		mapping.end = mapping.start + 4096;
		ASSERT_TRUE(memory_add_mapping(&process.memory, &mapping, "/library"));
	}
	EXPECT_EQ(memory_find_root(&process.memory), -ENOENT);
	EXPECT_GT(process.forged.read, 32 * mib);
	EXPECT_LE(process.forged.read, 64 * mib);
	memory_free_mappings(&process.memory);
}

} /* namespace */
