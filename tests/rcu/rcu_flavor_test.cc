/* SPDX-License-Identifier: MIT */
/* libslab's declarations of a flavour have the layout of those in liburcu's headers. */
#include "../support/rooms.h"

#include <cstddef>

#include <gtest/gtest.h>
#include <urcu/urcu-bp.h>
#include <urcu/flavor.h>

namespace
{

#define EXPECT_SAME_PLACE(member)                                                                  \
	EXPECT_EQ(offsetof(struct rcu_functions, member),                                          \
		  offsetof(struct rcu_flavor_struct, member))

TEST(RcuFlavorTest, FunctionsAreWhereLiburcuHasThem)
{
	EXPECT_SAME_PLACE(read_lock);
	EXPECT_SAME_PLACE(read_unlock);
	EXPECT_SAME_PLACE(read_ongoing);
	EXPECT_SAME_PLACE(read_quiescent_state);
	EXPECT_SAME_PLACE(update_call_rcu);
	EXPECT_SAME_PLACE(update_synchronize_rcu);
	EXPECT_SAME_PLACE(update_defer_rcu);
	EXPECT_SAME_PLACE(thread_offline);
	EXPECT_SAME_PLACE(thread_online);
	EXPECT_SAME_PLACE(register_thread);
	EXPECT_SAME_PLACE(unregister_thread);
}

TEST(RcuFlavorTest, CallbackHasTheSizeOfAnRcuHead)
{
	EXPECT_EQ(sizeof(struct rcu_callback), sizeof(struct rcu_head));
	EXPECT_EQ(offsetof(struct rcu_callback, func), offsetof(struct rcu_head, func));
}

} // namespace
