/* SPDX-License-Identifier: MIT */
/* Changes of messages, as trees of BER elements and as bytes. */
#include "fuzzer.h"

#include <algorithm>
#include <iterator>

namespace
{

enum length_form {
	LENGTH_SHORTEST,
	LENGTH_LONG,       /* four bytes, whatever the length is */
	LENGTH_OFF_BY_ONE, /* one more, or one less */
	LENGTH_RANDOM,
	LENGTH_HUGE,
	LENGTH_INDEFINITE, /* 0x80 and an end of contents */
	LENGTH_RESERVED,   /* 0xff, which BER does not allow */
	LENGTH_OVERLONG,   /* five to eight bytes */
	LENGTH_FORMS,
};

const size_t LONG_TEXT_MAX = 70000;

void append(Message &to, const Message &more)
{
	to.insert(to.end(), more.begin(), more.end());
}

/* The header of the element at `at`: its length and that of its content; false: there is none. */
bool header(const Message &bytes, size_t at, size_t &header_length, size_t &length)
{
	if (bytes.size() - at < 2 || (bytes[at] & 0x1f) == 0x1f)
		return false;
	header_length = 2;
	length = bytes[at + 1];
	if (length >= 0x80) {
		size_t octets = length & 0x7f;

		if (!octets || octets > 4 || bytes.size() - at < 2 + octets)
			return false;
		length = 0;
		for (size_t i = 0; i < octets; i++)
			length = length << 8 | bytes[at + 2 + i];
		header_length += octets;
	}
	return length <= bytes.size() - at - header_length;
}

} // namespace

/* An element of BER. It has children or bytes. */
struct Fuzzer::Element {
	unsigned char tag = 0;
	unsigned form = LENGTH_SHORTEST;
	std::vector<Element> children;
	Message bytes;

	/* All of `bytes` as elements; false: they are none. */
	static bool parse_all(const Message &bytes, std::vector<Element> &elements)
	{
		size_t header_length, length;

		for (size_t at = 0; at < bytes.size(); at += header_length + length) {
			if (!header(bytes, at, header_length, length))
				return false;
			auto begin = bytes.begin() + static_cast<long>(at + header_length);

			elements.push_back(parse(
				bytes[at], Message(begin, begin + static_cast<long>(length))));
		}
		return true;
	}

	/* Octet strings that have a SEQUENCE in them, as values of controls, are entered, too. */
	static Element parse(unsigned char tag, Message content)
	{
		Element element;

		element.tag = tag;
		if ((tag & 0x20 || (!content.empty() && content[0] == 0x30)) &&
		    parse_all(content, element.children))
			return element;
		element.children.clear();
		element.bytes = std::move(content);
		return element;
	}

	void collect(std::vector<Element *> &all)
	{
		all.push_back(this);
		for (Element &child : children)
			child.collect(all);
	}
};

Message Fuzzer::append_length(Message header, size_t length, unsigned form)
{
	unsigned octets = length < 0x80 ? 0 : length < 0x100 ? 1 : length < 0x10000 ? 2 : 3;

	switch (form) {
	case LENGTH_OFF_BY_ONE:
		return append_length(std::move(header),
				     below(2) || !length ? length + 1 : length - 1,
				     LENGTH_SHORTEST);
	case LENGTH_RANDOM:
		return append_length(std::move(header), below(2) ? below(200) : below(1u << 24),
				     LENGTH_SHORTEST);
	case LENGTH_HUGE:
		length = below(2) ? 0xffffffff - below(16) : 0x7fffffff + below(2);
		octets = 4;
		break;
	case LENGTH_INDEFINITE:
		header.push_back(0x80);
		return header;
	case LENGTH_RESERVED:
		header.push_back(0xff);
		return header;
	case LENGTH_LONG:
		octets = 4;
		break;
	case LENGTH_OVERLONG:
		octets = 5 + below(4);
		break;
	default:
		break;
	}
	header.push_back(static_cast<unsigned char>(octets ? 0x80 | octets : length));
	for (unsigned i = octets; i; i--)
		header.push_back(static_cast<unsigned char>(i > 4 ? 0 : length >> 8 * (i - 1)));
	return header;
}

Message Fuzzer::encode(const Element &element)
{
	Message content = element.bytes, made;

	for (const Element &child : element.children)
		append(content, encode(child));
	made = append_length({element.tag}, content.size(), element.form);
	append(made, content);
	if (element.form == LENGTH_INDEFINITE && below(2))
		append(made, {0, 0});
	return made;
}

/* A number at a limit, a text of an unusual kind, or other bytes. */
void Fuzzer::change_content(Element &element)
{
	static const Message numbers[] = {
		{},
		{0},
		{1},
		{0xff},
		{0x7f, 0xff, 0xff, 0xff},
		{0x80},
		{0x80, 0, 0, 0},
		{0xff, 0xff, 0xff, 0xff},
		{0, 0, 0, 0, 1},
		{1, 2, 3, 4, 5, 6, 7, 8, 9},
	};
	static const char *const texts[] = {
		"",         ",,,",       "cn=",        "=x",           "cn=\\",  "cn=a+cn=a",
		"cn=#04",   "cn=\\zz",   "1.2.3=x",    "cn=a,",        "*",      "%s%n",
		"2.5.4.35", "cn;;x",     "\xc3",       "\xff\xfe",     "dc=com", "userPassword",
		"+",        "cn=config", "cn=monitor", "cn=subschema",
	};

	element.children.clear();
	switch (below(4)) {
	case 0:
		element.bytes = numbers[below(std::size(numbers))];
		break;
	case 1: {
		const std::string text = texts[below(std::size(texts))];

		element.bytes.assign(text.begin(), text.end());
		break;
	}
	case 2:
		element.bytes.assign(below(4) ? below(300) : below(LONG_TEXT_MAX),
				     static_cast<unsigned char>(random()));
		break;
	default:
		change_bytes(element.bytes);
	}
}

/* Leave one out, double it, many times perhaps, or change their order. */
void Fuzzer::change_children(Element &parent)
{
	std::vector<Element> &children = parent.children;
	const size_t at = below(static_cast<unsigned>(children.size()));

	switch (below(4)) {
	case 0:
		children.erase(children.begin() + static_cast<long>(at));
		break;
	case 1:
		std::swap(children[at], children[below(static_cast<unsigned>(children.size()))]);
		break;
	default: {
		const Element again = children[at];

		children.insert(children.end(), below(8) ? 1 : below(3000), again);
	}
	}
}

void Fuzzer::change_structure(Element &root)
{
	static const unsigned depths[] = {1, 2, 3, 62, 63, 64, 65, 66, 500};
	static const unsigned char tags[] = {0x01, 0x02, 0x04, 0x05, 0x0a, 0x30, 0x31, 0x42, 0x4a,
					     0x50, 0x60, 0x63, 0x66, 0x68, 0x6c, 0x6e, 0x77, 0x80,
					     0x81, 0x82, 0x87, 0x8a, 0xa0, 0xa1, 0xa2, 0xa3, 0xa4,
					     0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0x1f, 0xff};
	std::vector<Element *> all;

	root.collect(all);
	/* Rarely the envelope, without which the server disconnects: the message and its id. */
	if (all.size() > 2 && below(16))
		all.erase(all.begin(), all.begin() + 2);
	Element &element = *all[below(static_cast<unsigned>(all.size()))];
	switch (below(6)) {
	case 0:
		element.tag = below(4) ? tags[below(std::size(tags))]
				       : static_cast<unsigned char>(random());
		break;
	case 1:
		element.form = below(LENGTH_FORMS);
		break;
	case 2: { /* nested more deeply */
		const unsigned char tag = static_cast<unsigned char>(0xa0 + below(3));
		Message inner = encode(element);

		for (unsigned i = depths[below(std::size(depths))]; i; i--) {
			Message outer = append_length({tag}, inner.size(), LENGTH_SHORTEST);

			append(outer, inner);
			inner = std::move(outer);
		}
		/* The outermost element is this one itself. */
		element = Element();
		element.tag = tag;
		element.bytes.assign(inner.begin() + (inner[1] < 0x80 ? 2 : 2 + (inner[1] & 0x7f)),
				     inner.end());
		break;
	}
	case 3: { /* another request's part in its place */
		std::vector<Element> other;
		std::vector<Element *> parts;

		Element::parse_all(valid(), other);
		other[0].collect(parts);
		element = Element(*parts[below(static_cast<unsigned>(parts.size()))]);
		break;
	}
	case 4:
		if (!element.children.empty()) {
			change_children(element);
			break;
		}
		[[fallthrough]];
	default:
		change_content(element);
	}
}

void Fuzzer::change_bytes(Message &bytes)
{
	for (unsigned changes = 1 + below(4); changes && !bytes.empty(); changes--) {
		const unsigned at = below(static_cast<unsigned>(bytes.size()));

		switch (below(4)) {
		case 0:
			bytes[at] = static_cast<unsigned char>(random());
			break;
		case 1:
			bytes[at] ^= static_cast<unsigned char>(1u << below(8));
			break;
		case 2:
			bytes.erase(bytes.begin() + at);
			break;
		default:
			bytes.insert(bytes.begin() + at, static_cast<unsigned char>(random()));
		}
	}
}

Message Fuzzer::next()
{
	Message made = valid();
	std::vector<Element> elements;
	const unsigned kind = below(32);

	if (kind < 4)
		return made;
	if (kind > 4 && Element::parse_all(made, elements)) {
		for (unsigned changes = 1 + below(3); changes; changes--)
			change_structure(elements[0]);
		made = encode(elements[0]);
	}
	if (kind < 7)
		change_bytes(made);
	if (kind == 7)
		made.resize(below(static_cast<unsigned>(made.size())) + 1);
	return made;
}
