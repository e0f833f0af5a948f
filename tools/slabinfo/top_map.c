/* SPDX-License-Identifier: MIT */
/*
 * Slabs are in the order of occupancy.h: the partial ones, the full ones, the empty ones and the
 * others. The shade shows how much of a slab is in use; the colour, and the letter if there is room,
 * show its state.
 */
#include "top_map.h"

static const char state_letters[STATES] = {
	[STATE_PARTIAL] = 'p', [STATE_FULL] = 'F',   [STATE_EMPTY] = 'e',
	[STATE_DEBUG] = 'D',   [STATE_LEGACY] = 'l', [STATE_GUARDED] = 'G',
};

static enum style state_style(enum slab_state state)
{
	static const enum style styles[STATES] = {
		[STATE_PARTIAL] = STYLE_SLAB_PARTIAL, [STATE_FULL] = STYLE_SLAB_FULL,
		[STATE_EMPTY] = STYLE_SLAB_EMPTY,     [STATE_DEBUG] = STYLE_SLAB_DEBUG,
		[STATE_LEGACY] = STYLE_SLAB_LEGACY,   [STATE_GUARDED] = STYLE_SLAB_GUARDED,
	};

	return styles[state];
}

/* An empty slab has the lightest shade, not a blank. */
static const char *shade(const struct map_form *form, const struct slab_info *slab)
{
	static const char *const blocks[] = {"·", "░", "▒", "▓", "█"};
	static const char *const digits[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
	const size_t steps = form->utf8 ? 4 : 9;
	size_t step;

	if (slab->used >= slab->room)
		return form->utf8 ? blocks[4] : digits[9];
	/* Only an empty slab has the lowest step, and only a full one the highest. */
	step = slab->used ? 1 + (size_t)(slab->used * (steps - 1) / slab->room) : 0;
	return form->utf8 ? blocks[step] : digits[step];
}

/* --- Legend */

static int draw_states(const struct occupancy *occupancy, const struct map_form *form,
		       struct picture *picture, int row)
{
	uint64_t slabs[STATES] = {0};
	int column = 0;

	for (size_t i = 0; i < occupancy->count; i++)
		slabs[occupancy->slabs[i].state]++;
	for (unsigned state = 0; state < STATES; state++) {
		if (slabs[state])
			picture_flow(picture, &row, &column, 0, state_style((enum slab_state)state),
				     "%c %s %" PRIu64, state_letters[state],
				     state_name((enum slab_state)state), slabs[state]);
	}
	picture_flow(picture, &row, &column, 0, STYLE_FAINT, "%s",
		     form->utf8 ? "· empty ░▒▓ █ full" : "0 empty ... 9 full");
	return row + 1;
}

/* --- Places */

/* A copy merged to fit the places; occupancy_free() it. */
static bool fit(const struct occupancy *occupancy, size_t places, struct occupancy *fitting)
{
	unsigned neighbours = (unsigned)(occupancy->count / places) + 1;

	*fitting = *occupancy;
	fitting->slabs = calloc(occupancy->count, sizeof(*fitting->slabs));
	while (fitting->slabs) {
		memcpy(fitting->slabs, occupancy->slabs,
		       occupancy->count * sizeof(*fitting->slabs));
		fitting->count = occupancy->count;
		occupancy_merge(fitting, neighbours);
		if (fitting->count <= places || neighbours > occupancy->count)
			return true;
		neighbours += neighbours / 16 + 1;
	}
	return false;
}

static void draw_place(const struct slab_info *slab, const struct map_form *form, int width,
		       struct picture *picture, int row, int column)
{
	enum style style = state_style(slab->state);

	if (width == 2 || form->letters)
		column = picture_put(picture, row, column, style, "%c", state_letters[slab->state]);
	if (width == 2 || !form->letters)
		picture_put(picture, row, column, style, "%s", shade(form, slab));
}

static int draw_places(const struct occupancy *slabs, const struct map_form *form, int width,
		       struct picture *picture, int row, int rows)
{
	const int pitch = width == 2 ? 3 : 1, in_row = picture->columns / pitch;
	int i = 0;

	for (; (size_t)i < slabs->count && i / in_row < rows; i++)
		draw_place(&slabs->slabs[i], form, width, picture, row + i / in_row,
			   i % in_row * pitch);
	return row + (i + in_row - 1) / in_row;
}

/* The number of slabs in a place, if more than one. */
static int draw_scale(const struct occupancy *occupancy, const struct occupancy *fitting,
		      struct picture *picture, int row)
{
	unsigned most = 1;
	int column = 0;

	for (size_t i = 0; i < fitting->count; i++)
		most = fitting->slabs[i].slabs > most ? fitting->slabs[i].slabs : most;
	if (most > 1)
		picture_add(picture, row, &column, STYLE_FAINT, "each place: up to %u slabs", most);
	if (occupancy->total > occupancy->count)
		picture_add(picture, row, &column, STYLE_BAD, "the first %zu of %" PRIu64 " slabs",
			    occupancy->count, occupancy->total);
	return column ? row + 1 : row;
}

int map_draw(const struct occupancy *occupancy, const struct map_form *form,
	     struct picture *picture, int row, int rows)
{
	const size_t places = (size_t)picture->columns * (size_t)rows;
	const size_t wide_places = (size_t)(picture->columns / 3) * (size_t)rows;
	struct occupancy fitting;

	row = draw_states(occupancy, form, picture, row);
	if (!fit(occupancy, places, &fitting))
		return row;
	row = draw_scale(occupancy, &fitting, picture, row);
	row = draw_places(&fitting, form, fitting.count <= wide_places ? 2 : 1, picture, row, rows);
	occupancy_free(&fitting);
	return row;
}
