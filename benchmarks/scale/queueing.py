# SPDX-License-Identifier: MIT
"""Queues at locks: M/M/1 below saturation, the asymptotic bound where it begins."""

import math


def utilisation(rate, acquisitions, hold):
    """Of a lock: `rate` operations per second of all CPUs together, holds of `hold` nanoseconds."""
    return rate * acquisitions * hold / 1e9


def cpus_at_saturation(rate_per_cpu, acquisitions, hold):
    """The asymptotic bound: with this number of CPUs the lock is always held."""
    busy = utilisation(rate_per_cpu, acquisitions, hold)
    return math.inf if busy == 0 else 1 / busy


def wait_ns(busy, hold):
    """The mean wait for the lock in nanoseconds, M/M/1: Poisson arrivals, exponential holds."""
    return math.inf if busy >= 1 else hold * busy / (1 - busy)
