/* SPDX-License-Identifier: MIT */
#include "slots.h"

#include <sys/epoll.h>
#include <unistd.h>

#include "control/clients.h"

unsigned client_slots_in_use(void)
{
	unsigned used = 0;

	for (unsigned i = 0; i < MAX_CLIENTS; i++)
		used += control_clients[i].used;
	return used;
}

unsigned events_of_dropped(void)
{
	struct epoll_event events[16];
	const int copy = dup(control_clients[0].socket.fd);
	unsigned of_clients = 0;
	int n;

	control_drop_clients();
	n = epoll_wait(control_server.watch.epoll.fd, events, 16, 0);
	while (n-- > 0)
		of_clients += events[n].data.u32 < MAX_CLIENTS;
	close(copy);
	return of_clients;
}

bool accept_mutes(void)
{
	control_accept();
	return control_server.muted;
}
