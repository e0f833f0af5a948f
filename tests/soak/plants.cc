/* SPDX-License-Identifier: MIT */
/* Errors on purpose. */

#include "kinds.h"

namespace soak
{

std::atomic<unsigned> planted;

namespace
{

std::atomic<void *> remembered; /* an object of the kind of DOUBLED */

/* The name of the kind that an error is made with. */
const char *kind_for(enum plant what)
{
	switch (what) {
	case EMPTIED:
		return "size-large";
	case UNCONSTRUCTED:
		return "soak-ctor";
	default:
		return "soak-64";
	}
}

bool suits(enum plant what, unsigned kind)
{
	return planted.load() == what && std::strcmp(kind_name(kind), kind_for(what)) == 0;
}

} /* namespace */

void plant_error(enum plant what)
{
	remembered = nullptr;
	planted = what;
}

bool is_planted(enum plant what, unsigned kind)
{
	unsigned expected = what;

	return suits(what, kind) && planted.compare_exchange_strong(expected, NOTHING);
}

void *planted_object(unsigned kind)
{
	void *obj = remembered.load();

	if (!obj || load_word(obj, 0) != live_tag(obj) || !is_planted(DOUBLED, kind))
		return nullptr;
	return obj;
}

void *plant_failure(void *obj, unsigned kind)
{
	if (!is_planted(FAILED, kind))
		return obj;
	slab_free_any(obj);
	return nullptr;
}

void plant_before(const held &object)
{
	if (suits(DOUBLED, object.kind))
		remembered = object.obj;
	if (is_planted(UNCONSTRUCTED, object.kind))
		*words_of(object.obj) = 0;
}

void plant_after(const held &object)
{
	if (is_planted(DAMAGED, object.kind))
		static_cast<char *>(object.obj)[object.size - 3] ^= 4;
	if (is_planted(POINT, object.kind))
		close(-1);
	const auto start = reinterpret_cast<std::uintptr_t>(object.obj);
	const std::size_t bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
	const std::uintptr_t page = (start + 2 * bytes - 1) / bytes * bytes;

	if (page + bytes <= start + object.size && is_planted(EMPTIED, object.kind))
		madvise(reinterpret_cast<void *>(page), bytes, MADV_DONTNEED);
}

} /* namespace soak */
