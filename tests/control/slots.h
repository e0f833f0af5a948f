/* SPDX-License-Identifier: MIT */
/* The server's state, whose header is C's alone. */
#ifndef TESTS_CONTROL_SLOTS_H
#define TESTS_CONTROL_SLOTS_H

#ifdef __cplusplus
extern "C" {
#endif

unsigned client_slots_in_use(void);

#ifdef __cplusplus
}
#endif

#endif /* TESTS_CONTROL_SLOTS_H */
