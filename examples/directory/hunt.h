/* SPDX-License-Identifier: MIT */
/* The hunt that ends the demo: steps that are taken while the load goes on. */
#ifndef DIRECTORY_HUNT_H
#define DIRECTORY_HUNT_H

#include "args.h"

/* Seconds of load that show it well. */
#define HUNT_SECONDS 6

/* A step of a run, after that part of its time. */
struct step {
	double at; /* 1: no more */
	void (*act)(const struct args *args);
};

extern const struct step hunt_steps[];

#endif /* DIRECTORY_HUNT_H */
