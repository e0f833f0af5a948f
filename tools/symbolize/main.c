/* SPDX-License-Identifier: MIT */
/*
 * slab-symbolize: copies a log and replaces the addresses in libslab's reports by functions,
 * source files and lines, and the tokens of types by their names.
 */
#include "symbolizer.h"
#include "type_files.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

#define HEXADECIMAL "0123456789abcdefABCDEF"

static const char help[] =
	"usage: slab-symbolize [--background | FILE...] < LOG\n"
	"Copy a log to stdout; return addresses in it, as libslab's reports have them,\n"
	"become functions, source files and lines. Tokens of types become names, if the\n"
	"files, programs and shared libraries, have these types in their debug information.\n"
	"\n"
	"An address is the path of a program or shared library and the offset from where\n"
	"the file was loaded, in brackets; what is known of the function may stand before it:\n"
	"\n"
	"  (/usr/sbin/directory+0x9c41)\n"
	"  entry_new+0x1c (/usr/lib/libentry.so+0x5e12)\n"
	"\n"
	"It becomes one of\n"
	"\n"
	"  entry_new+0x1c (entry.c:123)\n"
	"  entry_fill (entry.c:98)       inlined code\n"
	"  entry_new+0x1c                without debug information\n"
	"\n"
	"or stays as it is when nothing is known. An address alone on its line becomes a line\n"
	"for each function, the innermost first: inlined code, and the function that has it.\n"
	"\n"
	"  --background  return at once, and go on until the log ends; for libslab, which\n"
	"                starts it so with SLAB_SYMBOLS=on\n"
	"\n"
	"Exit status: 0 done, 1 the answer could not be written, 2 bad usage.\n";

/* An address in a line, from `start` to `end`. */
struct place {
	const char *start, *end;
	const char *path;
	size_t path_length;
	uint64_t offset;
};

static bool find_place(const char *from, struct place *place)
{
	for (const char *open = from; (open = strstr(open, "(/")); open++) {
		const char *plus = strstr(open, "+0x");
		size_t digits = plus ? strspn(plus + 3, HEXADECIMAL) : 0;

		if (digits == 0 || digits > 16 || plus[3 + digits] != ')')
			continue;
		place->start = open;
		place->end = plus + 3 + digits + 1;
		place->path = open + 1;
		place->path_length = (size_t)(plus - open) - 1;
		place->offset = strtoull(plus + 3, NULL, 16);
		return true;
	}
	return false;
}

/* Drop "entry_new+0x1c " before an address: the replacement contains it. */
static const char *name_before(const char *from, const char *start)
{
	const char *at = start;

	if (at == from || at[-1] != ' ')
		return start;
	at--;
	while (at > from && strchr(HEXADECIMAL, at[-1]))
		at--;
	if (at - from < 3 || at == start - 1 || strncmp(at - 3, "+0x", 3) != 0)
		return start;
	at -= 3;
	while (at > from && at[-1] != ' ' && at[-1] != '\t')
		at--;
	return at;
}

static const struct symbol_frame *look_up(struct symbolizer *symbolizer, const struct place *place,
					  enum symbol_callee callee, size_t *ret_count)
{
	char *path = strndup(place->path, place->path_length);
	const struct symbol_frame *frames = NULL;

	*ret_count = 0;
	if (path)
		frames = symbolizer_lookup(symbolizer, path, place->offset, callee, ret_count);
	free(path);
	return frames;
}

/* Is nothing but blanks around the place and the name before it? */
static bool is_alone(const char *line, const char *name, const struct place *place)
{
	return line + strspn(line, " \t") == name &&
	       place->end[strspn(place->end, " \r\n")] == '\0';
}

static struct type_files *types;

static void copy_until(const char *from, const char *end)
{
	type_files_print(types, from, end, stdout);
}

/* `in_stack`: the line before is a frame of a stack. Returns whether this one is. */
static bool copy_line(struct symbolizer *symbolizer, const char *line, bool in_stack)
{
	bool alone = false;
	const char *copied = line, *from = line;
	char text[SYMBOLIZER_TEXT];
	struct place place;

	while (find_place(from, &place)) {
		size_t count;
		const struct symbol_frame *frame;
		const char *name = name_before(copied, place.start);

		alone = is_alone(line, name, &place);
		frame = look_up(symbolizer, &place,
				alone && in_stack ? CALLEE_LAST : CALLEE_LIBSLAB, &count);
		from = place.start + 1;
		if (!count)
			continue;
		for (size_t i = 0; alone && i + 1 < count; i++) {
			copy_until(line, name);
			printf("%s\n", symbol_frame_text(frame++, text, sizeof(text)));
		}
		copy_until(copied, name);
		fputs(symbol_frame_text(frame, text, sizeof(text)), stdout);
		copied = from = place.end;
	}
	copy_until(copied, copied + strlen(copied));
	return alone;
}

/* Line by line, since the log may still grow. */
static int copy(struct symbolizer *symbolizer)
{
	char *line = NULL;
	size_t size = 0;
	ssize_t length;
	int status = EXIT_DONE;
	bool in_stack = false;

	while (status == EXIT_DONE && (length = getline(&line, &size, stdin)) > 0) {
		if (strlen(line) == (size_t)length)
			in_stack = copy_line(symbolizer, line, in_stack);
		else
			fwrite(line, 1, (size_t)length, stdout);
		if (fflush(stdout) != 0) {
			fprintf(stderr, "slab-symbolize: the answer could not be written\n");
			status = EXIT_FAILED;
		}
	}
	free(line);
	return status;
}

/* What the words of the command say. */
static int prepare(int argc, char **argv)
{
	const bool in_background = argc == 2 && strcmp(argv[1], "--background") == 0;

	if (in_background)
		type_files_add_process(types, getppid());
	/* Continue in the background, where signals of the terminal do not end it. */
	if (in_background)
		return daemon(1, 1) == 0 ? EXIT_DONE : EXIT_FAILED;
	for (int i = 1; i < argc; i++) {
		if (argv[i][0] == '-') {
			fprintf(stderr,
				"slab-symbolize: \"%s\" is not an option; the log is read from stdin, "
				"and --help explains how\n",
				argv[i]);
			return EXIT_USAGE;
		}
		type_files_add(types, argv[i]);
	}
	return EXIT_DONE;
}

int main(int argc, char **argv)
{
	struct symbolizer *symbolizer = symbolizer_open();
	int status;

	if (argc == 2 && strcmp(argv[1], "--help") == 0) {
		fputs(help, stdout);
		return fflush(stdout) == 0 ? EXIT_DONE : EXIT_FAILED;
	}
	types = type_files_new();
	if (!symbolizer || !types) {
		fprintf(stderr, "slab-symbolize: there is no memory\n");
		return EXIT_FAILED;
	}
	status = prepare(argc, argv);
	if (status == EXIT_DONE)
		status = copy(symbolizer);
	type_files_free(types);
	symbolizer_close(symbolizer);
	return status;
}
