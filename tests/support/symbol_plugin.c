/* SPDX-License-Identifier: MIT */
/* A library with 4,096 exported functions, plugin_aaaa() to plugin_hhhh(). symbol_test.cc unloads
 * it while their names are looked up. */
#define ONE(name)                                                                                  \
	void name(void);                                                                           \
	void name(void) {}
/* clang-format off */
#define LAST(name) ONE(name##a) ONE(name##b) ONE(name##c) ONE(name##d) ONE(name##e) ONE(name##f) \
	ONE(name##g) ONE(name##h)
#define THIRD(name) LAST(name##a) LAST(name##b) LAST(name##c) LAST(name##d) LAST(name##e) \
	LAST(name##f) LAST(name##g) LAST(name##h)
#define SECOND(name) THIRD(name##a) THIRD(name##b) THIRD(name##c) THIRD(name##d) THIRD(name##e) \
	THIRD(name##f) THIRD(name##g) THIRD(name##h)

SECOND(plugin_a)
SECOND(plugin_b)
SECOND(plugin_c)
SECOND(plugin_d)
SECOND(plugin_e)
SECOND(plugin_f)
SECOND(plugin_g)
SECOND(plugin_h)
/* clang-format on */
