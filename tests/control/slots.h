/* SPDX-License-Identifier: MIT */
/* Clients of the control server. C++ cannot include control/clients.h, because of <stdatomic.h>. */
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
