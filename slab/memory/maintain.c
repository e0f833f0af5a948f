/* SPDX-License-Identifier: MIT */
/*
 * slab_maintain(): the periodic work, decay and memory pressure, for an application that runs
 * no control thread.
 */
#include <slab/memory.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "memory/decay.h"
#include "memory/pressure.h"
#include "registry/init.h"

long slab_maintain(void)
{
	int cancel = cancel_disable();
	long decay, pressure;

	slab_init();
	decay = decay_maintain(clock_us());
	pressure = pressure_poll();
	cancel_restore(cancel);
	return decay < 0 || (pressure >= 0 && pressure < decay) ? pressure : decay;
}
