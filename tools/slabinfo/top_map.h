/* SPDX-License-Identifier: MIT */
/* A cache's slabs as a map: a place, or two, for each of them. */
#ifndef SLABINFO_TOP_MAP_H
#define SLABINFO_TOP_MAP_H

#include "occupancy.h"
#include "top_picture.h"

struct map_form {
	bool utf8;    /* shades of occupancy; else digits 0 … 9 */
	bool debug_flags; /* states as debug flags where there is no room for both */
};

/*
 * map_draw: legend and map from a row on, the map on at most `rows` rows. Where
 * there are more slabs than places, a place is for several neighbours: of one CPU,
 * or of one state and node. Returns the row behind it.
 */
int map_draw(const struct occupancy *occupancy, const struct map_form *form,
	     struct picture *picture, int row, int rows);

#endif /* SLABINFO_TOP_MAP_H */
