/* SPDX-License-Identifier: MIT */
/*
 * Files that stand in for the system's files of memory pressure. The program has no control
 * thread: the test itself looks at them and watches them.
 */
#pragma once

#include "../support/folder.h"
#include "../support/objects.h"
#include "../support/process.h"
#include "../support/units.h"
#include "../support/without_thread.h"
#include "../support/rooms.h"

constexpr unsigned tag = 7;

using std::chrono::steady_clock;

/* Is the second over that began at this moment or later? */
inline bool is_over(steady_clock::time_point start)
{
	return steady_clock::now() - start >= std::chrono::seconds(1);
}

/* Files of the process that lead to this name. */
inline unsigned descriptors_to(const std::string &name)
{
	unsigned n = 0;
	DIR *dir = opendir("/proc/self/fd");

	while (const struct dirent *entry = dir ? readdir(dir) : nullptr) {
		char to[4096] = "";
		const std::string path = std::string("/proc/self/fd/") + entry->d_name;

		n += readlink(path.c_str(), to, sizeof(to) - 1) > 0 && name == to;
	}
	if (dir)
		closedir(dir);
	return n;
}

class PressureTest : public testing::Test
{
protected:
	void SetUp() override
	{
		struct slab_cache_args args = {};

		ASSERT_TRUE(without_thread);
		pressure_set_paths(psi.c_str(), files.path.c_str());
		if (running_again()) /* before the thread looks for it */
			write_events(0, 0);
		ASSERT_EQ(watch_open(&watch, DESCRIPTORS_FROM), 0);
		args.arg = this;
		args.reclaim = [](struct slab_cache *cache, void *arg) -> std::size_t {
			auto *self = static_cast<PressureTest *>(arg);
			std::size_t n = self->ready ? self->held.size() / 10 : 0;

			self->calls++;
			if (self->on_call)
				std::exchange(self->on_call, nullptr)();
			for (std::size_t i = 0; i < n; i++) {
				slab_free(cache, self->held.back());
				self->held.pop_back();
			}
			return n;
		};
		cache = slab_cache_create("asked", 1000, &args, 0);
		ASSERT_NE(cache, nullptr);
		held = alloc_many(cache, 20000);
		slab_trim();
		ready = true;
	}

	void TearDown() override
	{
		free_many(cache, held);
		EXPECT_EQ(slab_cache_destroy(cache), 0);
		pressure_close(&watch);
		pressure_set_paths(nullptr, nullptr);
		watch_close(&watch);
	}

	void write(const std::string &file, const std::string &text) const
	{
		std::ofstream(files.path + "/" + file) << text;
	}

	void write_events(unsigned high, unsigned max) const
	{
		write("memory.events", "low 0\nhigh " + std::to_string(high) + "\nmax " +
					       std::to_string(max) + "\noom 3\noom_kill 0\n");
	}

	void write_psi(const std::string &file, const std::string &avg10, unsigned total) const
	{
		write(file, "some avg10=" + avg10 +
				    " avg60=90.00 avg300=90.00 total=" + std::to_string(total) +
				    "\nfull avg10=99.00 avg60=0.00 avg300=0.00 total=99999\n");
	}

	std::string contents(const std::string &file) const
	{
		std::ifstream in(files.path + "/" + file);

		return {std::istreambuf_iterator<char>(in), {}};
	}

	/* The tags of the events that epoll has now. */
	std::vector<unsigned> events() const
	{
		struct epoll_event events[8];
		const int n = epoll_wait(watch.epoll.fd, events, 8, 0);
		std::vector<unsigned> tags;

		for (int i = 0; i < n; i++)
			tags.push_back(events[i].data.u32);
		return tags;
	}

	/* As the server does: true when there was something. */
	bool serve() const
	{
		const std::vector<unsigned> tags = events();

		for (unsigned each : tags)
			pressure_event(&watch, each - tag, EPOLLIN);
		return !tags.empty();
	}

	/* The thread begins to watch within a moment; the alarm ends the test when that takes
	 * too long. */
	void wait_until_asked() const
	{
		while (!descriptors_to("anon_inode:inotify"))
			usleep(1000);
		usleep(100000);
		for (unsigned i = 1; calls == 0; i++) {
			write_events(i, 0);
			usleep(10000);
		}
	}

	const folder files;
	const std::string psi = files.path + "/psi";
	struct watch watch = WATCH_NONE;
	struct slab_cache *cache = nullptr;
	std::vector<void *> held;
	std::atomic<bool> ready{false}; /* for another thread: all of the above is */
	std::atomic<unsigned> calls{0};
	std::function<void()> on_call; /* called by the next call, once */
};
