/* SPDX-License-Identifier: MIT */
#include "slots.h"

#include "control/clients.h"

unsigned client_slots_in_use(void)
{
	unsigned used = 0;

	for (unsigned i = 0; i < MAX_CLIENTS; i++)
		used += control_server.client[i].used;
	return used;
}

bool accept_mutes(void)
{
	control_accept();
	return control_server.muted;
}
