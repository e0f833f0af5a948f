/* SPDX-License-Identifier: MIT */
#ifndef TESTS_SUPPORT_UNITS_H
#define TESTS_SUPPORT_UNITS_H

#include <cstddef>

namespace slab_test
{

constexpr std::size_t mib = std::size_t(1) << 20;

} // namespace slab_test

#endif /* TESTS_SUPPORT_UNITS_H */
