# SPDX-License-Identifier: MIT
"""The commands of slab-perf, one module each, and what they share."""
