/* SPDX-License-Identifier: MIT */
/* Libraries that are loaded with RTLD_DEEPBIND have libslab's malloc(), and dlopen() finds them as
 * it does without libslab. */
#include "../support/test.h"

extern "C" {
void *opener_open(const char *file, int mode);
void *opener_open_in(Lmid_t space, const char *file, int mode);
}

namespace
{

constexpr const char *name = "libmalloc_deepbind.so";

/* A function of a library. */
template <typename Function> Function *function_of(void *handle, const char *symbol)
{
	void *found = dlsym(handle, symbol);
	Function *function = nullptr;

	std::memcpy(&function, &found, sizeof(found));
	return function;
}

void expect_one_malloc(void *handle)
{
	ASSERT_NE(handle, nullptr) << dlerror();
	function_of<void(void *)>(handle, "deepbind_free")(std::malloc(100));
	function_of<void(void *)>(handle, "deepbind_free")(std::malloc(100000));
	char *text = function_of<char *()>(handle, "deepbind_text")();
	EXPECT_STREQ(text, "text of a library");
	std::free(text);
	dlclose(handle);
}

TEST(PreloadedDlopen, ALibraryThatBindsDeepFreesMemoryOfTheProgram)
{
	expect_one_malloc(dlopen(DEEPBIND, RTLD_NOW | RTLD_DEEPBIND));
}

TEST(PreloadedDlopen, SoDoesOneThatIsLoadedInTheNamespaceOfTheProgram)
{
	expect_one_malloc(dlmopen(LM_ID_BASE, DEEPBIND, RTLD_NOW | RTLD_DEEPBIND));
}

TEST(PreloadedDlopen, FindsALibraryByTheRunpathOfItsCaller)
{
	expect_one_malloc(opener_open(name, RTLD_NOW));
	expect_one_malloc(opener_open(name, RTLD_NOW | RTLD_DEEPBIND));
	expect_one_malloc(opener_open_in(LM_ID_BASE, name, RTLD_NOW | RTLD_DEEPBIND));
	EXPECT_EQ(dlopen(name, RTLD_NOW), nullptr) << "the program's RUNPATH leads there, too";
}

TEST(PreloadedDlopen, FailsAsTheCLibrarysDoes)
{
	EXPECT_EQ(dlopen("/nowhere/at/all.so", RTLD_NOW | RTLD_DEEPBIND), nullptr);
	EXPECT_NE(std::string(dlerror()).find("/nowhere/at/all.so"), std::string::npos);
	EXPECT_NE(dlopen(nullptr, RTLD_NOW), nullptr);
}

} /* namespace */
