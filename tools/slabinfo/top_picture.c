/* SPDX-License-Identifier: MIT */
/* Writing text into the picture of --top. A wide character takes two places, and text that does not
 * fit is cut off. */
#include "top_picture.h"

#include <stdarg.h>
#include <wchar.h>

#define TEXT_BYTES 512

bool picture_make(struct picture *picture, int rows, int columns)
{
	picture->rows = rows;
	picture->columns = columns;
	picture->glyphs = calloc((size_t)rows * (size_t)columns, sizeof(struct glyph));
	return picture->glyphs;
}

void picture_free(struct picture *picture)
{
	free(picture->glyphs);
	picture->glyphs = NULL;
}

/* The next character of a text goes to a glyph; returns how many bytes it has. */
static size_t take_character(struct glyph *glyph, const char *text)
{
	mbstate_t state = {0};
	wchar_t wide;
	size_t bytes = mbrtowc(&wide, text, strlen(text), &state);
	bool bad = bytes > sizeof(glyph->text) - 1; /* an error is a large number */

	if (bad || wcwidth(wide) != 1) {
		strcpy(glyph->text, "?");
		return bad ? 1 : bytes;
	}
	memcpy(glyph->text, text, bytes);
	glyph->text[bytes] = '\0';
	return bytes;
}

static int put_text(struct picture *picture, int row, int column, enum style style,
		    const char *text)
{
	while (*text && column < picture->columns && row < picture->rows) {
		struct glyph *glyph = picture_glyph(picture, row, column++);

		glyph->style = (unsigned char)style;
		text += take_character(glyph, text);
	}
	return column;
}

int picture_put(struct picture *picture, int row, int column, enum style style, const char *format,
		...)
{
	char text[TEXT_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return put_text(picture, row, column, style, text);
}

static int places(const char *text)
{
	struct glyph glyph;
	int count = 0;

	for (; *text; count++)
		text += take_character(&glyph, text);
	return count;
}

/* False where the text does not fit the row. */
static bool add_text(struct picture *picture, int row, int *column, enum style style,
		     const char *text)
{
	int start = *column ? *column + 2 : 0;

	if (start + places(text) > picture->columns)
		return false;
	*column = put_text(picture, row, start, style, text);
	return true;
}

void picture_add(struct picture *picture, int row, int *column, enum style style,
		 const char *format, ...)
{
	char text[TEXT_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	add_text(picture, row, column, style, text);
}

void picture_flow(struct picture *picture, int *row, int *column, int start, enum style style,
		  const char *format, ...)
{
	char text[TEXT_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (!add_text(picture, *row, column, style, text))
		*column = put_text(picture, ++*row, start, style, text);
}

void picture_style_row(struct picture *picture, int row, enum style style)
{
	for (int column = 0; column < picture->columns && row < picture->rows; column++)
		picture_glyph(picture, row, column)->style = (unsigned char)style;
}

void picture_copy(struct picture *to, int at, int rows, const struct picture *from, int first)
{
	for (int row = 0; row < rows && first + row < from->rows && at + row < to->rows; row++)
		memcpy(picture_glyph(to, at + row, 0), picture_glyph(from, first + row, 0),
		       (size_t)to->columns * sizeof(struct glyph));
}

void picture_print(const struct picture *picture, int rows, FILE *out)
{
	for (int row = 0; row < rows; row++) {
		int end = picture->columns;

		while (end > 0 && (!*picture_glyph(picture, row, end - 1)->text ||
				   strcmp(picture_glyph(picture, row, end - 1)->text, " ") == 0))
			end--;
		for (int column = 0; column < end; column++) {
			const char *text = picture_glyph(picture, row, column)->text;

			fputs(*text ? text : " ", out);
		}
		fputc('\n', out);
	}
}
