/* SPDX-License-Identifier: MIT */
/* Where memory comes from is chosen when the program is linked: libslab, or malloc. */
#ifndef LDAPD_MEMORY_H
#define LDAPD_MEMORY_H

extern const char memory_name[]; /* for the log */

#endif /* LDAPD_MEMORY_H */
