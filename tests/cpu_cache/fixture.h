/* SPDX-License-Identifier: MIT */
/*
 * A test on one engine, and on one user's arrays. The thread stays on one CPU. Objects are
 * addresses that nothing reads or writes.
 */
#pragma once

#include "../support/cpus.h"
#include "../support/rooms.h"

using objects = std::vector<void *>;

/* Object i of all that there are. */
inline void *object(std::size_t i)
{
	alignas(16) static char room[65536];

	return &room[i * 16];
}

inline objects objects_from(std::size_t first, std::size_t n)
{
	objects result;

	for (std::size_t i = first; i < first + n; i++)
		result.push_back(object(i));
	return result;
}

class EngineTest : public testing::TestWithParam<const char *>
{
protected:
	void SetUp() override
	{
		if (!cpu_engine_init(GetParam()))
			GTEST_SKIP() << GetParam() << " is not available here";
		pin(0);
		engine_ = cpu_engine;
		cpu_ = engine_->cpu();
		ASSERT_GE(cpu_, 0);
		use(false);
	}

	void TearDown() override
	{
		cpu_inject_hook = nullptr;
		for (char *arrays : all_)
			cpu_arrays_destroy(arrays);
		unpin();
	}

	/* Let the user have new arrays, short or long ones. */
	void use(bool is_long)
	{
		user_ = cpu_arrays_create(is_long);
		ASSERT_NE(user_, nullptr);
		all_.push_back(user_);
		array_ = cpu_array(user_, cpu_);
		room_ = cpu_array_room(is_long);
		cpu_array_set_limit(array_, room_);
	}

	bool is(const char *name) const { return std::string(name) == GetParam(); }

	void *pop() { return engine_->pop(&user_); }

	enum cpu_result push(std::size_t i) { return engine_->push(&user_, object(i)); }

	std::size_t put(const objects &objs)
	{
		return engine_->put(&user_, objs.size(), objs.data());
	}

	objects take(std::size_t n)
	{
		objects objs(n);

		objs.resize(engine_->take(&user_, n, objs.data()));
		return objs;
	}

	/* What the array holds, the oldest first. No section may run. */
	objects held() const
	{
		objects objs;

		for (unsigned i = 0; i < cpu_array_count(array_); i++)
			objs.push_back(cpu_array_object(array_, i));
		return objs;
	}

	/* Send the user away and fence. */
	char *send_away()
	{
		char *own = user_;

		__atomic_store_n(&user_, cpu_arrays_none(), __ATOMIC_RELEASE);
		EXPECT_TRUE(engine_->fence());
		return own;
	}

	objects close(char *arrays)
	{
		objects objs(CPU_ARRAY_MAX);

		objs.resize(engine_->close(arrays, cpu_, objs.data()));
		return objs;
	}

	void open(char *arrays)
	{
		engine_->open(arrays, cpu_);
		__atomic_store_n(&user_, arrays, __ATOMIC_RELEASE);
	}

	const struct cpu_engine *engine_ = nullptr;
	char *user_ = nullptr;
	struct cpu_array *array_ = nullptr;
	unsigned room_ = 0;
	int cpu_ = 0;
	std::vector<char *> all_;
};

inline auto all_engines()
{
	return testing::Values("rseq", "cmpxchg16b", "mutex");
}

inline std::string engine_name(const testing::TestParamInfo<const char *> &info)
{
	return info.param;
}
