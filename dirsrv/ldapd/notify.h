/* SPDX-License-Identifier: MIT */
/* Telling the service manager about the server's state (sd_notify(3)). */
#ifndef LDAPD_NOTIFY_H
#define LDAPD_NOTIFY_H

/* notify: send a state such as "READY=1" to the socket that $NOTIFY_SOCKET names, if it is set. */
void notify(const char *state);

#endif /* LDAPD_NOTIFY_H */
