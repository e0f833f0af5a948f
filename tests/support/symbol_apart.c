/* SPDX-License-Identifier: MIT */
#include "report/symbol.h"
#include "symbol_apart.h"

void symbol_apart(const void *frame, char *text)
{
	char found[1][SYMBOL_TEXT];

	symbolize(1, &frame, found);
	for (unsigned i = 0; i < SYMBOL_TEXT; i++)
		text[i] = found[0][i];
}
