/* SPDX-License-Identifier: MIT */
/* Valid requests of all operations. */
#include "fuzzer.h"

#include <ldap.h>

namespace
{

const char *const SUFFIX = "dc=example,dc=com";

/* What Debian's clients send by themselves, and what they can be told to send. */
const char *const CONTROLS[] = {LDAP_CONTROL_PAGEDRESULTS, LDAP_CONTROL_MANAGEDSAIT,
				LDAP_CONTROL_SUBENTRIES, LDAP_CONTROL_SORTREQUEST, "1.2.3.4"};

/* liblber takes no null pointer. */
struct berval view(const Message &bytes)
{
	const void *data = bytes.empty() ? static_cast<const void *>("") : bytes.data();

	return {bytes.size(), static_cast<char *>(const_cast<void *>(data))};
}

Message joined(std::initializer_list<Message> parts)
{
	Message all;

	for (const Message &part : parts)
		all.insert(all.end(), part.begin(), part.end());
	return all;
}

/* A constructed element. */
Message constructed(ber_tag_t tag, const Message &content)
{
	struct berval bytes = view(content);

	return message("to", tag, bytes.bv_val, bytes.bv_len);
}

Message element(ber_tag_t tag, const char *text)
{
	return message("ts", tag, text);
}

} // namespace

std::string Fuzzer::dn()
{
	switch (below(4)) {
	case 0:
		return SUFFIX;
	case 1:
		return std::string("uid=ann,ou=people,") + SUFFIX;
	default:
		return "cn=f" + std::to_string(below(1000)) + "," + SUFFIX;
	}
}

Message Fuzzer::controls()
{
	Message list;

	if (below(2))
		return {};
	for (unsigned count = below(4) ? 1 : below(20); count; count--) {
		const char *type = CONTROLS[below(std::size(CONTROLS))];
		const Message paged = message("{is}", static_cast<int>(below(5)), "");
		const Message boolean = message("b", 1);
		struct berval value = view(below(2) ? paged : boolean);
		const Message control =
			below(3) ? message("{sbO}", type, below(2), &value) : message("{s}", type);

		list.insert(list.end(), control.begin(), control.end());
	}
	return constructed(LDAP_TAG_CONTROLS, list);
}

Message Fuzzer::random_filter(unsigned depth)
{
	static const char *const types[] = {"uid",         "cn",           "sn",
					    "objectClass", "userPassword", "entryDN",
					    "2.5.4.3",     "cn;lang-de",   "unknown"};
	const char *type = types[below(std::size(types))];
	Message children;

	switch (below(depth ? 12 : 8)) {
	case 0:
		return message("t{ss}", LDAP_FILTER_GE, type, "a");
	case 1:
		return message("t{ss}", LDAP_FILTER_LE, type, "z");
	case 2:
		return message("t{ss}", LDAP_FILTER_APPROX, type, "ann");
	case 3:
		return element(LDAP_FILTER_PRESENT, type);
	case 4:
		return message("t{s{tststs}}", LDAP_FILTER_SUBSTRINGS, type, LDAP_SUBSTRING_INITIAL,
			       "a", LDAP_SUBSTRING_ANY, "n", LDAP_SUBSTRING_FINAL, "r");
	case 5:
		return message("t{tststs}", LDAP_FILTER_EXT, LDAP_FILTER_EXT_OID, "2.5.13.2",
			       LDAP_FILTER_EXT_TYPE, type, LDAP_FILTER_EXT_VALUE, "ann");
	case 6:
	case 7:
		return message("t{ss}", LDAP_FILTER_EQUALITY, type, "ann");
	case 8:
		return constructed(LDAP_FILTER_NOT, random_filter(depth - 1));
	default:
		for (unsigned count = below(4); count; count--)
			children = joined({children, random_filter(depth - 1)});
		return constructed(below(2) ? LDAP_FILTER_AND : LDAP_FILTER_OR, children);
	}
}

Message Fuzzer::search()
{
	static const char *const bases[] = {SUFFIX, "", "cn=monitor", "cn=subschema", "dc=absent"};
	static const char *const names[] = {"*", "+", "1.1", "cn", "userPassword", "cn;lang-de"};
	const char *base = bases[below(std::size(bases))];

	return constructed(LDAP_REQ_SEARCH,
			   joined({message("seeiib", base, static_cast<int>(below(4)),
					   static_cast<int>(below(4)), static_cast<int>(below(5)),
					   static_cast<int>(below(3)), below(2)),
				   random_filter(4),
				   message("{ss}", names[below(std::size(names))],
					   names[below(std::size(names))])}));
}

Message Fuzzer::change()
{
	const std::string name = dn();
	const std::string cn = "f" + std::to_string(below(1000));
	const int how = static_cast<int>(below(4));

	switch (below(5)) {
	case 0:
		return message("t{s{{s[s]}{s[s]}{s[ss]}}}", LDAP_REQ_ADD, name.c_str(),
			       "objectClass", "person", "cn", cn.c_str(), "sn", "x", "y");
	case 1:
		return message("t{s{{e{s[s]}}{e{s[]}}}}", LDAP_REQ_MODIFY, name.c_str(), how,
			       "description", "z", LDAP_MOD_REPLACE, "mail");
	case 2:
		return message("t{ssbts}", LDAP_REQ_MODRDN, name.c_str(), ("cn=" + cn).c_str(),
			       below(2), LDAP_TAG_NEWSUPERIOR, SUFFIX);
	case 3:
		return element(LDAP_REQ_DELETE, ("cn=" + cn + "," + SUFFIX).c_str());
	default:
		return message("t{s{ss}}", LDAP_REQ_COMPARE, name.c_str(), "sn", "x");
	}
}

Message Fuzzer::other()
{
	const Message number = message("{i}", static_cast<int>(below(60)));
	struct berval value = view(number);

	switch (below(9)) {
	case 0:
		return message("t{ists}", LDAP_REQ_BIND, 3, "cn=admin", LDAP_AUTH_SIMPLE, "secret");
	case 1:
		return message("t{ists}", LDAP_REQ_BIND, 3, dn().c_str(), LDAP_AUTH_SIMPLE,
			       "wrong");
	case 2:
		return message("t{ist{ss}}", LDAP_REQ_BIND, static_cast<int>(below(5)), "",
			       LDAP_AUTH_SASL, below(2) ? "EXTERNAL" : "PLAIN", "x");
	case 3:
		return message("ti", LDAP_REQ_ABANDON, static_cast<int>(below(60)));
	case 4:
		return message("t{tstO}", LDAP_REQ_EXTENDED, LDAP_TAG_EXOP_REQ_OID,
			       LDAP_EXOP_CANCEL, LDAP_TAG_EXOP_REQ_VALUE, &value);
	case 5:
		return message("t{ts}", LDAP_REQ_EXTENDED, LDAP_TAG_EXOP_REQ_OID,
			       LDAP_EXOP_WHO_AM_I);
	case 6:
		return message("t{ts}", LDAP_REQ_EXTENDED, LDAP_TAG_EXOP_REQ_OID,
			       LDAP_EXOP_START_TLS);
	case 7:
		return message("t{tst{ts}}", LDAP_REQ_EXTENDED, LDAP_TAG_EXOP_REQ_OID,
			       LDAP_EXOP_MODIFY_PASSWD, LDAP_TAG_EXOP_REQ_VALUE,
			       LDAP_TAG_EXOP_MODIFY_PASSWD_NEW, "new");
	default:
		return message("tn", LDAP_REQ_UNBIND);
	}
}

Message Fuzzer::valid()
{
	const unsigned kind = below(10);
	const Message operation = kind < 4 ? search() : kind < 7 ? change() : other();

	return constructed(LBER_SEQUENCE, joined({message("i", 1 + static_cast<int>(below(60))),
						  operation, controls()}));
}
