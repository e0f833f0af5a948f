/* SPDX-License-Identifier: MIT */
/* slabinfo refuses files that are no core files. */
#include "core_files.h"

#include <elf.h>

namespace
{

/* --- what is no core file ------------------------------------------------------------ */

class NoCoreTest : public CoreTest
{
protected:
	void SetUp() override {}

	void refuse(const std::string &text, const std::string &message)
	{
		write_file(path, text);
		expect_error({"--core", path}, message);
	}

	/* A header that is right as far as it goes. */
	static std::string header()
	{
		Elf64_Ehdr elf = {};

		std::memcpy(elf.e_ident, ELFMAG, SELFMAG);
		elf.e_ident[EI_CLASS] = ELFCLASS64;
		elf.e_ident[EI_DATA] =
			__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
		elf.e_ident[EI_VERSION] = EV_CURRENT;
		elf.e_type = ET_CORE;
#ifdef __aarch64__
		elf.e_machine = EM_AARCH64;
#else
		elf.e_machine = EM_X86_64;
#endif
		elf.e_phoff = sizeof(elf);
		elf.e_phentsize = sizeof(Elf64_Phdr);
		elf.e_phnum = 1;
		return std::string(reinterpret_cast<const char *>(&elf), sizeof(elf));
	}

	static std::string segment(std::uint32_t type, std::uint64_t offset, std::uint64_t size)
	{
		Elf64_Phdr elf = {};

		elf.p_type = type;
		elf.p_offset = offset;
		elf.p_filesz = elf.p_memsz = size;
		return std::string(reinterpret_cast<const char *>(&elf), sizeof(elf));
	}

	const std::string path = dir.path() + "/file";
};

TEST_F(NoCoreTest, NoSuchFile)
{
	expect_error({"--core", path},
		     "the core file \"" + path + "\" cannot be opened: No such file or directory");
}

TEST_F(NoCoreTest, ADirectory)
{
	expect_error({"--core", dir.path()},
		     "\"" + dir.path() + "\" is a directory; --core needs a core file");
}

TEST_F(NoCoreTest, APipe)
{
	ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
	expect_error({"--core", path},
		     "\"" + path + "\" is a device or pipe; --core needs a core file");
}

TEST_F(NoCoreTest, AnEmptyFile)
{
	refuse("", "the core file \"" + path + "\" is empty");
}

TEST_F(NoCoreTest, Garbage)
{
	const std::string message =
		"\"" + path + "\" is no core file: it does not begin as an ELF file does";

	refuse("x", message);
	refuse("This is no core file, but a text.\n", message);
	refuse(std::string(100000, '\0'), message);
}

TEST_F(NoCoreTest, CompressedFiles)
{
	const std::pair<std::string, const char *> kinds[] = {
		{"\x28\xb5\x2f\xfd", "zstd"},
		{"\x04\x22\x4d\x18", "lz4"},
		{"\x1f\x8b", "gzip"},
		{std::string("\xfd\x37\x7a\x58\x5a\x00", 6), "xz"},
		{"BZh9", "bzip2"},
	};

	for (const auto &[magic, name] : kinds)
		refuse(magic + std::string(100, 'x'), "the core file \"" + path +
							      "\" is compressed (" + name +
							      "): decompress it first");
}

TEST_F(NoCoreTest, AProgram)
{
	expect_error({"--core", SLABINFO},
		     "\"" SLABINFO "\" is a program or library and no core file; programs are "
		     "given with --exe");
}

TEST_F(NoCoreTest, AnotherArchitecture)
{
	const std::string message =
		"the core file \"" + path + "\" is of another architecture than this slabinfo";
	std::string text = header() + segment(PT_NULL, 0, 0);

	text[offsetof(Elf64_Ehdr, e_machine)] = EM_386;
	refuse(text, message);
	text = header() + segment(PT_NULL, 0, 0);
	text[EI_CLASS] = ELFCLASS32;
	refuse(text, message);
	text = header() + segment(PT_NULL, 0, 0);
	text[EI_DATA] ^= ELFDATA2LSB ^ ELFDATA2MSB;
	refuse(text, message);
}

TEST_F(NoCoreTest, AHeaderAlone)
{
	refuse(header(),
	       "the core file \"" + path + "\" is damaged: its list of segments cannot be read");
	refuse(header().substr(0, 30),
	       "\"" + path + "\" is no core file: it does not begin as an ELF file does");
}

TEST_F(NoCoreTest, ACutOne)
{
	refuse(header() + segment(PT_LOAD, 4096, 65536),
	       "the core file \"" + path + "\" is truncated: 120 of 69632 bytes");
	/* A size that no file has is no smaller one. */
	refuse(header() + segment(PT_LOAD, 4096, ~UINT64_C(0)),
	       "the core file \"" + path + "\" is truncated: 120 of 18446744073709551615 bytes");
}

TEST_F(NoCoreTest, OneWithoutNotes)
{
	refuse(header() + segment(PT_LOAD, 0, 0),
	       "the core file \"" + path +
		       "\" does not list the files that the process had mapped (it has no NT_FILE "
		       "note)");
}

} /* namespace */
