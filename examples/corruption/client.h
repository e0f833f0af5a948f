/* SPDX-License-Identifier: MIT */
#pragma once

void client_connect(unsigned index, int fd);
/* clients_come_once: show an everyday talk with the server, and the bug. */
void clients_come_once(void);
/* clients_come_for: again and again, with the bug in every third second. */
void clients_come_for(unsigned seconds);
void clients_leave(void);
