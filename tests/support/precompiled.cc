/* SPDX-License-Identifier: MIT */
/* Nothing: what CMake compiles the precompiled header of the tests with. */
