/* SPDX-License-Identifier: MIT */
/* The self-test of an engine notices these faults. */
#include <cstddef>

#include <gtest/gtest.h>

extern "C" {
#include "cpu_cache.h"
}

namespace
{

/* The mutex engine, and what is wrong with it. */
struct fault {
	const char *name;
	void (*put_in)(struct cpu_engine *engine);
};

template <enum cpu_result result, typename... Arguments>
void answer(enum cpu_result (*&operation)(Arguments...))
{
	operation = [](Arguments...) { return result; };
}

const fault faults[] = {
	{"PopFindsNothing", [](auto *e) { e->pop = [](char *) -> void * { return nullptr; }; }},
	{"PopFindsWhatIsNotThere",
	 [](auto *e) { e->pop = [](char *slots) -> void * { return slots; }; }},
	{"PushDoesNothing", [](auto *e) { answer<CPU_DONE>(e->push); }},
	{"PushIsRefused", [](auto *e) { answer<CPU_MISS>(e->push); }},
	{"PushBulkDoesNothing", [](auto *e) { answer<CPU_DONE>(e->push_bulk); }},
	{"PushBulkIsRefused", [](auto *e) { answer<CPU_MISS>(e->push_bulk); }},
	{"DisownDoesNothing", [](auto *e) { answer<CPU_DONE>(e->disown); }},
	{"DisownIsRefused", [](auto *e) { answer<CPU_MISS>(e->disown); }},
	{"InstallDoesNothing", [](auto *e) { answer<CPU_DONE>(e->install); }},
	{"InstallIsRefused", [](auto *e) { answer<CPU_MISS>(e->install); }},
	{"RetireIsRefused", [](auto *e) { answer<CPU_MISS>(e->retire); }},
	{"PartialPushDoesNothing", [](auto *e) { answer<CPU_DONE>(e->partial_push); }},
	{"PartialPushIsRefused", [](auto *e) { answer<CPU_MISS>(e->partial_push); }},
	{"PartialPopIsRefused", [](auto *e) { answer<CPU_MISS>(e->partial_pop); }},
	{"PartialPopFindsNoSlab",
	 [](auto *e) {
		 e->partial_pop = [](char *, int, struct cpu_slab **ret_slab) {
			 *ret_slab = nullptr;
			 return CPU_DONE;
		 };
	 }},
	{"BatchAddDoesNothing", [](auto *e) { answer<CPU_DONE>(e->batch_add); }},
	{"BatchAddIsRefused", [](auto *e) { answer<CPU_MISS>(e->batch_add); }},
	{"BatchTakeIsRefused", [](auto *e) { answer<CPU_MISS>(e->batch_take); }},
	{"BatchTakeFindsAnotherOffset",
	 [](auto *e) {
		 e->batch_take = [](char *, int, struct cpu_batch *batch) {
			 batch->count = 1;
			 batch->offset8[0] = 16;
			 return CPU_DONE;
		 };
	 }},
	{"LifoPushDoesNothing", [](auto *e) { answer<CPU_DONE>(e->lifo_push); }},
	{"LifoPushIsRefused", [](auto *e) { answer<CPU_MISS>(e->lifo_push); }},
	{"LifoTakeIsRefused", [](auto *e) { answer<CPU_MISS>(e->lifo_take); }},
	{"LifoTakeFindsAnother",
	 [](auto *e) {
		 e->lifo_take = [](char *slots, int, std::size_t, void **objs) {
			 objs[0] = slots;
			 return CPU_DONE;
		 };
	 }},
};

class SelfTest : public testing::TestWithParam<fault>
{
protected:
	SelfTest()
	{
		EXPECT_TRUE(cpu_engine_init("mutex"));
		cpu_engine = &engine_;
	}

	~SelfTest() override
	{
		cpu_engine = &cpu_engine_mutex;
	}

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

} /* namespace */
