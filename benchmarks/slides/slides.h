/* SPDX-License-Identifier: MIT */
/* The cases of slides.c and hackbench.c. A case prints rows: row,bytes,median,minimum. */
#ifndef SLIDES_SLIDES_H
#define SLIDES_SLIDES_H

/* The contestant, for files that do not include its header. */
struct slides_allocator {
	void *(*alloc)(void);
	void (*free)(void *obj);
};

/* hackbench as threads: see hackbench.c. Returns seconds. */
double hackbench(const struct slides_allocator *allocator, unsigned groups, unsigned members,
		 unsigned messages);

#endif /* SLIDES_SLIDES_H */
