/* SPDX-License-Identifier: MIT */
/*
 * The terminal: passes pictures to curses, and keys to top_keys.c.
 *
 * Signals that end the program only set a flag, and are unblocked only while it waits. So
 * the program always ends by the same path and restores the terminal. curses handles Ctrl-Z
 * and the return from it. The program queries the screen size before each picture; a change
 * of size ends the wait.
 */
#include "top.h"

#include <curses.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <term.h>

#define ESCAPE_MS 25 /* maximum time between the bytes of a key */

static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
#define ENDING (sizeof(ending) / sizeof(ending[0]))

static volatile sig_atomic_t ended_by;

static void note_end(int signal)
{
	ended_by = signal;
}

/* --- Opening and closing */

static void set_colours(void)
{
	static const short colours[STYLE_COUNT] = {
		[STYLE_BAD] = COLOR_RED,
		[STYLE_BAR] = COLOR_GREEN,
		[STYLE_DEBUG_FLAGS] = COLOR_MAGENTA,
		[STYLE_SLAB_PARTIAL] = COLOR_YELLOW,
		[STYLE_SLAB_EMPTY] = COLOR_CYAN,
		[STYLE_SLAB_DEBUG] = COLOR_MAGENTA,
		[STYLE_SLAB_LEGACY] = COLOR_RED,
		[STYLE_SLAB_GUARDED] = COLOR_BLUE,
	};

	if (!has_colors())
		return;
	start_color();
	use_default_colors();
	for (int i = 0; i < STYLE_COUNT; i++)
		init_pair((short)(i + 1), colours[i] ? colours[i] : -1, -1);
}

/* Whether the terminal is known and can move its cursor. */
static bool can_draw(void)
{
	bool can;
	int error;

	if (setupterm(NULL, STDOUT_FILENO, &error) != OK)
		return false;
	can = cursor_address;
	del_curterm(cur_term);
	return can;
}

static bool open_screen(SCREEN **ret_screen)
{
	if (!can_draw())
		return false;
	*ret_screen = newterm(NULL, stdout, stdin);
	if (!*ret_screen)
		return false;
	set_escdelay(ESCAPE_MS);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	curs_set(0);
	set_colours();
	return true;
}

static void close_screen(SCREEN *screen)
{
	erase();
	refresh();
	endwin();
	delscreen(screen);
}

static void catch_ending(struct sigaction before[ENDING])
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = note_end;
	for (size_t i = 0; i < ENDING; i++)
		sigaction(ending[i], &action, &before[i]);
}

static void release_ending(const struct sigaction before[ENDING])
{
	for (size_t i = 0; i < ENDING; i++)
		sigaction(ending[i], &before[i], NULL);
}

/* --- Showing */

static attr_t attributes(enum style style)
{
	static const attr_t plain[STYLE_COUNT] = {
		[STYLE_STRONG] = A_BOLD,
		[STYLE_FAINT] = A_DIM,
		[STYLE_BAD] = A_BOLD,
		[STYLE_HEAD] = A_REVERSE,
		[STYLE_SORTED] = A_REVERSE | A_BOLD,
		[STYLE_SELECTED] = A_REVERSE,
		[STYLE_SLAB_GUARDED] = A_BOLD,
	};

	return plain[style] | (has_colors() ? COLOR_PAIR(style + 1) : 0);
}

static void follow_size(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col &&
	    is_term_resized(size.ws_row, size.ws_col)) {
		resizeterm(size.ws_row, size.ws_col);
		clearok(stdscr, TRUE);
	}
}

static void show(struct top *top)
{
	struct picture picture;

	follow_size();
	if (!picture_make(&picture, LINES, COLS))
		return;
	top_draw(top, &picture);
	erase();
	for (int row = 0; row < LINES; row++) {
		for (int column = 0; column < COLS; column++) {
			const struct glyph *glyph = picture_glyph(&picture, row, column);

			attrset(attributes((enum style)glyph->style));
			mvaddstr(row, column, *glyph->text ? glyph->text : " ");
		}
	}
	refresh();
	picture_free(&picture);
}

/* --- Keys */

static int translate(int key)
{
	static const struct {
		int curses, key;
	} keys[] = {
		{KEY_UP, TOP_KEY_UP},
		{KEY_DOWN, TOP_KEY_DOWN},
		{KEY_PPAGE, TOP_KEY_PAGE_UP},
		{KEY_NPAGE, TOP_KEY_PAGE_DOWN},
		{KEY_HOME, TOP_KEY_HOME},
		{KEY_END, TOP_KEY_END},
		{KEY_ENTER, TOP_KEY_ENTER},
		{'\r', TOP_KEY_ENTER},
		{'\n', TOP_KEY_ENTER},
		{27, TOP_KEY_ESCAPE},
		{127, TOP_KEY_BACKSPACE},
		{'\b', TOP_KEY_BACKSPACE},
		{KEY_BACKSPACE, TOP_KEY_BACKSPACE},
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (keys[i].curses == key)
			return keys[i].key;
	}
	return key < KEY_MIN ? key : 0;
}

/* Wait for a key, a signal, or the moment `until`. False: the terminal is gone. */
static bool wait_for_input(double until)
{
	double seconds = until - top_clock();
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	struct timespec time;
	sigset_t blocked, before;
	int ready = 0;

	seconds = seconds > 0 ? seconds : 0;
	time.tv_sec = (time_t)seconds;
	time.tv_nsec = (long)((seconds - (double)time.tv_sec) * 1e9);
	sigemptyset(&blocked);
	for (size_t i = 0; i < ENDING; i++)
		sigaddset(&blocked, ending[i]);
	sigaddset(&blocked, SIGWINCH);
	sigprocmask(SIG_BLOCK, &blocked, &before);
	if (!ended_by)
		ready = ppoll(&input, 1, &time, &before);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return ready <= 0 || !(input.revents & (POLLHUP | POLLERR | POLLNVAL));
}

/* Handle all pressed keys; false: quit. */
static bool press_keys(struct top *top, double *next_look)
{
	int key;

	while ((key = getch()) != ERR) {
		enum top_action action = top_press(top, translate(key));

		if (action == TOP_QUIT)
			return false;
		if (action == TOP_LOOK)
			*next_look = 0;
		if (action == TOP_LOOK_SLABS)
			top_look_slabs(top);
	}
	return true;
}

static void run(struct top *top)
{
	double next_look = top->now.at + top_pause(top);

	for (;;) {
		show(top);
		if (!wait_for_input(top->ended ? top_clock() + TOP_INTERVAL_MAX : next_look))
			return;
		if (ended_by || !press_keys(top, &next_look))
			return;
		/* A new interval counts from the last look. */
		if (next_look > top->now.at + top_pause(top))
			next_look = top->now.at + top_pause(top);
		if (!top->ended && top_clock() >= next_look) {
			double start = top_clock();

			top_look(top);
			next_look = start + top_pause(top);
		}
	}
}

bool top_screen(struct top *top, int *ret_status)
{
	struct sigaction before[ENDING];
	SCREEN *screen;
	bool opened;

	/* Before curses, which does not replace existing signal handlers. */
	catch_ending(before);
	opened = open_screen(&screen);
	if (opened) {
		run(top);
		close_screen(screen);
	}
	release_ending(before);
	if (ended_by)
		raise(ended_by);
	*ret_status = EXIT_DONE;
	return opened;
}
