/* SPDX-License-Identifier: MIT */
/* The hunt: steps that are taken while the load goes on. */
#ifndef DIRECTORY_HUNT_H
#define DIRECTORY_HUNT_H

#include "args.h"

/* A step of a run, after that part of its time. */
struct step {
	double at; /* 1: no more */
	void (*act)(const struct args *args);
};

extern const struct step hunt_steps[];

#endif /* DIRECTORY_HUNT_H */
