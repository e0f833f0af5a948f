/* SPDX-License-Identifier: MIT */
/*
 * What is read of an ELF image, and of a process that has many of them, however much
 * it claims to have.
 */
#include "../support/test.h"

extern "C" {
#include "fail.h"
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
	std::uint64_t read = 0; /* bytes that were requested */

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
			segment.p_vaddr = mib;
			segment.p_offset = 4 * mib;
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

/* The bytes of notes that are read of such an image in memory. */
std::uint64_t read_of_image(std::uint16_t segments, std::uint64_t note_bytes)
{
	forgery forged = {segments, note_bytes};
	struct elf_image image;

	EXPECT_EQ(elf_image_open(&image, copy_forged, &forged, 0), 0);
	forged.read = 0;
	EXPECT_FALSE(elf_image_each_note(&image, ignore, nullptr));
	elf_image_close(&image);
	return forged.read;
}

/* The same in a file, which is closed with the object. */
class forged_file
{
public:
	forged_file(forgery forged, std::uint16_t type)
	{
		std::vector<char> list(forged.segments * sizeof(Elf64_Phdr));
		Elf64_Ehdr elf = forged.header();

		elf.e_ident[EI_VERSION] = EV_CURRENT;
		elf.e_type = type;
		forged.copy(sizeof(elf), list.size(), list.data());
		EXPECT_GE(fd, 0);
		EXPECT_EQ(pwrite(fd, &elf, sizeof(elf), 0), ssize_t{sizeof(elf)});
		EXPECT_EQ(pwrite(fd, list.data(), list.size(), sizeof(elf)),
			  static_cast<ssize_t>(list.size()));
		EXPECT_EQ(ftruncate(fd, static_cast<off_t>(4 * mib + forged.note_bytes)), 0);
	}
	~forged_file() { close(fd); }
	forged_file(const forged_file &) = delete;
	forged_file &operator=(const forged_file &) = delete;

	const int fd = memfd_create("forged", MFD_CLOEXEC);
};

/* Zeros are notes without owner and descriptor. */
bool count(const struct elf_note *, void *notes)
{
	++*static_cast<std::uint64_t *>(notes);
	return false;
}

/* The number of notes that are read of such a file. */
std::uint64_t read_of_file(std::uint16_t type, std::uint16_t segments, std::uint64_t notes)
{
	const forged_file forged({segments, notes * sizeof(Elf64_Nhdr)}, type);
	struct elf_file file;
	std::uint64_t found = 0;

	EXPECT_EQ(elf_file_open(&file, forged.fd), 0);
	EXPECT_FALSE(elf_file_each_note(&file, count, &found));
	elf_file_close(&file);
	return found;
}

TEST(ElfImageTest, NotesOfALibraryAreBoundedInSum)
{
	EXPECT_EQ(read_of_image(3, 1000), 3000U);
	EXPECT_EQ(read_of_image(1, mib), mib);
	EXPECT_EQ(read_of_image(1, mib + 1), 0U);
	EXPECT_EQ(read_of_image(4000, mib / 2), mib);
	EXPECT_EQ(read_of_file(ET_DYN, 3, 1000), 3000U);
	EXPECT_EQ(read_of_file(ET_DYN, 1, mib / sizeof(Elf64_Nhdr)), mib / sizeof(Elf64_Nhdr));
	EXPECT_EQ(read_of_file(ET_DYN, 1, mib / sizeof(Elf64_Nhdr) + 1), 0U);
	EXPECT_EQ(read_of_file(ET_DYN, 4000, 40000), 80000U);
}

TEST(ElfImageTest, NotesOfACoreFileAreBoundedInSum)
{
	EXPECT_EQ(read_of_file(ET_CORE, 3, mib), 3 * mib);
	EXPECT_EQ(read_of_file(ET_CORE, 60000, 8 * mib), 16 * mib);
	EXPECT_EQ(read_of_file(ET_CORE, 60000, 100), 6400U);
}

TEST(ElfImageTest, SegmentsOfALibraryAreBounded)
{
	const forged_file library({4097, 1}, ET_DYN), core({4097, 1}, ET_CORE);
	forgery forged = {4097, 1};
	struct elf_image image;
	struct elf_file file;

	EXPECT_EQ(elf_image_open(&image, copy_forged, &forged, 0), -EBADMSG);
	EXPECT_EQ(elf_file_open(&file, library.fd), -EBADMSG);
	EXPECT_EQ(elf_file_open(&file, core.fd), 0);
	elf_file_close(&file);
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

TEST(ElfImageTest, WhatIsSearchedOfAProcessIsBounded)
{
	const struct memory_source source = {read_forged, nullptr, nullptr,
					     nullptr,     nullptr, false};
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

TEST(PrintableTest, ControlCharactersAndWhatIsNoUTF8AreReplaced)
{
	const struct {
		const char *text, *printable;
	} cases[] = {
		{"", ""},
		{"entry", "entry"},
		{"Größe €𐍈", "Größe €𐍈"},
		{"\x1b[31m\t\x7f\n", "?[31m???"},
		{"\xc2\x9b"
		 "1m\xc2\x80\xc2\xa0",
		 "??1m??\xc2\xa0"},
		{"\x9b"
		 "1m\xff\xc3",
		 "?1m??"},
		{"\xc0\x9b\xed\xa0\x80\xf4\x90\x80\x80", "?????????"},
	};

	for (const auto &one : cases) {
		std::string text = one.text;

		EXPECT_EQ(is_printable(one.text), text == one.printable) << one.printable;
		make_printable(text.data());
		EXPECT_EQ(text, one.printable);
	}
}

} /* namespace */
