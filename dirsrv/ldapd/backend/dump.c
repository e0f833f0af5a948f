/* SPDX-License-Identifier: MIT */
/* Writing LDIF, RFC 2849. */
#include <errno.h>
#include <lmdb.h>
#include <string.h>

#include "backend/internal.h"

/* Lines are folded at this many characters. */
#define LINE_MAX 76

/* Entries between two calls of the progress function. */
#define PROGRESS 1000

struct dump {
	FILE *out;
	struct buffer line;
	struct pairs pairs;
};

/* SAFE-STRING: may the value stand as it is? */
static bool is_safe(struct dirsrv_bytes value)
{
	const unsigned char *at = value.data;

	if (!value.length)
		return true;
	if (at[0] == ' ' || at[0] == ':' || at[0] == '<' || at[value.length - 1] == ' ')
		return false;
	for (size_t i = 0; i < value.length; i++)
		if (!at[i] || at[i] == '\n' || at[i] == '\r' || at[i] > 0x7f)
			return false;
	return true;
}

static void append_base64(struct buffer *line, struct dirsrv_bytes value)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *at = value.data;

	for (size_t i = 0; i < value.length; i += 3) {
		size_t left = value.length - i;
		unsigned bits = (unsigned)at[i] << 16 | (left > 1 ? at[i + 1] : 0u) << 8 |
				(left > 2 ? at[i + 2] : 0u);

		buffer_byte(line, digits[bits >> 18]);
		buffer_byte(line, digits[bits >> 12 & 63]);
		buffer_byte(line, left > 1 ? digits[bits >> 6 & 63] : '=');
		buffer_byte(line, left > 2 ? digits[bits & 63] : '=');
	}
}

static void write_line(struct dump *dump, struct dirsrv_bytes type, struct dirsrv_bytes value)
{
	struct buffer *line = &dump->line;
	bool safe = is_safe(value);

	buffer_clear(line);
	buffer_append(line, type.data, type.length);
	buffer_text(line, safe ? ": " : ":: ");
	if (safe)
		buffer_append(line, value.data, value.length);
	else
		append_base64(line, value);
	for (size_t at = 0, room; at < line->length; at += room) {
		room = at ? LINE_MAX - 1 : LINE_MAX;
		room = line->length - at < room ? line->length - at : room;
		if (at)
			fputc(' ', dump->out);
		fwrite(line->data + at, 1, room, dump->out);
		fputc('\n', dump->out);
	}
}

static int write_entry(struct dump *dump, const struct row *row)
{
	dump->pairs.count = 0;
	if (!row_pairs(row, &dump->pairs))
		return dump->pairs.failed ? ENOMEM : STORE_CORRUPT;
	write_line(dump, (struct dirsrv_bytes){"dn", 2}, row->dn);
	for (size_t i = 0; i < dump->pairs.count; i++)
		write_line(dump, dump->pairs.pair[i].type, dump->pairs.pair[i].value);
	fputc('\n', dump->out);
	if (dump->line.failed)
		return ENOMEM;
	return ferror(dump->out) ? EIO : 0;
}

/* Replace the top of the stack by its children, the first of them on top. */
static int expand(struct store_txn *txn, struct ids *stack, uint64_t id)
{
	size_t low = stack->count, high;
	int error = store_children(txn, id, stack);

	if (error || stack->failed)
		return error ? error : ENOMEM;
	for (high = stack->count; high > low + 1; low++) {
		uint64_t last = stack->id[--high];

		stack->id[high] = stack->id[low];
		stack->id[low] = last;
	}
	return 0;
}

static int write_all(struct dump *dump, struct store_txn *txn, backend_progress_fn *progress,
		     void *arg, long *written)
{
	struct ids stack = {0};
	int error = expand(txn, &stack, ROW_ROOT);

	while (!error && stack.count) {
		uint64_t id = stack.id[--stack.count];
		struct row row;

		error = store_get(txn, id, &row);
		if (!error)
			error = write_entry(dump, &row);
		if (!error)
			error = expand(txn, &stack, id);
		if (error)
			break;
		++*written;
		if (*written % PROGRESS == 0 && progress && !progress((uint64_t)*written, arg))
			error = ECANCELED;
	}
	ids_free(&stack);
	return error;
}

long backend_dump(struct backend *backend, FILE *out, backend_progress_fn *progress, void *arg,
		  char *error, size_t size)
{
	struct dump dump = {.out = out};
	struct store_txn *txn;
	long written = 0;
	int failed = store_read_begin(backend->store, &txn);

	if (!failed) {
		fputs("version: 1\n\n", out);
		failed = write_all(&dump, txn, progress, arg, &written);
	}
	store_read_end(txn);
	buffer_free(&dump.line);
	pairs_free(&dump.pairs);
	if (!failed && fflush(out))
		failed = errno;
	if (!failed)
		return written;
	snprintf(error, size, "the dump ended after %ld entries: %s", written,
		 store_strerror(failed));
	return -1;
}
