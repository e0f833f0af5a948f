/* SPDX-License-Identifier: MIT */
/*
 * What libslab calls of a flavour of liburcu. The program passes the flavour (args.rcu), so that
 * libslab is linked with none and is compiled without liburcu's headers. The two structs have the
 * layout of struct rcu_flavor_struct and struct rcu_head in the binary interface of liburcu;
 * tests/rcu/rcu_debug_test.cc compares them with the installed headers.
 */
#pragma once

struct rcu_flavor_struct;

/* The memory of one call_rcu(): liburcu writes to both members. */
struct rcu_callback {
	void *next;
	void (*func)(struct rcu_callback *callback);
};

/* The functions of a flavour up to the last that libslab calls. */
struct rcu_functions {
	void (*read_lock)(void);
	void (*read_unlock)(void);
	int (*read_ongoing)(void);
	void (*read_quiescent_state)(void);
	void (*update_call_rcu)(struct rcu_callback *callback,
				void (*func)(struct rcu_callback *callback));
	void (*update_synchronize_rcu)(void);
	void (*update_defer_rcu)(void (*func)(void *arg), void *arg);
	void (*thread_offline)(void);
	void (*thread_online)(void);
	void (*register_thread)(void);
	void (*unregister_thread)(void);
};

static inline const struct rcu_functions *rcu_functions(const struct rcu_flavor_struct *flavor)
{
	return (const struct rcu_functions *)(const void *)flavor;
}
