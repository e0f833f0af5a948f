/* SPDX-License-Identifier: MIT */
/* A directory in tests: a backend on a folder of its own, operations on words, filters from text. */
#pragma once

#include <ldap.h>

extern "C" {
#include "backend/backend.h"
#include "filter/filter.h"
}

#include "../../library/entries.h"
#include "../../../../tests/support/folder.h"

namespace ldapd_test
{

/* A filter from text: (&(cn=a*)(!(sn>=b))), with "\2a" for bytes. The tree and the bytes that it points to
 * live as long. */
class filter_text
{
public:
	explicit filter_text(const std::string &text) : text_(text), tree_(parse()) {}
	~filter_text() { filter_free(tree_); }
	filter_text(const filter_text &) = delete;
	filter_text &operator=(const filter_text &) = delete;

	struct filter *get() { return tree_; }

private:
	struct dirsrv_bytes keep(const std::string &bytes)
	{
		kept_.push_back(bytes);
		return {kept_.back().data(), bytes.size()};
	}

	static std::string plain(const std::string &value)
	{
		std::string out;

		for (size_t i = 0; i < value.size(); i++) {
			if (value[i] == '\\') {
				out += static_cast<char>(
					std::stoi(value.substr(i + 1, 2), nullptr, 16));
				i += 2;
			} else {
				out += value[i];
			}
		}
		return out;
	}

	void substrings(struct filter *node, const std::string &value)
	{
		size_t from = 0, star;
		struct filter_part **last = &node->any;

		for (bool first = true; (star = value.find('*', from)) != std::string::npos;
		     first = false, from = star + 1) {
			std::string part = plain(value.substr(from, star - from));

			if (first) {
				node->value = keep(part);
			} else {
				*last = filter_part_new();
				(*last)->value = keep(part);
				last = &(*last)->next;
			}
		}
		node->final = keep(plain(value.substr(from)));
	}

	struct filter *item()
	{
		size_t equals = text_.find('=', at_), end = text_.find(')', at_);
		std::string type = text_.substr(at_, equals - at_);
		std::string value = text_.substr(equals + 1, end - equals - 1);
		struct filter *node = filter_new(FILTER_EQUAL);
		char last = type.back();

		at_ = end;
		if (last == '>' || last == '<' || last == '~' || last == ':') {
			node->kind = last == '>'   ? FILTER_GREATER
				     : last == '<' ? FILTER_LESS
				     : last == '~' ? FILTER_EQUAL
						   : FILTER_UNDEFINED;
			type.pop_back();
		} else if (value == "*") {
			node->kind = FILTER_PRESENT;
		} else if (value.find('*') != std::string::npos) {
			node->kind = FILTER_SUBSTRINGS;
		}
		node->type = keep(type);
		if (node->kind == FILTER_SUBSTRINGS)
			substrings(node, value);
		else if (node->kind != FILTER_PRESENT)
			node->value = keep(plain(value));
		return node;
	}

	struct filter *parse()
	{
		const char *const kinds = "&|!";
		struct filter *node;

		EXPECT_EQ(text_[at_++], '(') << text_;
		if (const char *kind = std::strchr(kinds, text_[at_])) {
			struct filter **last;

			node = filter_new(static_cast<enum filter_kind>(kind - kinds));
			last = &node->children;
			for (at_++; text_[at_] == '('; last = &(*last)->next)
				*last = parse();
		} else {
			node = item();
		}
		EXPECT_EQ(text_[at_++], ')') << text_;
		return node;
	}

	std::string text_;
	size_t at_ = 0;
	std::list<std::string> kept_;
	struct filter *tree_;
};

using dirsrv_test::pair;
using strings = std::vector<std::string>;

inline struct dirsrv_bytes bytes(const std::string &text)
{
	return {text.data(), text.size()};
}

inline struct dirsrv_bytes bytes(const char *text)
{
	return {text, strlen(text)};
}

struct modification {
	enum backend_change change;
	std::string type;
	strings values;
};

/* The thread is known to liburcu as long as one of these lives. */
class known_thread
{
public:
	known_thread()
	{
		if (!uses++)
			dirsrv_test::flavour()->register_thread();
	}
	~known_thread()
	{
		if (!--uses)
			dirsrv_test::flavour()->unregister_thread();
	}
	known_thread(const known_thread &) = delete;
	known_thread &operator=(const known_thread &) = delete;

private:
	static inline thread_local unsigned uses;
};

/* An open backend. */
class directory
{
public:
	directory() = default;
	explicit directory(const std::string &db) { open(db); }
	~directory() { close(); }
	directory(const directory &) = delete;
	directory &operator=(const directory &) = delete;

	bool open(const std::string &db)
	{
		char text[256] = "";

		config.db = db.empty() ? nullptr : db.c_str();
		if (!config.suffix && !any_suffix)
			config.suffix = "dc=example";
		config.rcu = dirsrv_test::flavour();
		backend = backend_open(&config, text, sizeof(text));
		config.suffix = nullptr;
		config.db = nullptr;
		error = text;
		return backend != nullptr;
	}

	void close()
	{
		EXPECT_EQ(backend_close(backend), 0);
		backend = nullptr;
	}

	int add(const std::string &dn, const std::vector<pair> &pairs)
	{
		std::vector<struct dirsrv_pair> all;

		for (const pair &p : pairs)
			all.push_back({bytes(p.first), bytes(p.second)});
		backend_add(backend, "cn=admin,dc=example", bytes(dn), all.data(), all.size(),
			    &result);
		return result.code;
	}

	int remove(const std::string &dn)
	{
		backend_delete(backend, "cn=admin,dc=example", bytes(dn), &result);
		return result.code;
	}

	int modify(const std::string &dn, const std::vector<modification> &modifications)
	{
		std::vector<std::vector<struct dirsrv_bytes>> values;
		std::vector<struct backend_modification> all;

		for (const modification &m : modifications) {
			values.emplace_back();
			for (const std::string &value : m.values)
				values.back().push_back(bytes(value));
		}
		for (size_t i = 0; i < modifications.size(); i++)
			all.push_back({modifications[i].change, bytes(modifications[i].type),
				       values[i].data(), values[i].size()});
		backend_modify(backend, "cn=editor,dc=example", bytes(dn), all.data(), all.size(),
			       &result);
		return result.code;
	}

	int compare(const std::string &dn, const std::string &type, const std::string &value)
	{
		backend_compare(backend, bytes(dn), bytes(type), bytes(value), &result);
		return result.code;
	}

	/* The DNs of what is found, in the order in which it comes. */
	strings search(const std::string &base, enum backend_scope scope, const std::string &filter,
		       const std::function<void(struct backend_search &)> &set = nullptr)
	{
		filter_text parsed(filter);
		struct found {
			strings dns;
		} found;
		struct backend_search search = {};

		search.base = bytes(base);
		search.scope = scope;
		search.filter = parsed.get();
		search.arg = &found;
		search.entry = [](struct dirsrv_entry *entry, void *arg) {
			static_cast<struct found *>(arg)->dns.push_back(
				dirsrv_dn_text(dirsrv_entry_dn(entry), nullptr));
			return BACKEND_CONTINUE;
		};
		if (set)
			set(search);
		backend_search(backend, &search, &result);
		candidates = search.candidates;
		return found.dns;
	}

	strings values(const std::string &dn, const std::string &type)
	{
		struct dirsrv_entry *entry = backend_get(backend, dn.data(), dn.size());
		strings all = entry ? dirsrv_test::values(entry, type) : strings{"(no entry)"};

		dirsrv_entry_put(entry);
		return all;
	}

	bool has(const std::string &dn)
	{
		struct dirsrv_entry *entry = backend_get(backend, dn.data(), dn.size());

		dirsrv_entry_put(entry);
		return entry != nullptr;
	}

	/* dc=example, ou=people and ou=groups below it. */
	void plant()
	{
		ASSERT_EQ(add("dc=example", {{"objectClass", "domain"}, {"dc", "example"}}), 0)
			<< result.message;
		for (const char *ou : {"people", "groups"})
			ASSERT_EQ(add("ou=" + std::string(ou) + ",dc=example",
				      {{"objectClass", "organizationalUnit"}, {"ou", ou}}),
				  0)
				<< result.message;
	}

	int person(const std::string &uid, const std::vector<pair> &more = {},
		   const std::string &below = "ou=people,dc=example")
	{
		std::vector<pair> pairs = {{"objectClass", "inetOrgPerson"},
					   {"uid", uid},
					   {"cn", "Person " + uid},
					   {"sn", uid}};

		pairs.insert(pairs.end(), more.begin(), more.end());
		return add("uid=" + uid + "," + below, pairs);
	}

	struct backend_stats stats()
	{
		struct backend_stats stats;

		backend_stats_read(backend, &stats);
		return stats;
	}

	known_thread known;
	struct backend_config config = {};
	bool any_suffix = false; /* that of the database */
	struct backend *backend = nullptr;
	struct backend_result result = {};
	unsigned long candidates = 0;
	std::string error;
};

} // namespace ldapd_test
