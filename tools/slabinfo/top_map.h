/* SPDX-License-Identifier: MIT */
/* A map of a cache's slabs: one or two characters for each. */
#pragma once

#include "occupancy.h"
#include "top_picture.h"

struct map_form {
	bool utf8;    /* shades of occupancy; else digits 0 … 9 */
	bool letters; /* states as letters if there is no room for state and occupancy */
};

/*
 * map_draw: legend and map from a row on, the map on at most `rows` rows. If there are more
 * slabs than characters, a character stands for several neighbours of one CPU, or of one
 * state and node. Returns the row behind the map.
 */
int map_draw(const struct occupancy *occupancy, const struct map_form *form,
	     struct picture *picture, int row, int rows);
