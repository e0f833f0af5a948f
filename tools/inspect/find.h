/* SPDX-License-Identifier: MIT */
/* Finding processes, for attach.c. */
#ifndef INSPECT_FIND_H
#define INSPECT_FIND_H

#include "attach.h"

/* find_sockets: add the processes with a socket that match the choice. */
void find_sockets(struct process_list *list, const struct choice *choice);

/* find_others: add the matching processes that use libslab and are not listed yet: those of
 * this user, or for root those of all users. */
void find_others(struct process_list *list, const struct choice *choice);

/* find_sort: sort the list by pid. */
void find_sort(struct process_list *list);

#endif /* INSPECT_FIND_H */
