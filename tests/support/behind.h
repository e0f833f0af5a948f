/* SPDX-License-Identifier: MIT */
/* Memory of others beside libslab's. */
#pragma once

#include "rooms.h"

/* A page right behind a large allocation, in the same segment, as others may map it. */
class Behind
{
public:
	explicit Behind(void *large)
	{
		const struct segment *segment = segment_of(large);

		page_ = mmap(segment_start(large) + segment->mapped, 4096, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	}

	~Behind()
	{
		if (page_ != MAP_FAILED)
			munmap(page_, 4096);
	}

	Behind(const Behind &) = delete;
	Behind &operator=(const Behind &) = delete;

	void *get() const { return page_ == MAP_FAILED ? nullptr : page_; }

private:
	void *page_;
};
