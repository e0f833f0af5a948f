/* SPDX-License-Identifier: MIT */
/* The choice of an engine, and the faults that its self-test notices. */
#include <sys/rseq.h>

#include "../support/process.h"
#include "fixture.h"

static bool cpu_is_unknown;

/* In place of glibc's. */
extern "C" int sched_getcpu() noexcept
{
	unsigned cpu;

	return cpu_is_unknown || getcpu(&cpu, nullptr) ? -1 : static_cast<int>(cpu);
}

namespace
{

/* The mutex engine, and what is wrong with it. */
struct fault {
	const char *name;
	void (*put_in)(struct cpu_engine *engine);
};

constexpr const struct cpu_engine &right = cpu_engine_mutex;

using arrays_pointer = char *const *;

const fault faults[] = {
	{"PopFindsNothing",
	 [](auto *e) { e->pop = [](arrays_pointer) -> void * { return nullptr; }; }},
	{"PopFindsWhatIsNotThere",
	 [](auto *e) { e->pop = [](arrays_pointer arrays) -> void * { return *arrays; }; }},
	{"PushDoesNothing",
	 [](auto *e) { e->push = [](arrays_pointer, void *) { return CPU_DONE; }; }},
	{"PushIsRefused",
	 [](auto *e) { e->push = [](arrays_pointer, void *) { return CPU_MISS; }; }},
	{"PushSeesNoDouble",
	 [](auto *e) {
		 e->push = [](arrays_pointer arrays, void *obj) {
			 return right.put(arrays, 1, &obj) ? CPU_DONE : CPU_MISS;
		 };
	 }},
	{"PushSeesDoubleAlways",
	 [](auto *e) { e->push = [](arrays_pointer, void *) { return CPU_DOUBLE; }; }},
	{"PutDoesNothing",
	 [](auto *e) { e->put = [](arrays_pointer, std::size_t n, void *const *) { return n; }; }},
	{"PutIsRefused",
	 [](auto *e) {
		 e->put = [](arrays_pointer, std::size_t, void *const *) { return std::size_t{0}; };
	 }},
	{"PutTurnsObjectsRound",
	 [](auto *e) {
		 e->put = [](arrays_pointer arrays, std::size_t n, void *const *objs) {
			 std::size_t done = 0;

			 while (done < n && right.push(arrays, objs[n - 1 - done]) == CPU_DONE)
				 done++;
			 return done;
		 };
	 }},
	{"TakeFindsNothing",
	 [](auto *e) {
		 e->take = [](arrays_pointer, std::size_t, void **) { return std::size_t{0}; };
	 }},
	{"TakeLeavesObjectsThere",
	 [](auto *e) {
		 e->take = [](arrays_pointer arrays, std::size_t n, void **objs) {
			 const std::size_t done = right.take(arrays, n, objs);

			 right.put(arrays, done, objs);
			 return done;
		 };
	 }},
	{"CloseFindsNothing",
	 [](auto *e) { e->close = [](char *, int, void **) { return std::size_t{0}; }; }},
	{"CloseLeavesObjectsThere",
	 [](auto *e) {
		 e->close = [](char *arrays, int cpu, void **objs) -> std::size_t {
			 objs[0] = cpu_array_object(cpu_array(arrays, cpu), 0);
			 return cpu_array_count(cpu_array(arrays, cpu));
		 };
	 }},
	{"FenceIsRefused", [](auto *e) { e->fence = [] { return false; }; }},
	{"ThereIsNoCpu", [](auto *e) { e->cpu = [] { return -1; }; }},
};

class SelfTest : public testing::TestWithParam<fault>
{
protected:
	SelfTest()
	{
		EXPECT_TRUE(cpu_engine_init("mutex"));
		cpu_engine = &engine_;
	}

	~SelfTest() override { cpu_engine = &cpu_engine_mutex; }

	struct cpu_engine engine_ = cpu_engine_mutex;
};

TEST_F(SelfTest, OfAnEngineThatWorksPasses)
{
	EXPECT_TRUE(cpu_engine_self_test());
}

TEST_P(SelfTest, FailsIf)
{
	GetParam().put_in(&engine_);
	EXPECT_FALSE(cpu_engine_self_test());
}

INSTANTIATE_TEST_SUITE_P(Engine, SelfTest, testing::ValuesIn(faults),
			 [](const auto &info) { return info.param.name; });

/* Its arrays come back, and nobody finds anything in them. */
TEST(EngineChoice, TheSelfTestLeavesNothing)
{
	for (const char *name : {"rseq", "cmpxchg16b", "mutex"}) {
		if (!cpu_engine_init(name))
			continue;
		const unsigned areas = cpu_area_count;

		for (int i = 0; i < 1000; i++)
			ASSERT_TRUE(cpu_engine_self_test());
		EXPECT_EQ(cpu_area_count, areas);
		char *arrays = cpu_arrays_create(false);

		for (unsigned cpu = 0; cpu < cpu_possible(); cpu++) {
			EXPECT_EQ(cpu_array(arrays, cpu)->count, 0u);
			EXPECT_EQ(cpu_array(arrays, cpu)->limit, 0u);
		}
		cpu_arrays_destroy(arrays);
	}
}

TEST(EngineChoice, EachNameGivesThatEngine)
{
	for (const char *name : {"rseq", "cmpxchg16b", "mutex"}) {
		const bool had = cpu_engine_init(name);

		EXPECT_EQ(had, std::strcmp(cpu_engine->name, name) == 0) << name;
		EXPECT_GE(cpu_engine->cpu(), 0) << name;
	}
	EXPECT_TRUE(cpu_engine_init("mutex"));
}

TEST(EngineChoice, AThreadWhoseCpuTheKernelDoesNotTellUsesTheFirst)
{
	ASSERT_TRUE(cpu_engine_init("mutex"));
	cpu_is_unknown = true;
	const int cpu = cpu_engine->cpu();

	cpu_is_unknown = false;
	EXPECT_EQ(cpu, 0);
}

/* A broken engine must not pass for one that the machine does not have. */
TEST(EngineChoice, EnginesThatTheMachineHasPassTheirSelfTest)
{
	EXPECT_EQ(cpu_engine_init("cmpxchg16b"), cas16_available());
	if (RSEQ_ARCH && __rseq_size > 0) {
		EXPECT_TRUE(cpu_engine_init("rseq"));
	}
}

TEST(EngineChoice, WithoutAWishItIsTheBestThatWorks)
{
	EXPECT_TRUE(cpu_engine_init(nullptr));
	const std::string best = cpu_engine->name;

	for (const char *name : {"rseq", "cmpxchg16b", "mutex"})
		if (cpu_engine_init(name)) {
			EXPECT_EQ(best, name);
			break;
		}
}

TEST(EngineChoice, WithoutRseqItFallsBackToTheNext)
{
	if (!in_environment({"GLIBC_TUNABLES=glibc.pthread.rseq=0"}))
		return;
	EXPECT_FALSE(cpu_engine_init("rseq"));
	EXPECT_STRNE(cpu_engine->name, "rseq");
	const std::string next = cpu_engine->name;

	EXPECT_TRUE(cpu_engine_init(nullptr));
	EXPECT_EQ(cpu_engine->name, next);
	EXPECT_EQ(cpu_engine_init("cmpxchg16b"), next == "cmpxchg16b");
	/* The stand-in: a thread on no CPU. */
	char *arrays = cpu_arrays_create(false);
	void *obj;

	EXPECT_FALSE(rseq_pop(&arrays, cpu_rseq_offset, &obj));
	cpu_arrays_destroy(arrays);
}

} /* namespace */
