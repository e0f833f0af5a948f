/* SPDX-License-Identifier: MIT */
/* Programs without the control thread: slow paths do what is due, in the threads of the tests. */
#ifndef TESTS_SUPPORT_WITHOUT_THREAD_H
#define TESTS_SUPPORT_WITHOUT_THREAD_H

#include <cstdlib>

namespace slab_test
{

/* Before libslab reads its environment. */
inline const bool without_thread = setenv("SLAB_CONTROL", "off", 0) == 0;

} /* namespace slab_test */

#endif /* TESTS_SUPPORT_WITHOUT_THREAD_H */
