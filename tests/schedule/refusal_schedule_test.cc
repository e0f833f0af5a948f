/* SPDX-License-Identifier: MIT */
/* The system refuses each allocation of pages, each fence, each change of a mapping and each read of
 * memory that a call asks for: one after the other, alone or with all later ones. The call fails or succeeds; then everything works. */
#include "../support/debugging.h"
#include "everything.h"

namespace
{

/* What asks for pages and fences, for which a refusal is no failure of the test. */
struct request_case {
	const char *name;
	void (*ask)(everything &);
};

void use(arena &all, unsigned n)
{
	std::vector<void *> objs;

	for (unsigned i = 0; i < n; i++)
		if (void *obj = all.alloc())
			objs.push_back(obj);
	for (void *obj : objs)
		all.free(obj);
}

/* With RCU, 16 caches share a page. */
void come_and_go(const struct slab_cache_args *args, std::uint64_t flags, unsigned n = 1)
{
	const std::string name = "comes-" + std::to_string(n);
	struct slab_cache *cache = slab_cache_create(name.c_str(), object_size, args, flags);

	if (!cache) {
		EXPECT_EQ(errno, ENOMEM);
		return;
	}
	EXPECT_EQ(cache->rcu != nullptr, args && args->rcu);
	slab_free(cache, slab_alloc(cache));
	if (n > 1)
		come_and_go(args, flags, n - 1);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

/* A free into an object, and a second one. */
void report(everything &all)
{
	void *obj = all.debugged.alloc();

	if (!obj)
		return;
	all.spare->expected_reports += 2; /* the last one has the handler */
	all.spare->other_problem = SLAB_PROBLEM_INVALID_POINTER;
	slab_free(all.debugged.cache(), static_cast<char *>(obj) + opaque(8));
	all.debugged.free(obj);
	slab_free(all.debugged.cache(), obj);
}

const request_case cases[] = {
	{"Allocations", [](everything &all) { use(all.plain, 100); }},
	{"DebugSlabs", [](everything &all) { use(all.debugged, 40); }},
	{"Samples", [](everything &all) { use(all.sampled, 10); }},
	{"Reserves",
	 [](everything &all) {
		 struct slab_cache_args args = {};

		 args.reserve = 5;
		 come_and_go(&args, 0);
		 use(*all.spare, 40);
	 }},
	{"Creation", [](everything &) { come_and_go(nullptr, SLAB_STORE_USER); }},
	{"CreationWithRcu",
	 [](everything &all) {
		 struct slab_cache_args args = {};

		 args.rcu = all.waiting.flavour();
		 come_and_go(&args, 0, 18);
	 }},
	{"CreationApart", [](everything &) { come_and_go(nullptr, SLAB_APART); }},
	{"Flags",
	 [](everything &all) {
		 const int result = slab_cache_debug(all.plain.cache(), all_debug_flags);

		 EXPECT_TRUE(result == 0 || result == -ENOMEM || result == -EAGAIN) << result;
		 use(all.plain, 20);
		 EXPECT_EQ(slab_cache_debug(all.plain.cache(), 0), 0);
	 }},
	{"Large",
	 [](everything &) {
		 for (const std::size_t size : {24u, 5000u, 300000u, 20000000u})
			 slab_mfree(slab_malloc(size));
	 }},
	{"Reports", report},
	{"Shrink", [](everything &all) { slab_cache_shrink(all.plain.cache()); }},
	{"Defrag", [](everything &all) { slab_cache_defrag(all.moving.cache()); }},
	{"Maintenance",
	 [](everything &) {
		 slab_trim();
		 slab_maintain();
	 }},
};

class EachRefusalScheduleTest : public testing::TestWithParam<request_case>
{
};

INSTANTIATE_TEST_SUITE_P(Calls, EachRefusalScheduleTest, testing::ValuesIn(cases),
			 [](const auto &info) { return info.param.name; });

/* One call under this refusal, and one without. Returns how often it asked. */
unsigned ask_refused(const request_case &one, request what, unsigned first, unsigned end)
{
	everything all;
	unsigned asked = 0;
	const auto let_fail = [&all](bool fail) {
		for (arena *each : {&all.plain, &all.debugged, &all.sampled, all.spare.get()})
			each->may_fail = fail;
	};

	run_scheduled(1, {[&] {
			      let_fail(true);
			      schedule_refuse_nothing();
			      schedule_refuse(what, first, end);
			      one.ask(all);
			      asked = schedule_asked(what);
			      schedule_refuse_nothing();
			      let_fail(false);
			      one.ask(all);
			      /* An allocation off the fast path fills the reserve. */
			      slab_cache_shrink(all.spare->cache());
			      use(*all.spare, 1);
			      /* No slab is left, nor the account of one. */
			      slab_cache_shrink(all.plain.cache());
			      EXPECT_EQ(cache_count_slabs(all.plain.cache()), 0u);
			      EXPECT_EQ(all.plain.cache()->account.used, 0u);
		      }});
	return asked;
}

/* The n-th one, for each n until the call asks no n-th time; then that and all later ones. A report
 * reads memory for each symbol: most of these numbers are left out. */
void refuse_each(request what)
{
	const bool is_frequent = what == request::peek;
	const unsigned most = is_frequent ? 100000 : 80;
	unsigned *const asked =
		static_cast<unsigned *>(mmap(nullptr, sizeof(unsigned), PROT_READ | PROT_WRITE,
					     MAP_SHARED | MAP_ANONYMOUS, -1, 0));

	*asked = 0;
	/* A call that fails at once asks no more: it asked for the last one that was refused. */
	for (unsigned n = 1; n <= *asked + 1 && n <= most && !testing::Test::HasFailure();
	     n += is_frequent ? 1 + n / 4 : 1)
		for (const unsigned end : {n + 1, ~0u})
			for_plans(0, 0, [=] {
				SCOPED_TRACE("refused: " + std::to_string(n) +
					     (end == ~0u ? " and all later ones" : ""));
				*asked = ask_refused(EachRefusalScheduleTest::GetParam(), what, n,
						     end);
			});
	EXPECT_LT(*asked, most);
	munmap(asked, sizeof(unsigned));
}

TEST_P(EachRefusalScheduleTest, OfPages)
{
	refuse_each(request::pages);
}

TEST_P(EachRefusalScheduleTest, OfFences)
{
	refuse_each(request::fence);
}

TEST_P(EachRefusalScheduleTest, OfMappings)
{
	refuse_each(request::mappings);
}

TEST_P(EachRefusalScheduleTest, OfPeeks)
{
	refuse_each(request::peek);
}

} /* namespace */
