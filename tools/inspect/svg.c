/* SPDX-License-Identifier: MIT */
/* Writing SVG: texts, their approximate width, panels, and the themes (svg.h). */
#include "svg.h"
#include "fail.h"
#include "output.h"

#include <stdarg.h>

#define TEXT_MAX 512

static const char light_style[] =
	"text{font:12px \"DejaVu Sans\",system-ui,sans-serif;fill:#20262c}\n"
	".h1{font-size:20px}.h2{font-size:14px}.h3{font-size:11px}\n"
	".b{font-weight:bold}.e{text-anchor:end}.m{text-anchor:middle}.dim{fill:#5a6570}\n"
	".page{fill:#fff}.panel{fill:#f5f7f9}.grid{stroke:#d4dae0}\n";

static const char dark_style[] = "text{fill:#e6eaee}.dim{fill:#a4afba}\n"
				 ".page{fill:#14181c}.panel{fill:#1d2329}.grid{stroke:#38424c}\n";

bool svg_begin(struct svg *svg)
{
	memset(svg, 0, sizeof(*svg));
	svg->out = open_memstream(&svg->text, &svg->size);
	if (!svg->out)
		fail("no memory for a picture");
	return svg->out;
}

void svg_end(struct svg *svg)
{
	if (svg->out)
		fclose(svg->out);
	free(svg->text);
}

static void write_head(struct svg *svg, const struct svg_style *style, double width, double height,
		       const char *label)
{
	fprintf(svg->out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
		"viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"",
		width, height, width, height);
	svg_escape(svg->out, label);
	fprintf(svg->out,
		"\">\n<style>\n%s%s@media (prefers-color-scheme:dark){\n%s%s}\n</style>\n",
		light_style, style->light, dark_style, style->dark);
	fprintf(svg->out, "<rect width=\"%.0f\" height=\"%.0f\" class=\"page\"/>\n", width, height);
}

int svg_write(struct svg *svg, const char *path, const struct svg_style *style, double width,
	      double height, const char *label)
{
	struct svg whole;
	int status = EXIT_USAGE;

	if (!svg_begin(&whole))
		return status;
	write_head(&whole, style, width, height, label);
	fflush(svg->out);
	fwrite(svg->text, 1, svg->size, whole.out);
	fputs("</svg>\n", whole.out);
	if (ferror(svg->out) || fflush(whole.out) != 0)
		fail("no memory for a picture of %zu bytes", svg->size);
	else if (output_write(path, whole.text, whole.size))
		status = EXIT_DONE;
	svg_end(&whole);
	return status;
}

/* Is this a continuation byte of a UTF-8 character? */
static bool goes_on(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

/* The bytes of the character at `text`; 0: it is not valid UTF-8, or XML does not allow it. */
static size_t character_size(const char *text)
{
	if ((unsigned char)*text < ' ' || strncmp(text, "\xef\xbf\xbe", 3) == 0 ||
	    strncmp(text, "\xef\xbf\xbf", 3) == 0)
		return 0;
	return utf8_length(text);
}

void svg_escape(FILE *out, const char *text)
{
	while (*text) {
		size_t size = character_size(text);

		if (size == 0)
			fputc('?', out);
		else if (strchr("&<>\"", *text))
			fprintf(out, "&#%d;", *text);
		else
			fwrite(text, 1, size, out);
		text += size ? size : 1;
	}
}

/* The width of a character at font size 1. Only its first byte has a width. */
static double byte_width(char byte)
{
	if (goes_on(byte))
		return 0;
	if ((unsigned char)byte >= 0xe2) /* most of these characters are as wide as high */
		return 1;
	if (strchr("ijlI.,:;|!' ", byte))
		return 0.32;
	if (strchr("frt-()[]/", byte))
		return 0.4;
	if (strchr("mwMW@%", byte))
		return 0.97;
	return byte >= 'A' && byte <= 'Z' ? 0.74 : 0.63;
}

double svg_text_width(const char *text, double size)
{
	double width = 0;

	while (*text)
		width += byte_width(*text++);
	return width * size;
}

void svg_fit(char *text, double width, double size)
{
	static const char cut[] = "…";
	size_t len = strlen(text);
	char *whole;

	if (svg_text_width(text, size) <= width || len < sizeof(cut))
		return;
	whole = strdup(text);
	for (size_t kept = len - (sizeof(cut) - 1); whole && kept > 0; kept--) {
		size_t head = kept - kept / 3, tail = len - kept / 3;

		while (head > 0 && goes_on(whole[head]))
			head--;
		while (goes_on(whole[tail]))
			tail++;
		sprintf(text, "%.*s%s%s", (int)head, whole, cut, whole + tail);
		if (svg_text_width(text, size) <= width)
			break;
	}
	free(whole);
}

void svg_text(struct svg *svg, double x, double y, const char *classes, const char *format, ...)
{
	char text[TEXT_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fprintf(svg->out, "<text x=\"%g\" y=\"%g\"", x, y);
	if (*classes)
		fprintf(svg->out, " class=\"%s\"", classes);
	fputc('>', svg->out);
	svg_escape(svg->out, text);
	fputs("</text>\n", svg->out);
}

void svg_panel(struct svg *svg, double x, double y, double width, double height)
{
	fprintf(svg->out,
		"<rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" rx=\"6\" class=\"panel\"/>\n",
		x, y, width, height);
}
