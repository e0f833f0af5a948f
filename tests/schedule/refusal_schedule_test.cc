/* SPDX-License-Identifier: MIT */
/* The system refuses each allocation of pages, and each fence, that a call asks for: one after the
 * other, alone or with all later ones. The call fails or succeeds; then everything works. */
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

/* One call under these refusals, and one without. Returns how often it asked. */
unsigned ask_refused(const request_case &one, const schedule_faults &faults, bool of_pages)
{
	everything all;
	unsigned asked = 0;

	for (arena *each : {&all.plain, &all.debugged, &all.sampled, all.spare.get()})
		each->may_fail = true;
	run_scheduled(1, {[&] {
			      schedule_refuse(faults);
			      one.ask(all);
			      asked = of_pages ? schedule_pages_asked() : schedule_fences_asked();
			      schedule_refuse({});
			      for (arena *each :
				   {&all.plain, &all.debugged, &all.sampled, all.spare.get()})
				      each->may_fail = false;
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

constexpr unsigned most = 80; /* one act calls less often */

/* The n-th one, for each n until the call asks no n-th time; odd seeds: and all later ones. */
void refuse_each(bool of_pages)
{
	unsigned *const asked =
		static_cast<unsigned *>(mmap(nullptr, sizeof(unsigned), PROT_READ | PROT_WRITE,
					     MAP_SHARED | MAP_ANONYMOUS, -1, 0));

	*asked = most;
	/* A call that fails at once asks no more: it asked for the last one that was refused. */
	for (unsigned n = 1; n <= *asked + 1 && n <= most && !testing::Test::HasFailure(); n++)
		for (const unsigned last : {n + 1, ~0u})
			for_plans(0, 0, [=] {
				schedule_faults faults;

				(of_pages ? faults.pages_from : faults.fences_from) = n;
				(of_pages ? faults.pages_to : faults.fences_to) = last;
				SCOPED_TRACE("refused: " + std::to_string(n) +
					     (last == ~0u ? " and all later ones" : ""));
				*asked = ask_refused(EachRefusalScheduleTest::GetParam(), faults,
						     of_pages);
			});
	EXPECT_LT(*asked, most);
	munmap(asked, sizeof(unsigned));
}

TEST_P(EachRefusalScheduleTest, OfPages)
{
	refuse_each(true);
}

TEST_P(EachRefusalScheduleTest, OfFences)
{
	refuse_each(false);
}

} /* namespace */
