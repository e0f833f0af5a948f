/* SPDX-License-Identifier: MIT */
/* Clients of the control server. C++ cannot include control/clients.h, because of <stdatomic.h>. */
#pragma once

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

unsigned client_slots_in_use(void);
/* The events of clients that the server still gets when it has dropped them all, although a copy of
 * the first one's descriptor is open. */
unsigned events_of_dropped(void);
/* Accept a connection; does the server then leave the others waiting for a moment? */
bool accept_mutes(void);

#ifdef __cplusplus
}
#endif
