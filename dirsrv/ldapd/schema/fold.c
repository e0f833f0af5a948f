/* SPDX-License-Identifier: MIT */
/*
 * Normal forms of texts. They are folded letter by letter in ASCII, Latin-1, Greek and Cyrillic,
 * which in UTF-8 keeps their length; other letters count as they are.
 */
#include "schema/fold.h"

#include "base/bytes.h"

/* The two bytes of a letter in UTF-8, as its small letter. */
static void fold_pair(unsigned char *pair)
{
	unsigned letter = (pair[0] & 0x1fu) << 6 | (pair[1] & 0x3fu);

	if ((letter >= 0xc0 && letter <= 0xde && letter != 0xd7) ||
	    (letter >= 0x391 && letter <= 0x3a9 && letter != 0x3a2) ||
	    (letter >= 0x410 && letter <= 0x42f))
		letter += 0x20;
	else if (letter >= 0x400 && letter <= 0x40f)
		letter += 0x50;
	else if ((letter >= 0x100 && letter <= 0x12f) || (letter >= 0x14a && letter <= 0x177))
		letter |= 1;
	pair[0] = (unsigned char)(0xc0 | letter >> 6);
	pair[1] = (unsigned char)(0x80 | (letter & 0x3f));
}

/* Whether a byte continues a letter of UTF-8. */
static bool is_rest(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

void fold_text(char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c < 0x80) {
			text[i] = bytes_fold(text[i]);
		} else if (c >= 0xc3 && c <= 0xd1 && i + 1 < length && is_rest(text[i + 1])) {
			fold_pair((unsigned char *)text + i);
			i++;
		}
	}
}

size_t fold_squeeze(const char *from, size_t length, char *to)
{
	size_t used = 0;

	for (size_t i = 0; i < length; i++)
		if (from[i] != ' ' || !used || to[used - 1] != ' ')
			to[used++] = from[i];
	return used;
}

bool fold_normalize(struct dirsrv_bytes value, bool fold, struct buffer *out)
{
	const char *from = value.data;
	size_t length = value.length;
	char *to = buffer_reserve(out, length);

	while (length && *from == ' ') {
		from++;
		length--;
	}
	while (length && from[length - 1] == ' ')
		length--;
	if (!to || !value.length)
		return false;
	length = fold_squeeze(from, length, to);
	/* A value of blanks alone is one blank. */
	if (!length)
		to[length++] = ' ';
	if (fold)
		fold_text(to, length);
	out->length += length;
	return true;
}
