/* SPDX-License-Identifier: MIT */
/*
 * slab-symbolize: libslab's reports start it to learn which functions and lines
 * their return addresses are in.
 */
#include "symbolizer.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

static const char help[] =
	"usage: slab-symbolize < ADDRESSES\n"
	"Say which function, source file and line return addresses are in.\n"
	"\n"
	"Each line of ADDRESSES is the path of a program or shared library, a tab, and\n"
	"the offset of the address from where the file was loaded: 0x and hexadecimal\n"
	"digits, or decimal ones. Each is answered by one line:\n"
	"\n"
	"  entry_new+0x1c (entry.c:123)\n"
	"  entry_fill in entry_new+0x30 (entry.c:98)     inlined code\n"
	"  entry_new+0x1c                                without debug information\n"
	"\n"
	"or by an empty one when nothing is known.\n"
	"\n"
	"Exit status: 0 done, 1 the answer could not be written, 2 bad usage or input.\n";

/* "PATH\tOFFSET\n": ends the path, fills *ret_offset. */
static bool parse(char *line, uint64_t *ret_offset)
{
	char *tab = strrchr(line, '\t');
	const char *digits;
	bool hexadecimal;
	char *end;

	if (!tab || tab == line)
		return false;
	hexadecimal = strncmp(tab + 1, "0x", 2) == 0;
	digits = tab + (hexadecimal ? 3 : 1);
	if (strspn(digits, hexadecimal ? "0123456789abcdefABCDEF" : "0123456789") == 0)
		return false;
	errno = 0;
	*ret_offset = strtoull(digits, &end, hexadecimal ? 16 : 10);
	*tab = '\0';
	return errno == 0 && (*end == '\0' || strcmp(end, "\n") == 0);
}

static int answer(struct symbolizer *symbolizer)
{
	char text[SYMBOLIZER_TEXT];
	unsigned long number = 0;
	char *line = NULL;
	size_t size = 0;
	uint64_t offset;
	int status = EXIT_DONE;

	while (status == EXIT_DONE && getline(&line, &size, stdin) > 0) {
		number++;
		if (!parse(line, &offset)) {
			fprintf(stderr,
				"slab-symbolize: line %lu is not a path, a tab and an offset such "
				"as 0x1234\n",
				number);
			status = EXIT_USAGE;
		} else if (puts(symbolizer_lookup(symbolizer, line, offset, text, sizeof(text))) <
				   0 ||
			   fflush(stdout) != 0) {
			fprintf(stderr, "slab-symbolize: the answer could not be written\n");
			status = EXIT_FAILED;
		}
	}
	free(line);
	return status;
}

int main(int argc, char **argv)
{
	struct symbolizer *symbolizer;
	int status;

	if (argc == 2 && strcmp(argv[1], "--help") == 0) {
		fputs(help, stdout);
		return fflush(stdout) == 0 ? EXIT_DONE : EXIT_FAILED;
	}
	if (argc > 1) {
		fprintf(stderr,
			"slab-symbolize: \"%s\" means nothing here; addresses are read from "
			"stdin, and --help explains how\n",
			argv[1]);
		return EXIT_USAGE;
	}
	symbolizer = symbolizer_open();
	if (!symbolizer) {
		fprintf(stderr, "slab-symbolize: there is no memory\n");
		return EXIT_FAILED;
	}
	status = answer(symbolizer);
	symbolizer_close(symbolizer);
	return status;
}
