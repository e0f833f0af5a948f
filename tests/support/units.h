/* SPDX-License-Identifier: MIT */
#pragma once

#include "test.h"

constexpr std::size_t mib = std::size_t(1) << 20;
