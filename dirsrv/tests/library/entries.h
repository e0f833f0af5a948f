/* SPDX-License-Identifier: MIT */
/*
 * Entries in tests: a thread that liburcu knows, sections, pools that have to be empty in
 * the end, entries made of words. The flavour of liburcu that tests use.
 */
#pragma once

#include <future>
#include <slab/dirsrv/entry.h>
#include <slab/dirsrv/entry_cache.h>
#include <urcu/call-rcu.h>
#include <urcu/flavor.h>

#include "../../../tests/support/process.h"

/*
 * ThreadSanitizer does not see into liburcu; there, annotations state what liburcu promises: what
 * readers did before they left their sections has happened before what is done after a grace
 * period.
 */
extern "C" {
extern const struct rcu_flavor_struct urcu_memb_flavor;
void __tsan_acquire(void *address) __attribute__((weak));
void __tsan_release(void *address) __attribute__((weak));
}

namespace dirsrv_test
{

namespace annotated
{

inline char sections_left;

struct deferred {
	struct rcu_head head;
	struct rcu_head *wanted;
	void (*func)(struct rcu_head *);
};

inline void read_unlock()
{
	__tsan_release(&sections_left);
	urcu_memb_flavor.read_unlock();
}

inline void synchronize()
{
	urcu_memb_flavor.update_synchronize_rcu();
	__tsan_acquire(&sections_left);
}

inline void call(struct rcu_head *head, void (*func)(struct rcu_head *))
{
	auto *later = new deferred{{}, head, func};

	__tsan_release(&sections_left);
	urcu_memb_flavor.update_call_rcu(&later->head, [](struct rcu_head *given) {
		auto *due = reinterpret_cast<deferred *>(given);

		__tsan_acquire(&sections_left);
		due->func(due->wanted);
		delete due;
		__tsan_release(&sections_left);
	});
}

/* liburcu calls back in the order in which it was asked. */
inline void barrier()
{
	struct wait {
		struct rcu_head head;
		std::promise<void> over;
	} wait = {};

	call(&wait.head, [](struct rcu_head *head) {
		reinterpret_cast<struct wait *>(head)->over.set_value();
	});
	wait.over.get_future().wait();
	__tsan_acquire(&sections_left);
}

inline struct rcu_flavor_struct make()
{
	struct rcu_flavor_struct flavour = urcu_memb_flavor;

	flavour.read_unlock = read_unlock;
	flavour.update_synchronize_rcu = synchronize;
	flavour.update_call_rcu = call;
	flavour.barrier = barrier;
	return flavour;
}

} // namespace annotated

inline const struct rcu_flavor_struct *flavour()
{
	static const struct rcu_flavor_struct with_annotations = annotated::make();

	return under_tsan ? &with_annotations : &urcu_memb_flavor;
}

using pair = std::pair<std::string, std::string>;

/* Known to liburcu as long as it lives. */
class registered
{
public:
	registered() { flavour()->register_thread(); }
	~registered() { flavour()->unregister_thread(); }
	registered(const registered &) = delete;
	registered &operator=(const registered &) = delete;
};

/* A read-side critical section, as long as it lives. */
class section
{
public:
	section() { flavour()->read_lock(); }
	~section() { flavour()->read_unlock(); }
	section(const section &) = delete;
	section &operator=(const section &) = delete;
};

inline struct dirsrv_entry *make(struct dirsrv_entry_pool *pool, const std::string &dn,
				 const std::vector<pair> &attributes)
{
	std::vector<struct dirsrv_pair> pairs;

	for (const pair &a : attributes)
		pairs.push_back(
			{{a.first.data(), a.first.size()}, {a.second.data(), a.second.size()}});
	return dirsrv_entry_make(pool, dn.data(), dn.size(), pairs.data(), pairs.size());
}

inline int replace(struct dirsrv_entry *entry, const std::string &type,
		   const std::vector<std::string> &values)
{
	std::vector<struct dirsrv_bytes> bytes;

	for (const std::string &value : values)
		bytes.push_back({value.data(), value.size()});
	return dirsrv_entry_replace(entry, type.data(), type.size(), bytes.data(), bytes.size());
}

inline std::string text(struct dirsrv_bytes bytes)
{
	return std::string(static_cast<const char *>(bytes.data), bytes.length);
}

inline std::vector<std::string> values(const struct dirsrv_attribute *attribute)
{
	std::vector<std::string> all;

	if (!attribute)
		return all;
	for (const auto *v = dirsrv_attribute_first(attribute); v; v = dirsrv_value_next(v))
		all.push_back(text(dirsrv_value_data(v)));
	EXPECT_EQ(all.size(), dirsrv_attribute_count(attribute));
	return all;
}

inline std::vector<std::string> values(const struct dirsrv_entry *entry, const std::string &type)
{
	return values(dirsrv_entry_find(entry, type.data(), type.size()));
}

/* "type=value type=value …" */
inline std::string all_of(const struct dirsrv_entry *entry)
{
	std::string all;

	for (const auto *a = dirsrv_entry_first(entry); a; a = dirsrv_attribute_next(a))
		for (const std::string &value : values(a))
			all += (all.empty() ? "" : " ") +
			       std::string(dirsrv_attribute_type(a, nullptr)) + "=" + value;
	return all;
}

/* A DN as long as it lives. */
class name
{
public:
	name(struct dirsrv_entry_pool *pool, const std::string &dn)
		: pool_(pool), dn_(dirsrv_dn_make(pool, dn.data(), dn.size()))
	{
	}
	~name() { dirsrv_dn_free(pool_, dn_); }
	name(const name &) = delete;
	name &operator=(const name &) = delete;
	operator const struct dirsrv_dn *() const { return dn_; }
	std::string normalized() const
	{
		std::size_t length = 0;
		const char *bytes = dn_ ? dirsrv_dn_normalized(dn_, &length) : "refused";

		return dn_ ? std::string(bytes, length) : bytes;
	}
	std::string value() const
	{
		std::size_t length = 0;
		const char *bytes = dirsrv_dn_name(dn_, &length);

		return std::string(bytes, length);
	}

private:
	struct dirsrv_entry_pool *pool_;
	struct dirsrv_dn *dn_;
};

inline struct slab_cache *cache_called(const std::string &wanted)
{
	struct search {
		const std::string *wanted;
		struct slab_cache *found;
	} search{&wanted, nullptr};

	slab_for_each_cache(
		[](struct slab_cache *cache, void *arg) {
			auto *s = static_cast<struct search *>(arg);

			if (*s->wanted == slab_cache_name(cache))
				s->found = cache;
			return s->found ? 1 : 0;
		},
		&search);
	return search.found;
}

inline std::uint64_t stat(const std::string &cache, const char *what)
{
	std::uint64_t value = 0;

	EXPECT_EQ(slab_stat_read(cache_called(cache), what, &value), 0) << cache << " " << what;
	return value;
}

/* Bytes of slabs and of large allocations in use in the whole process. */
inline std::uint64_t bytes_in_use()
{
	struct slab_process_stats stats = {};

	stats.struct_size = sizeof(stats);
	EXPECT_EQ(slab_process_stats(&stats), 0);
	return stats.slab_bytes + stats.large_bytes;
}

/* A pool, which is empty in the end. */
class PoolTest : public testing::Test
{
protected:
	registered here;
	struct dirsrv_entry_pool *pool = dirsrv_entry_pool_create("test", flavour());

	~PoolTest() override
	{
		slab_set_fail(nullptr);
		EXPECT_EQ(dirsrv_entry_pool_destroy(pool), 0);
	}

	/* All are published; the caches still have their objects until readers have left. */
	std::uint64_t objects()
	{
		EXPECT_EQ(dirsrv_entry_pool_barrier(pool), 0);
		return stat("test.entry", "objects") + stat("test.attribute", "objects") +
		       stat("test.value", "objects") + stat("test.dn", "objects");
	}
};

} // namespace dirsrv_test
