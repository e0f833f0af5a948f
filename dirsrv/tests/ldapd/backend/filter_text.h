/* SPDX-License-Identifier: MIT */
/* Filters of tests, from text: (&(cn=a*)(!(sn>=b))), with "\2a" for bytes. */
#ifndef TESTS_LDAPD_FILTER_TEXT_H
#define TESTS_LDAPD_FILTER_TEXT_H

#include <cstring>
#include <list>
#include <string>

#include <gtest/gtest.h>

extern "C" {
#include "filter/filter.h"
}

namespace ldapd_test
{

/* A tree and the bytes that it points to, as long as it lives. */
class filter_text
{
public:
	explicit filter_text(const std::string &text) : text_(text), tree_(parse()) {}
	~filter_text()
	{
		filter_free(tree_);
	}
	filter_text(const filter_text &) = delete;
	filter_text &operator=(const filter_text &) = delete;

	struct filter *get()
	{
		return tree_;
	}

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
				     : last == '~' ? FILTER_APPROX
						   : FILTER_EXTENSIBLE;
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

} // namespace ldapd_test

#endif /* TESTS_LDAPD_FILTER_TEXT_H */
