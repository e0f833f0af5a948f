/* SPDX-License-Identifier: MIT */
/*
 * A slab at the end of a segment of its own, with inaccessible pages around it, whose
 * objects and records tests change at will.
 */
#pragma once

#include "../support/rooms.h"

inline const std::size_t page = os_page_size();
constexpr unsigned lone_slab_shift = 16;
constexpr std::size_t lone_slab_size = std::size_t{1} << lone_slab_shift;
constexpr std::uint64_t fzpu = SLAB_DEBUG_DEFAULT;

/* Where things stand in the slab's objects. */
struct layout {
	std::uint64_t debug_flags;
	unsigned object_size, red_left, inuse, size;
};

constexpr layout entry_layout = {fzpu, 64, 16, 80, 128};
constexpr layout entry_without_debug_flags = {0, 64, 0, 64, 64};

/* A slab whose neighbourhood cannot be touched. */
class lone_slab
{
public:
	explicit lone_slab(const layout &l) : layout_(l)
	{
		slab_init();
		map_ = static_cast<char *>(mmap(nullptr, 2 * SEGMENT_SIZE, PROT_NONE,
						MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
						0));
		char *start = segment_start(map_ + SEGMENT_SIZE - 1);

		mprotect(start + SEGMENT_HEAD_OFFSET,
			 os_pages(SEGMENT_HEAD_END - SEGMENT_HEAD_OFFSET) + page,
			 PROT_READ | PROT_WRITE);
		base_ = start + SEGMENT_SIZE - lone_slab_size;
		mprotect(base_, lone_slab_size, PROT_READ | PROT_WRITE);
		slab_ = reinterpret_cast<struct slab *>(start + SEGMENT_HEAD_END);
		slab_->shift = lone_slab_shift;
		make_cache();
		make_slab();
	}

	~lone_slab() { munmap(map_, 2 * SEGMENT_SIZE); }

	lone_slab(const lone_slab &) = delete;
	lone_slab &operator=(const lone_slab &) = delete;

	struct slab *get() const { return slab_; }

	struct slab_debug *debug() const { return slab_->debug; }

	struct slab_cache *cache() const
	{
		return reinterpret_cast<struct slab_cache *>(cache_memory_.get());
	}

	char *base() const { return base_; }

	char *object(unsigned index) const
	{
		return base_ + static_cast<std::size_t>(index) * layout_.size + layout_.red_left;
	}

	unsigned objects() const { return static_cast<unsigned>(lone_slab_size / layout_.size); }

	/* Addresses in here by name; ages by the flag N. */
	std::string normalised(std::string text) const
	{
		for (std::size_t at = 0; (at = text.find("0x", at)) != std::string::npos; at++) {
			std::size_t end = text.find_first_not_of("0123456789abcdef", at + 2);

			if (end == std::string::npos)
				end = text.size();
			if (end - at >= 10) /* bytes are shorter */
				text.replace(at, end - at,
					     name(std::stoull(text.substr(at + 2, end - at - 2),
							      nullptr, 16)));
		}
		for (std::size_t at = 0; (at = text.find("fp=0x0", at)) != std::string::npos;)
			text.replace(at, 6, "fp=NULL");
		for (std::size_t at = 0; (at = text.find("age=", at)) != std::string::npos;) {
			at += 4;
			text.replace(at, text.find(' ', at) - at, "N");
		}
		return text;
	}

private:
	std::string name(unsigned long long number) const
	{
		const auto base = reinterpret_cast<std::uintptr_t>(base_);

		if (number == 0)
			return "NULL";
		if (number == reinterpret_cast<std::uintptr_t>(slab_))
			return "SLAB";
		if (number >= base && number < base + lone_slab_size)
			return "BASE+" + std::to_string(number - base);
		return "outside";
	}

	void make_cache()
	{
		const std::size_t bytes = sizeof(struct slab_cache) + sizeof(struct cache_node);

		cache_memory_.reset(static_cast<char *>(
			std::aligned_alloc(CPU_CACHELINE, (bytes + CPU_CACHELINE - 1) /
								  CPU_CACHELINE * CPU_CACHELINE)));
		std::memset(cache_memory_.get(), 0, bytes);
		cache()->object_size = layout_.object_size;
		cache()->size = layout_.size;
		cache()->reciprocal = ((std::uint64_t{1} << 48) + layout_.size - 1) / layout_.size;
		cache()->debug_flags = layout_.debug_flags;
	}

	void make_slab()
	{
		const std::uintptr_t tag = layout_.debug_flags ? SLAB_TAG_DEBUG : 0;

		slab_->base = base_;
		slab_->user = reinterpret_cast<char *>(cache()) + tag;
		slab_->objects = slab_->initialized = static_cast<std::uint16_t>(objects());
		std::memset(base_, POISON_INUSE, lone_slab_size);
		if (layout_.debug_flags)
			make_debug();
	}

	void make_debug()
	{
		const std::size_t stride = sizeof(struct debug_object) + 2 * sizeof(struct track);

		debug_memory_.resize(sizeof(struct slab_debug) + objects() * stride);
		slab_->debug = reinterpret_cast<struct slab_debug *>(debug_memory_.data());
		slab_->debug->debug_flags = layout_.debug_flags & DEBUG_FLAGS_LAYOUT;
		slab_->debug->object_size = layout_.object_size;
		slab_->debug->size = layout_.size;
		slab_->debug->inuse = layout_.inuse;
		slab_->debug->red_left = layout_.red_left;
		slab_->debug->stride = static_cast<std::uint16_t>(stride);
		for (unsigned i = 0; i < objects(); i++) {
			debug_record(slab_, i)->requested = layout_.object_size;
			debug_record(slab_, i)->state = OBJECT_ALLOCATED;
			fill(i);
		}
		slab_->debug->used = slab_->objects;
	}

	void fill(unsigned index)
	{
		char *at = object(index);

		std::memset(at, POISON_FREE, layout_.object_size - 1);
		at[layout_.object_size - 1] = static_cast<char>(POISON_END);
		if (!(layout_.debug_flags & SLAB_RED_ZONE))
			return;
		std::memset(at - layout_.red_left, RED_ACTIVE, layout_.red_left);
		std::memset(at + layout_.object_size, RED_ACTIVE,
			    layout_.inuse - layout_.object_size);
	}

	struct release {
		void operator()(char *memory) const { std::free(memory); }
	};

	layout layout_;
	char *map_, *base_;
	struct slab *slab_;
	std::unique_ptr<char, release> cache_memory_;
	std::vector<char> debug_memory_;
};
