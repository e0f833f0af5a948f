/* SPDX-License-Identifier: MIT */
/* Object classes: RFC 4512, 4519, 4523, 4524, 2798, 2307. */
#include "schema/tables.h"

/* clang-format off */
const struct schema_class schema_classes[] = {
	{"top", "2.5.6.0", NULL},
	{"alias", "2.5.6.1", "top"},
	{"country", "2.5.6.2", "top"},
	{"locality", "2.5.6.3", "top"},
	{"organization", "2.5.6.4", "top"},
	{"organizationalUnit", "2.5.6.5", "top"},
	{"person", "2.5.6.6", "top"},
	{"organizationalPerson", "2.5.6.7", "person"},
	{"organizationalRole", "2.5.6.8", "top"},
	{"groupOfNames", "2.5.6.9", "top"},
	{"residentialPerson", "2.5.6.10", "person"},
	{"applicationProcess", "2.5.6.11", "top"},
	{"device", "2.5.6.14", "top"},
	{"strongAuthenticationUser", "2.5.6.15", "top"},
	{"certificationAuthority", "2.5.6.16", "top"},
	{"groupOfUniqueNames", "2.5.6.17", "top"},
	{"cRLDistributionPoint", "2.5.6.19", "top"},
	{"pkiUser", "2.5.6.21", "top"},
	{"pkiCA", "2.5.6.22", "top"},
	{"subschema", "2.5.20.1", "top"},
	{"extensibleObject", "1.3.6.1.4.1.1466.101.120.111", "top"},
	{"dcObject", "1.3.6.1.4.1.1466.344", "top"},
	{"uidObject", "1.3.6.1.1.3.1", "top"},
	{"account", "0.9.2342.19200300.100.4.5", "top"},
	{"document", "0.9.2342.19200300.100.4.6", "top"},
	{"room", "0.9.2342.19200300.100.4.7", "top"},
	{"documentSeries", "0.9.2342.19200300.100.4.9", "top"},
	{"domain", "0.9.2342.19200300.100.4.13", "top"},
	{"RFC822localPart", "0.9.2342.19200300.100.4.14", "domain"},
	{"domainRelatedObject", "0.9.2342.19200300.100.4.17", "top"},
	{"friendlyCountry", "0.9.2342.19200300.100.4.18", "country"},
	{"simpleSecurityObject", "0.9.2342.19200300.100.4.19", "top"},
	{"inetOrgPerson", "2.16.840.1.113730.3.2.2", "organizationalPerson"},
	{"labeledURIObject", "1.3.6.1.4.1.250.3.1", "top"},
	{"referral", "2.16.840.1.113730.3.2.6", "top"},
	{"posixAccount", "1.3.6.1.1.1.2.0", "top"},
	{"shadowAccount", "1.3.6.1.1.1.2.1", "top"},
	{"posixGroup", "1.3.6.1.1.1.2.2", "top"},
};
/* clang-format on */

const size_t schema_class_count = sizeof(schema_classes) / sizeof(*schema_classes);
