/* SPDX-License-Identifier: MIT */
/*
 * Frees of pointers that are not libslab's: whatever lies there, mapped or not, the free is
 * reported and the program goes on.
 */
#include "../support/faults.h"
#include "../support/objects.h"
#include "../support/reports.h"
#include "../support/rooms.h"

namespace
{

constexpr std::size_t segment = SEGMENT_SIZE;

/* Memory of a whole segment, aligned like one, all words of which are `word`. */
char *like_a_segment(std::uint64_t word)
{
	static std::vector<std::unique_ptr<closed_memory>> kept;

	kept.push_back(std::make_unique<closed_memory>(segment, segment));
	kept.back()->open();

	auto *words = reinterpret_cast<std::uint64_t *>(kept.back()->get());

	for (std::size_t i = 0; i < segment / 8; i++)
		words[i] = word;
	return kept.back()->get() + segment / 2;
}

/* The end of a page behind which there is nothing: a descriptor there is cut off. */
std::uint64_t edge_of_memory(std::size_t left)
{
	static closed_memory pages(2 * 4096);

	mprotect(pages.get(), 4096, PROT_READ | PROT_WRITE);
	return reinterpret_cast<std::uint64_t>(pages.get() + 4096 - left);
}

struct bad_pointer {
	const char *name;
	void *(*make)();
};

void PrintTo(const bad_pointer &pointer, std::ostream *stream)
{
	*stream << pointer.name;
}

const bad_pointer bad_pointers[] = {
	{"Malloc", [] { return std::malloc(100); }},
	{"LargeMalloc", [] { return std::malloc(std::size_t{64} << 20); }},
	{"Stack", []() -> void * { return __builtin_frame_address(0); }},
	{"Data", []() -> void * { return const_cast<bad_pointer *>(bad_pointers); }},
	{"Function", [] { return reinterpret_cast<void *>(&slab_free); }},
	{"Eight", [] { return address(8); }},
	{"MinusEight", [] { return address(static_cast<std::uintptr_t>(-8)); }},
	{"NotCanonical", [] { return address(UINT64_C(0x8000000000000000)); }},
	{"NotCanonicalPoison", [] { return address(UINT64_C(0x6b6b6b6b6b6b6b6b)); }},
	{"Kernel", [] { return address(UINT64_C(0xffff888000001000)); }},
	{"MappedFile", []() -> void * { return mapped_file(64 << 20) + (32 << 20) + 16; }},
	{"MappedFileEnd", []() -> void * { return mapped_file(8192) + 8191; }},
	{"TableOfZeros", []() -> void * { return like_a_segment(0); }},
	{"TableNotCanonical", []() -> void * { return like_a_segment(UINT64_C(0xa5) << 56); }},
	{"TableReadable",
	 []() -> void * { return like_a_segment(reinterpret_cast<std::uint64_t>(environ)); }},
	{"TableMisaligned", []() -> void * { return like_a_segment(edge_of_memory(129)); }},
	{"TableWithACutUser", []() -> void * { return like_a_segment(edge_of_memory(28)); }},
	{"TableWithACutSlab", []() -> void * { return like_a_segment(edge_of_memory(100)); }},
};

std::string name_of(const testing::TestParamInfo<bad_pointer> &info)
{
	return info.param.name;
}

/* No leaks are looked for here: what was taken stays until the child's end. */
class BadPointerTest : public testing::TestWithParam<bad_pointer>
{
protected:
	void SetUp() override
	{
#if !defined(__x86_64__) && !defined(__aarch64__)
		GTEST_SKIP() << "no fix-ups on this machine";
#endif
		if (under_tsan)
			GTEST_SKIP() << "ThreadSanitizer delays signals";
	}

	/* One report, and nothing else has happened. */
	static int free_reports(const std::function<void(struct slab_cache *, void *)> &free_it,
				const std::string &what)
	{
		struct slab_cache *cache = slab_cache_create("fault", 64, nullptr, 0);
		void *obj = slab_alloc(cache);
		report_capture reports;

		fault_install();
		errno = 77;
		free_it(cache, GetParam().make());
		if (reports.count() != 1 || !reports.contains(what) || errno != 77) {
			std::fprintf(stderr, "errno %d, %u reports:\n%s", errno, reports.count(),
				     reports.text().c_str());
			return WRONG;
		}
		slab_free(cache, obj);
		return slab_cache_destroy(cache) == 0 ? FINE : WRONG;
	}

	static void expect_fine(const child_end &end)
	{
		EXPECT_EQ(end.signal, 0);
		EXPECT_EQ(end.status, FINE) << end.output;
	}
};

TEST_P(BadPointerTest, FreeIsReported)
{
	expect_fine(end_of_child([] {
		return free_reports(
			[](struct slab_cache *cache, void *obj) { slab_free(cache, obj); },
			"BUG fault: Attempt to free object");
	}));
}

TEST_P(BadPointerTest, BulkFreeIsReported)
{
	expect_fine(end_of_child([] {
		return free_reports(
			[](struct slab_cache *cache, void *obj) {
				void *objs[3] = {slab_alloc(cache), obj, slab_alloc(cache)};

				slab_free_bulk(cache, 3, objs);
			},
			"BUG fault: Attempt to free object");
	}));
}

TEST_P(BadPointerTest, FreeBySizeIsReported)
{
	expect_fine(end_of_child([] {
		return free_reports([](struct slab_cache *, void *obj) { slab_mfree(obj); },
				    "not freed");
	}));
}

TEST_P(BadPointerTest, ReallocIsReported)
{
	expect_fine(end_of_child([] {
		return free_reports(
			[](struct slab_cache *, void *obj) {
				const int saved = errno;

				if (slab_realloc(obj, 100) || errno != EINVAL)
					_exit(WRONG);
				errno = saved;
			},
			"slab_malloc");
	}));
}

INSTANTIATE_TEST_SUITE_P(Fault, BadPointerTest, testing::ValuesIn(bad_pointers), name_of);

TEST(BadPointerFaultTest, WithoutTheHandlerABadPointerIsAFault)
{
	if (under_tsan)
		GTEST_SKIP() << "ThreadSanitizer delays signals";
	if (under_asan)
		GTEST_SKIP() << "the handler comes with the first cache";
	for (std::uintptr_t bad : {UINT64_C(8), UINT64_C(0x8000000000000000)}) {
		const child_end end = end_of_child([bad] {
			struct slab_cache *cache = slab_cache_create("fault", 64, nullptr, 0);

			slab_free(cache, address(bad));
			return FINE;
		});

		EXPECT_EQ(end.signal, SIGSEGV) << std::hex << bad;
		EXPECT_EQ(end.output, "");
	}
}

} /* namespace */
