/* SPDX-License-Identifier: MIT */
/* Operations: lives, handles, states, and what is left of them when they are free. */
#include <slab/dirsrv/operation.h>

#include "entry_caches.h"

using namespace dirsrv_test;
namespace
{

class OperationTest : public testing::Test
{
protected:
	static constexpr std::size_t room = DIRSRV_OPERATION_ROOM_MAX;

	registered here;
	struct dirsrv_operation_pool *pool =
		dirsrv_operation_pool_create("test.operation", room, flavour());

	~OperationTest() override
	{
		slab_set_fail(nullptr);
		EXPECT_EQ(dirsrv_operation_pool_destroy(pool), 0);
	}

	struct dirsrv_operation *create(std::uint32_t message_id = 1)
	{
		const struct dirsrv_operation_request request = {this, 17, message_id, 0x63};

		return dirsrv_operation_new(pool, &request);
	}

	/* Another operation in the same memory. The CPU is the same from the free on. */
	struct dirsrv_operation *create_in_place_of(struct dirsrv_operation *old,
						    std::uint32_t message_id)
	{
		std::vector<struct dirsrv_operation *> others;
		struct dirsrv_operation *fresh;

		while ((fresh = create(message_id)) != old && others.size() < 10000)
			others.push_back(fresh);
		for (struct dirsrv_operation *other : others)
			dirsrv_operation_put(other);
		EXPECT_EQ(fresh, old);
		return fresh;
	}
};

TEST_F(OperationTest, AnOperationIsWhatItWasMadeWith)
{
	struct dirsrv_operation *operation = create(42);

	EXPECT_EQ(dirsrv_operation_connection(operation), this);
	EXPECT_EQ(dirsrv_operation_connection_id(operation), 17u);
	EXPECT_EQ(dirsrv_operation_message_id(operation), 42u);
	EXPECT_EQ(dirsrv_operation_tag(operation), 0x63u);
	EXPECT_EQ(dirsrv_operation_pblock(operation), nullptr);
	EXPECT_EQ(dirsrv_operation_state(operation), DIRSRV_OPERATION_RECEIVED);
	EXPECT_FALSE(dirsrv_operation_abandoned(operation));
	dirsrv_operation_put(operation);
	dirsrv_operation_put(nullptr);
}

TEST_F(OperationTest, WithAllItsRoomItHas480Bytes)
{
	EXPECT_EQ(slab_cache_size(cache_called("test.operation")), DIRSRV_OPERATION_SIZE_MAX);
	EXPECT_EQ(DIRSRV_OPERATION_SIZE_MAX, 480u);
}

TEST_F(OperationTest, RoomIsZeroFirstAndThenAsItsLastUserLeftIt)
{
	struct dirsrv_operation *operation = create();
	auto *bytes = static_cast<unsigned char *>(dirsrv_operation_room(operation));

	EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes) % 16, 0u);
	for (std::size_t i = 0; i < room; i++)
		ASSERT_EQ(bytes[i], 0) << i;
	std::memset(bytes, 0x42, room);
	dirsrv_operation_put(operation);
	operation = create_in_place_of(operation, 2);
	for (std::size_t i = 0; i < room; i++)
		ASSERT_EQ(bytes[i], 0x42) << i;
	dirsrv_operation_put(operation);
}

TEST_F(OperationTest, ThePblockIsTheServers)
{
	struct dirsrv_operation *operation = create();
	auto *pblock = reinterpret_cast<struct slapi_pblock *>(this);

	dirsrv_operation_set_pblock(operation, pblock);
	EXPECT_EQ(dirsrv_operation_pblock(operation), pblock);
	dirsrv_operation_lock(operation); /* it is constructed, and free in each life */
	dirsrv_operation_unlock(operation);
	dirsrv_operation_put(operation);
	operation = create_in_place_of(operation, 2);
	EXPECT_EQ(dirsrv_operation_pblock(operation), nullptr);
	dirsrv_operation_put(operation);
}

/* --- lives ---------------------------------------------------------------------------- */

TEST_F(OperationTest, AHandleFindsTheOperationWhileItLives)
{
	struct dirsrv_operation *operation = create();
	const struct dirsrv_operation_handle handle = dirsrv_operation_handle_of(operation);
	section reading;

	EXPECT_EQ(dirsrv_operation_acquire(handle), operation);
	dirsrv_operation_put(operation);
	EXPECT_EQ(dirsrv_operation_acquire(handle), operation);
	dirsrv_operation_get(operation);
	for (int i = 0; i < 3; i++)
		dirsrv_operation_put(operation);
	EXPECT_EQ(dirsrv_operation_acquire(handle), nullptr);
}

TEST_F(OperationTest, AHandleDoesNotFindTheNextUserOfTheMemory)
{
	section reading;
	struct dirsrv_operation *operation = create(1);
	const struct dirsrv_operation_handle stale = dirsrv_operation_handle_of(operation);

	dirsrv_operation_put(operation);
	operation = create_in_place_of(operation, 2);
	EXPECT_EQ(dirsrv_operation_acquire(stale), nullptr);

	const struct dirsrv_operation_handle handle = dirsrv_operation_handle_of(operation);

	EXPECT_NE(handle.generation, stale.generation);
	EXPECT_EQ(dirsrv_operation_acquire(handle), operation);
	dirsrv_operation_put(operation);
	dirsrv_operation_put(operation);
}

/* The owner of a place with a handle writes another one while a reader is between the words. */
TEST_F(OperationTest, AHandleOfTwoOperationsFindsNeither)
{
	section reading;
	struct dirsrv_operation *one = create(1), *other = create(2);
	const struct dirsrv_operation_handle first = dirsrv_operation_handle_of(one),
					     second = dirsrv_operation_handle_of(other);

	EXPECT_EQ(dirsrv_operation_acquire({first.operation, second.generation}), nullptr);
	EXPECT_EQ(dirsrv_operation_acquire({first.operation, 0}), nullptr);
	EXPECT_EQ(dirsrv_operation_acquire({nullptr, second.generation}), nullptr);
	EXPECT_EQ(dirsrv_operation_acquire({nullptr, 0}), nullptr);
	dirsrv_operation_put(one);
	dirsrv_operation_put(other);
}

TEST_F(OperationTest, AFreeOperationKeepsAllThatItHad)
{
	section reading;
	struct dirsrv_operation *operation = create(42);
	const std::uint64_t slot = dirsrv_operation_slot(operation);

	dirsrv_operation_advance(operation, DIRSRV_OPERATION_DONE);
	dirsrv_operation_put(operation);
	EXPECT_EQ(dirsrv_operation_message_id(operation), 42u);
	EXPECT_EQ(dirsrv_operation_connection_id(operation), 17u);
	EXPECT_EQ(dirsrv_operation_connection(operation), this);
	EXPECT_EQ(dirsrv_operation_state(operation), DIRSRV_OPERATION_DONE);
	EXPECT_NE(dirsrv_operation_time(operation, DIRSRV_OPERATION_DONE), 0u);
	EXPECT_EQ(dirsrv_operation_slot(operation), slot);
}

TEST_F(OperationTest, SlotsAreDifferentAndStayTheSame)
{
	std::vector<struct dirsrv_operation *> all;
	std::set<std::uint64_t> slots;

	for (int i = 0; i < 2000; i++) {
		all.push_back(create());
		slots.insert(dirsrv_operation_slot(all.back()));
	}
	EXPECT_EQ(slots.size(), all.size());
	EXPECT_EQ(slots.count(0), 0u);
	const std::uint64_t slot = dirsrv_operation_slot(all.back());
	struct dirsrv_operation *last = all.back();

	dirsrv_operation_put(last);
	EXPECT_EQ(dirsrv_operation_slot(create_in_place_of(last, 2)), slot);
	for (struct dirsrv_operation *operation : all)
		dirsrv_operation_put(operation);
}

/* --- states -------------------------------------------------------------------------------- */

TEST_F(OperationTest, StatesOnlyAdvance)
{
	struct dirsrv_operation *operation = create();

	EXPECT_TRUE(dirsrv_operation_advance(operation, DIRSRV_OPERATION_EXECUTING));
	EXPECT_FALSE(dirsrv_operation_advance(operation, DIRSRV_OPERATION_EXECUTING));
	EXPECT_FALSE(dirsrv_operation_advance(operation, DIRSRV_OPERATION_RECEIVED));
	EXPECT_TRUE(dirsrv_operation_advance(operation, DIRSRV_OPERATION_DONE));
	EXPECT_FALSE(dirsrv_operation_advance(operation, DIRSRV_OPERATION_ANSWERING));
	EXPECT_FALSE(dirsrv_operation_advance(operation, DIRSRV_OPERATION_STATES));
	EXPECT_EQ(dirsrv_operation_state(operation), DIRSRV_OPERATION_DONE);
	dirsrv_operation_put(operation);
}

TEST_F(OperationTest, TimesAreThoseOfItsStates)
{
	struct dirsrv_operation *operation = create();

	dirsrv_operation_advance(operation, DIRSRV_OPERATION_EXECUTING);
	dirsrv_operation_advance(operation, DIRSRV_OPERATION_DONE);

	const std::uint64_t received = dirsrv_operation_time(operation, DIRSRV_OPERATION_RECEIVED);
	const std::uint64_t executing =
		dirsrv_operation_time(operation, DIRSRV_OPERATION_EXECUTING);

	EXPECT_NE(received, 0u);
	EXPECT_LE(received, executing);
	EXPECT_LE(executing, dirsrv_operation_time(operation, DIRSRV_OPERATION_DONE));
	EXPECT_EQ(dirsrv_operation_time(operation, DIRSRV_OPERATION_ANSWERING), 0u);
	EXPECT_EQ(dirsrv_operation_time(operation, DIRSRV_OPERATION_STATES), 0u);
	dirsrv_operation_put(operation);
	operation = create_in_place_of(operation, 2);
	EXPECT_EQ(dirsrv_operation_time(operation, DIRSRV_OPERATION_DONE), 0u);
	dirsrv_operation_put(operation);
}

TEST_F(OperationTest, AnOperationIsAbandonedOnceAndUntilItIsDone)
{
	struct dirsrv_operation *operation = create();

	EXPECT_TRUE(dirsrv_operation_abandon(operation));
	EXPECT_FALSE(dirsrv_operation_abandon(operation));
	EXPECT_TRUE(dirsrv_operation_abandoned(operation));
	EXPECT_EQ(dirsrv_operation_state(operation), DIRSRV_OPERATION_RECEIVED);
	EXPECT_TRUE(dirsrv_operation_advance(operation, DIRSRV_OPERATION_DONE));
	EXPECT_TRUE(dirsrv_operation_abandoned(operation));
	dirsrv_operation_put(operation);

	operation = create_in_place_of(operation, 2);
	EXPECT_FALSE(dirsrv_operation_abandoned(operation));
	dirsrv_operation_advance(operation, DIRSRV_OPERATION_DONE);
	EXPECT_FALSE(dirsrv_operation_abandon(operation));
	EXPECT_FALSE(dirsrv_operation_abandoned(operation));
	dirsrv_operation_put(operation);
}

/* --- pools ----------------------------------------------------------------------------------- */

TEST_F(OperationTest, TooMuchRoomAndBadNamesAreRefused)
{
	errno = 0;
	EXPECT_EQ(dirsrv_operation_pool_create("other", room + 1, flavour()), nullptr);
	EXPECT_EQ(errno, EINVAL);
	errno = 0;
	EXPECT_EQ(dirsrv_operation_pool_create("two words", 0, flavour()), nullptr);
	EXPECT_EQ(errno, EINVAL);
	errno = 0;
	EXPECT_EQ(dirsrv_operation_pool_create("test.operation", 0, flavour()), nullptr);
	EXPECT_EQ(errno, EEXIST);
	EXPECT_EQ(dirsrv_operation_pool_destroy(nullptr), 0);
}

TEST_F(OperationTest, WithoutRoomThereIsNone)
{
	struct dirsrv_operation_pool *other = dirsrv_operation_pool_create("other", 0, nullptr);
	const struct dirsrv_operation_request request = {};
	struct dirsrv_operation *operation = dirsrv_operation_new(other, &request);

	EXPECT_EQ(dirsrv_operation_room(operation), nullptr);
	dirsrv_operation_put(operation);
	EXPECT_EQ(dirsrv_operation_pool_destroy(other), 0);
}

TEST_F(OperationTest, APoolInUseStaysAndIsReported)
{
	static int reports;
	struct dirsrv_operation *operation = create();

	reports = 0;
	slab_set_report_handler([](const struct slab_report *, void *) { reports++; }, nullptr);
	EXPECT_EQ(dirsrv_operation_pool_destroy(pool), -EBUSY);
	slab_set_report_handler(nullptr, nullptr);
	EXPECT_GE(reports, 1);
	dirsrv_operation_put(create());
	dirsrv_operation_put(operation);
}

TEST_F(OperationTest, WithoutMemoryThereIsNoOperation)
{
	EXPECT_EQ(fail_in_turn([&] {
			  struct dirsrv_operation *operation = create();

			  EXPECT_TRUE(operation || errno == ENOMEM);
			  dirsrv_operation_put(operation);
			  return operation != nullptr;
		  }),
		  1u);
}

/* --- readers ---------------------------------------------------------------------------------- */

/*
 * Workers execute operations; their number in the room is that of the life, written before
 * the operation can be found. Readers abandon whatever the places show. A reader that gets a
 * reference must hold that very life, with its room. Memory goes back to the operating
 * system meanwhile, as far as readers may lose it: with operations of which many are made
 * and freed at once, whole slabs are empty.
 */
class LivesTest : public OperationTest
{
protected:
	static constexpr unsigned lives = 20000, crowd = 100;
	const unsigned enough = under_tsan || under_asan ? 2000 : 1500000;

	struct dirsrv_operation_handle places[4] = {};
	std::atomic<unsigned> working{2}, wrong{0}, got{0};

	struct dirsrv_operation *begin(struct dirsrv_operation_handle &place)
	{
		struct dirsrv_operation *operation = create(0);
		const auto handle = dirsrv_operation_handle_of(operation);

		number(operation) = handle.generation;
		dirsrv_operation_handle_store(&place, handle);
		return operation;
	}

	static std::atomic<std::uint64_t> &number(struct dirsrv_operation *operation)
	{
		return *static_cast<std::atomic<std::uint64_t> *>(dirsrv_operation_room(operation));
	}

	static void end(struct dirsrv_operation_handle &place, struct dirsrv_operation *operation)
	{
		dirsrv_operation_handle_store(&place, {});
		dirsrv_operation_put(operation);
	}

	/* `lives` lives, and more until readers have met enough of them. */
	void work(unsigned worker)
	{
		for (unsigned i = 0; i < lives || got < enough; i++) {
			std::vector<struct dirsrv_operation *> others;
			struct dirsrv_operation_handle &mine = places[worker * 2 + i % 2];
			struct dirsrv_operation *operation = begin(mine);

			for (unsigned n = 0; i % 1024 == 0 && n < crowd; n++)
				others.push_back(create(0));
			end(mine, operation);
			for (struct dirsrv_operation *other : others)
				dirsrv_operation_put(other);
		}
		working--;
	}

	void read(unsigned i)
	{
		section reading;
		const auto handle = dirsrv_operation_handle_load(&places[i % 4]);
		struct dirsrv_operation *operation = dirsrv_operation_acquire(handle);

		if (!operation)
			return;
		got++;
		wrong += number(operation) != handle.generation;
		wrong += dirsrv_operation_handle_of(operation).generation != handle.generation;
		dirsrv_operation_abandon(operation);
		dirsrv_operation_put(operation);
	}

	void run()
	{
		std::vector<std::thread> threads;

		for (unsigned w = 0; w < 2; w++)
			threads.emplace_back([&, w] {
				registered there;
				work(w);
			});
		for (unsigned r = 0; r < 2; r++)
			threads.emplace_back([&] {
				registered there;
				for (unsigned i = 0; working; i++)
					read(i);
			});
		threads.emplace_back([&] {
			registered there;
			while (working) {
				slab_trim();
				std::this_thread::sleep_for(std::chrono::milliseconds(1));
			}
		});
		join_all(threads);
	}
};

TEST_F(LivesTest, ReadersGetTheLifeThatTheyAskedFor)
{
	run();
	EXPECT_EQ(wrong, 0u);
	EXPECT_GT(got, 0u);
}

/* Objects without a reference are still operations while a reader is there. */
TEST_F(OperationTest, MemoryOfAFreeOperationStaysWhileAReaderMayLook)
{
	std::vector<struct dirsrv_operation *> all;
	std::vector<struct dirsrv_operation_handle> handles;
	section reading;

	for (int i = 0; i < 2000; i++) {
		all.push_back(create());
		handles.push_back(dirsrv_operation_handle_of(all.back()));
	}
	for (struct dirsrv_operation *operation : all)
		dirsrv_operation_put(operation);
	slab_cache_shrink(cache_called("test.operation"));
	for (std::size_t i = 0; i < all.size(); i++) {
		EXPECT_EQ(dirsrv_operation_acquire(handles[i]), nullptr);
		ASSERT_EQ(dirsrv_operation_slot(all[i]) << 40 >> 40, handles[i].generation >> 40);
	}
}

} // namespace
