/* SPDX-License-Identifier: MIT */
/* liburcu's flavours, and the hooks of bp around fork(): the headers of a flavour are not
 * meant for C++. Threads of bp need not register. */
#pragma once

#include <urcu/flavor.h>

extern "C" {
extern const struct rcu_flavor_struct urcu_memb_flavor, urcu_mb_flavor, urcu_qsbr_flavor,
	urcu_bp_flavor;
void urcu_bp_before_fork(void);
void urcu_bp_after_fork_parent(void);
void urcu_bp_after_fork_child(void);
void urcu_bp_call_rcu_before_fork(void);
void urcu_bp_call_rcu_after_fork_parent(void);
void urcu_bp_call_rcu_after_fork_child(void);
}
