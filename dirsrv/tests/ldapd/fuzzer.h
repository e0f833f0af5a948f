/* SPDX-License-Identifier: MIT */
/*
 * Malformed messages: valid requests of all operations, changed in their structure (lengths, tags,
 * elements that are missing, doubled, moved, nested) and in their bytes.
 */
#ifndef TESTS_LDAPD_FUZZER_H
#define TESTS_LDAPD_FUZZER_H

#include "message.h"

#include <random>

class Fuzzer
{
public:
	explicit Fuzzer(unsigned seed) : random(seed) {}

	/* A valid request of a random operation, whose DNs are below dc=example,dc=com. */
	Message valid();

	/* Such a request with up to four changes; one in eight has none. */
	Message next();

	unsigned below(unsigned n)
	{
		return static_cast<unsigned>(random() % n);
	}

private:
	struct Element;

	Message search();
	Message change();
	Message other();
	Message random_filter(unsigned depth);
	Message controls();
	std::string dn();

	void change_structure(Element &root);
	void change_content(Element &element);
	void change_children(Element &parent);
	void change_bytes(Message &bytes);
	Message append_length(Message header, size_t length, unsigned form);
	Message encode(const Element &element);

	std::mt19937 random;
};

#endif /* TESTS_LDAPD_FUZZER_H */
