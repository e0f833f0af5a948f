/* SPDX-License-Identifier: MIT */
/* Finding processes, for attach.c. */
#pragma once

#include "attach.h"

/* find_sockets: add the processes with a socket that match the choice. */
void find_sockets(struct process_list *list, const struct choice *choice);

/* find_others: add the matching processes of this user, or for root of all users, that are not
 * listed yet: those that listen in a container, and if the choice has a name or requests memory
 * those that use libslab without a socket. */
void find_others(struct process_list *list, const struct choice *choice);

/* find_listener: the process with this pid, which may listen anywhere or nowhere. */
void find_listener(struct process *process, pid_t pid);

/* find_sort: sort the list by pid. */
void find_sort(struct process_list *list);
