/* SPDX-License-Identifier: MIT */
/* What keys do. */
#include "top.h"

#define CONTROL(letter) ((letter) & 0x1f)

/* Typing */

static void start_prompt(struct top *top, enum prompt prompt, const char *text)
{
	top->prompt = prompt;
	snprintf(top->input, sizeof(top->input), "%s", text);
}

static enum top_action accept_interval(struct top *top)
{
	char *end;
	double seconds = strtod(top->input, &end);

	if (isdigit((unsigned char)top->input[0]) && !*end && seconds >= TOP_INTERVAL_MIN &&
	    seconds <= TOP_INTERVAL_MAX)
		top->interval = seconds;
	else
		snprintf(top->message, sizeof(top->message),
			 "\"%s\" is not an interval; accepted are %g to %.0f seconds", top->input,
			 TOP_INTERVAL_MIN, TOP_INTERVAL_MAX);
	return TOP_DRAW;
}

static enum top_action accept_input(struct top *top)
{
	enum prompt prompt = top->prompt;

	top->prompt = PROMPT_NONE;
	if (prompt == PROMPT_INTERVAL)
		return accept_interval(top);
	if (top_filter(top, top->input))
		top_rows(top);
	return TOP_DRAW;
}

/* A character may have several bytes. */
static void erase_letter(char *text)
{
	size_t length = strlen(text);

	while (length && (text[length - 1] & 0xc0) == 0x80)
		length--;
	text[length ? length - 1 : 0] = '\0';
}

static enum top_action type(struct top *top, int key)
{
	size_t length = strlen(top->input);

	if (key == TOP_KEY_ENTER)
		return accept_input(top);
	if (key == TOP_KEY_ESCAPE)
		top->prompt = PROMPT_NONE;
	else if (key == TOP_KEY_BACKSPACE)
		erase_letter(top->input);
	else if (key == CONTROL('u'))
		top->input[0] = '\0';
	else if (key >= ' ' && key < 0x100 && length + 1 < sizeof(top->input))
		memcpy(top->input + length, (char[]){(char)key, '\0'}, 2);
	return TOP_DRAW;
}

/* Pages */

static enum top_action turn_to(struct top *top, enum page page)
{
	top->page = page;
	top->scroll = 0;
	return page == PAGE_DETAIL ? TOP_LOOK_SLABS : TOP_DRAW;
}

static enum top_action press_in_table(struct top *top, int key)
{
	size_t page = top->lines ? top->lines : 1, last = top->count ? top->count - 1 : 0;

	if (key == TOP_KEY_UP && top->cursor > 0)
		top_select(top, top->cursor - 1);
	else if (key == TOP_KEY_DOWN)
		top_select(top, top->cursor + 1);
	else if (key == TOP_KEY_PAGE_UP)
		top_select(top, top->cursor > page ? top->cursor - page : 0);
	else if (key == TOP_KEY_PAGE_DOWN)
		top_select(top, top->cursor + page < last ? top->cursor + page : last);
	else if (key == TOP_KEY_HOME)
		top_select(top, 0);
	else if (key == TOP_KEY_END)
		top_select(top, last);
	if (key != TOP_KEY_ENTER || !top->count)
		return TOP_DRAW;
	top_select(top, top->cursor);
	return turn_to(top, PAGE_DETAIL);
}

static enum top_action press_in_detail(struct top *top, int key)
{
	int to = top->scroll;

	if (key == TOP_KEY_UP)
		to--;
	else if (key == TOP_KEY_DOWN)
		to++;
	else if (key == TOP_KEY_PAGE_UP)
		to -= 10;
	else if (key == TOP_KEY_PAGE_DOWN)
		to += 10;
	else if (key == TOP_KEY_HOME)
		to = 0;
	else if (key == TOP_KEY_END)
		to = top->scroll_max;
	top->scroll = to < 0 ? 0 : to > top->scroll_max ? top->scroll_max : to;
	return TOP_DRAW;
}

static void sort_by(struct top *top, int step)
{
	top->sort = (enum column)((COLUMN_COUNT + (int)top->sort + step) % COLUMN_COUNT);
	top->reverse = false;
	top_rows(top);
}

/* Keys with the same meaning on all pages. False: not one of them. */
static bool change_view(struct top *top, int key)
{
	char text[32];

	switch (key) {
	case '<':
	case '>':
		sort_by(top, key == '<' ? -1 : 1);
		return true;
	case 'R':
		top->reverse = !top->reverse;
		top_rows(top);
		return true;
	case 'z':
		top->options.zero = !top->options.zero;
		top_rows(top);
		return true;
	case 'B':
		top->options.bytes = !top->options.bytes;
		return true;
	case 'm':
		top->map_letters = !top->map_letters;
		return true;
	case '/':
		start_prompt(top, PROMPT_FILTER, top->filter);
		return true;
	case 's':
	case 'd':
		snprintf(text, sizeof(text), "%g", top->interval);
		start_prompt(top, PROMPT_INTERVAL, text);
		return true;
	default:
		return false;
	}
}

enum top_action top_press(struct top *top, int key)
{
	top->message[0] = '\0';
	if (top->prompt != PROMPT_NONE)
		return type(top, key);
	if (key == 'q')
		return TOP_QUIT;
	if (key == ' ')
		return TOP_LOOK;
	if (change_view(top, key))
		return TOP_DRAW;
	if (key == TOP_KEY_ESCAPE || key == TOP_KEY_BACKSPACE)
		return turn_to(top, PAGE_TABLE);
	if (key == 'h' || key == '?')
		return turn_to(top, PAGE_HELP);
	if (top->page == PAGE_TABLE)
		return press_in_table(top, key);
	return press_in_detail(top, key);
}
