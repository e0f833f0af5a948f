/* SPDX-License-Identifier: MIT */
/* What children do. They call no malloc(): another thread may have held its lock. */
#include "worker.h"

namespace soak
{

namespace
{

/* Only a deadlock reaches it. */
constexpr unsigned child_seconds = 600;
constexpr unsigned child_rounds = 60, child_pairs = 16;

/* Statuses of a child. */
enum { FINE, WRONG = 3 };

void use_kinds(struct worker *seat)
{
	for (unsigned round = 0; round < child_rounds; round++) {
		const unsigned kind = choose_kind(seat->random);
		held objects[child_pairs];
		unsigned got = 0;

		for (unsigned i = 0; i < child_pairs; i++)
			got += obtain(kind, seat->random, &seat->stamps, 1, &objects[got]);
		while (got)
			dispose(objects[--got], seat->random);
		use_movable(seat->random, &seat->stamps);
	}
}

void look_at_caches(struct worker *seat)
{
	for (unsigned i = 0; i < 3; i++) {
		const unsigned kind = seat->random.below(kinds_count);
		struct slab_cache *cache = cache_of(kind);

		if (!cache)
			continue;
		if (seat->random.below(2) && slab_cache_shrink(cache) < 0)
			error("not shrunk", kind_name(kind), cache, 0);
		if (slab_cache_validate(cache) != 0)
			error("invalid", kind_name(kind), cache, 0);
	}
}

[[noreturn]] void live(struct worker *seat)
{
	const unsigned long before = errors();

	alarm(child_seconds);
	if (planted.load() == HALTED)
		_exit(WRONG);
	use_kinds(seat);
	seat->drop_all();
	look_at_caches(seat);
	if (seat->random.below(4) == 0)
		slab_trim();
	use_kinds(seat);
	_exit(errors() == before ? FINE : WRONG);
}

void wait_for(pid_t child, const char *how)
{
	int status = 0;

	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR) {
			error("no child", how, nullptr, static_cast<unsigned>(errno));
			return;
		}
	if (status != 0)
		error("child ended badly", how, nullptr, static_cast<unsigned>(status));
}

} /* namespace */

void fork_child(struct worker *seat)
{
	const pid_t child = fork();

	if (child == 0)
		live(seat);
	if (child > 0)
		wait_for(child, "fork");
}

/* The child shares the parent's memory, and its stack: it changes nothing but what libslab does. */
__attribute__((noinline)) void vfork_child()
{
	const bool may_allocate = std::strcmp(slab_engine(), "rseq") != 0;
	struct slab_cache *cache = cache_of(0);
	/* NOLINTNEXTLINE(bugprone-unsafe-functions): what is tested */
	const pid_t child = vfork();

	if (child == 0) {
		for (int i = 0; may_allocate && i < 8; i++)
			slab_free(cache, slab_alloc(cache));
		_exit(FINE);
	}
	if (child > 0)
		wait_for(child, "vfork");
}

} /* namespace soak */
