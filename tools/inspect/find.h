/* SPDX-License-Identifier: MIT */
/* Finding processes, inside of attach.h. */
#ifndef INSPECT_FIND_H
#define INSPECT_FIND_H

#include "attach.h"

/* find_sockets: add the processes with a socket that are meant. */
void find_sockets(struct process_list *list, const struct choice *choice);

/* find_others: add those that are meant and use libslab without a socket that
 * can be found: of this user, and for root of all users. */
void find_others(struct process_list *list, const struct choice *choice);

/* find_sort: by pid. */
void find_sort(struct process_list *list);

#endif /* INSPECT_FIND_H */
