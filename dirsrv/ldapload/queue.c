/* SPDX-License-Identifier: MIT */
/* The connections of a thread that can take an operation, and those that sleep. */
#include "load.h"

bool session_has_room(const struct session *session)
{
	const struct args *args = session->worker->load->args;

	return session->state == SESSION_OPEN && session->flying < args->depth &&
	       (args->per_connection == 0 || session->started < args->per_connection);
}

bool worker_over(const struct worker *worker)
{
	return worker->draining && worker->owed_count == 0;
}

void worker_ready(struct worker *worker, struct session *session)
{
	if (session->listed || !session_has_room(session))
		return;
	session->listed = true;
	session->next = NULL;
	*worker->ready_end = session;
	worker->ready_end = &session->next;
}

struct session *worker_take_ready(struct worker *worker)
{
	struct session *session;

	while ((session = worker->ready)) {
		worker->ready = session->next;
		if (!worker->ready)
			worker->ready_end = &worker->ready;
		session->listed = false;
		if (session_has_room(session))
			return session;
	}
	return NULL;
}

void worker_sleep(struct worker *worker, struct session *session)
{
	if (session->sleeps)
		return;
	session->sleeps = true;
	worker->sleeping[worker->sleepers++] = session;
}
