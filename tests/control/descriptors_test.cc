/* SPDX-License-Identifier: MIT */
/*
 * Descriptors that libslab keeps open are numbers that the application may close, and get
 * again for files of its own: those are left alone, by the process and by its children, and
 * the control socket and the ticks come back.
 */
#include "../support/server.h"

#include <sys/timerfd.h>

#include <slab/control.h>

#include "../support/objects.h"

namespace
{

/* The listener, a timer, an epoll with a pair of sockets. */
constexpr std::size_t libslab_keeps = 5;

const std::string libslabs[] = {"socket:", "anon_inode:[eventpoll]", "anon_inode:[timerfd]",
				"anon_inode:inotify"};

std::string file_behind(int fd)
{
	char to[200] = "";

	(void)!readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), to, sizeof(to) - 1);
	return to;
}

std::vector<int> open_descriptors()
{
	std::vector<int> numbers;
	DIR *dir = opendir("/proc/self/fd");

	while (const struct dirent *entry = dir ? readdir(dir) : nullptr)
		if (const int fd = std::atoi(entry->d_name);
		    entry->d_name[0] != '.' && fd != dirfd(dir))
			numbers.push_back(fd);
	if (dir)
		closedir(dir);
	return numbers;
}

/* Those of files such as libslab keeps open. This program has no others. */
std::vector<int> descriptors_of_libslab()
{
	std::vector<int> numbers = open_descriptors();

	numbers.erase(std::remove_if(numbers.begin(), numbers.end(),
				     [](int fd) {
					     const std::string file = file_behind(fd);

					     return std::none_of(
						     std::begin(libslabs), std::end(libslabs),
						     [&](const std::string &name) {
							     return file.compare(0, name.size(),
										 name) == 0;
						     });
				     }),
		      numbers.end());
	return numbers;
}

/* Until it is true, or the alarm of the child says that it never will be. */
void wait_until(const std::function<bool()> &condition)
{
	while (!condition())
		usleep(10000);
}

/* Does the process, which this is, answer? */
bool answers(const std::string &path)
{
	client asking(path);

	if (!asking.connected())
		return false;
	asking.send("slab/2 ping\n");
	return contains(asking.answer(), "\"ok\":true");
}

/* A timer of the application: it does not run. */
int stopped_timer()
{
	return timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
}

bool is_stopped(int timer)
{
	struct itimerspec now = {};

	return timerfd_gettime(timer, &now) == 0 && now.it_interval.tv_sec == 0 &&
	       now.it_interval.tv_nsec == 0 && now.it_value.tv_sec == 0 &&
	       now.it_value.tv_nsec == 0;
}

/* An epoll of the application with an event that is there at once, for all possible tags. */
int hostile_epoll(std::uint32_t tag)
{
	const int epoll = epoll_create1(EPOLL_CLOEXEC), ready = eventfd(1, EFD_CLOEXEC);
	struct epoll_event event = {};

	event.events = EPOLLIN;
	event.data.u32 = tag;
	epoll_ctl(epoll, EPOLL_CTL_ADD, ready, &event);
	return epoll;
}

int listening_socket()
{
	struct sockaddr_un address = {};
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	/* An abstract name, which the kernel chooses. */
	address.sun_family = AF_UNIX;
	if (bind(fd, reinterpret_cast<struct sockaddr *>(&address), sizeof(sa_family_t)) != 0 ||
	    listen(fd, 8) != 0)
		std::abort();
	return fd;
}

bool is_listening(int fd)
{
	int value = 0;
	socklen_t len = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &value, &len) == 0 && value == 1;
}

/* Puts a file of the application under each number. */
std::vector<int> take_numbers(const std::vector<int> &numbers, const std::function<int()> &make)
{
	for (int fd : numbers) {
		const int file = make();

		dup3(file, fd, O_CLOEXEC);
		close(file);
	}
	return numbers;
}

/* What is freed is to go back to the system by time: ticks are wanted. */
void want_ticks(struct slab_cache *cache)
{
	for (void *object : alloc_many(cache, 1000))
		slab_free(cache, object);
}

#define EXPECT_SERVED(...) EXPECT_EQ(run_served(__VA_ARGS__), "")

class DescriptorsTest : public testing::Test
{
protected:
	static struct slab_cache *create()
	{
		return slab_cache_create("some", 64, nullptr, SLAB_PANIC);
	}

	/* 0 when libslab serves and has not taken the numbers of the standard streams. */
	int create_beside_closed_streams() const
	{
		create();
		for (int fd : {0, 1, 2})
			if (fcntl(fd, F_GETFD) != -1)
				return 1;
		return answers(own_socket()) ? 0 : 2;
	}

	std::string own_socket() const { return dir.socket(getpid()); }

	/* In a child with a thread that serves. */
	template <typename Body> std::string run_served(Body body)
	{
		return run_in_child([&] {
			struct slab_cache *cache = create();

			wait_until([&] { return answers(own_socket()); });
			/* That client's descriptor is closed a moment after the answer. */
			wait_until([] { return descriptors_of_libslab().size() <= libslab_keeps; });
			return body(cache);
		});
	}

	void SetUp() override { setenv("SLAB_DECAY_MS", "200", 1); }

	runtime_dir dir;
};

/* --- numbers ------------------------------------------------------------------------ */

TEST_F(DescriptorsTest, NumbersAreHigh)
{
	EXPECT_SERVED([](struct slab_cache *) {
		struct rlimit limit = {};

		getrlimit(RLIMIT_NOFILE, &limit);
		for (int fd : descriptors_of_libslab())
			if (static_cast<rlim_t>(fd) < std::min(limit.rlim_cur / 2, rlim_t{1024}))
				return 1;
		return descriptors_of_libslab().size() >= 3 ? 0 : 2;
	});
}

/* Nor that of a client. The client's own end has a low number. */
TEST_F(DescriptorsTest, NoSocketOfLibslabBlocks)
{
	EXPECT_SERVED([this](struct slab_cache *) {
		const auto sockets = [](int with_flag) {
			const std::vector<int> all = descriptors_of_libslab();

			return std::count_if(all.begin(), all.end(), [=](int fd) {
				return fd >= 100 && fcntl(fd, F_GETFL) & with_flag &&
				       file_behind(fd).compare(0, 7, "socket:") == 0;
			});
		};
		wait_until([=] { return sockets(O_RDWR) == 3; });
		const client connected(own_socket());

		wait_until([=] { return sockets(O_RDWR) == 4; });
		return sockets(O_NONBLOCK) == 4 ? 0 : 1;
	});
}

TEST_F(DescriptorsTest, AnApplicationThatSelectsCanWatchTheLoopsDescriptor)
{
	EXPECT_IN_CHILD([] {
		const int fd = slab_control_fd();

		return fd > 2 && fd < FD_SETSIZE ? 0 : 1;
	});
}

TEST_F(DescriptorsTest, TheStandardStreamsStayTheApplications)
{
	EXPECT_IN_CHILD([this] {
		for (int fd : {0, 1, 2})
			close(fd);
		return create_beside_closed_streams();
	});
}

TEST_F(DescriptorsTest, WithFewNumbersLeftTheyStillStay)
{
	EXPECT_IN_CHILD([this] {
		const struct rlimit few = {16, 16};

		for (int fd : {0, 1, 2})
			close(fd);
		setrlimit(RLIMIT_NOFILE, &few);
		while (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0)
			;
		for (int fd : {0, 1, 2, 5, 7, 9, 10, 11, 12, 13, 14})
			close(fd);
		return create_beside_closed_streams();
	});
}

/* --- files of the application under these numbers ------------------------------------- */

TEST_F(DescriptorsTest, AChildKeepsTheApplicationsSockets)
{
	EXPECT_SERVED([](struct slab_cache *) {
		const std::vector<int> taken =
			take_numbers(descriptors_of_libslab(), listening_socket);
		const pid_t child = fork();

		if (child == 0)
			_exit(std::all_of(taken.begin(), taken.end(), is_listening) ? 0 : 1);
		if (child_failure(child) != "")
			return 1;
		return std::all_of(taken.begin(), taken.end(), is_listening) ? 0 : 2;
	});
}

TEST_F(DescriptorsTest, AChildClosesWhatItInherited)
{
	EXPECT_SERVED([](struct slab_cache *) {
		const std::vector<int> ours = descriptors_of_libslab();
		const pid_t child = fork();

		if (child == 0)
			_exit(std::none_of(ours.begin(), ours.end(),
					   [](int fd) { return fcntl(fd, F_GETFD) != -1; })
				      ? 0
				      : 1);
		return child_failure(child) == "" && ours.size() >= 3 ? 0 : 1;
	});
}

TEST_F(DescriptorsTest, TheApplicationsTimersAreNotSet)
{
	EXPECT_SERVED([](struct slab_cache *cache) {
		const std::vector<int> taken =
			take_numbers(descriptors_of_libslab(), stopped_timer);

		want_ticks(cache);
		return std::all_of(taken.begin(), taken.end(), is_stopped) ? 0 : 1;
	});
}

TEST_F(DescriptorsTest, TheApplicationsEpollIsNotWaitedFor)
{
	for (std::uint32_t tag : {0U, 69U, 1000000U})
		EXPECT_SERVED([this, tag](struct slab_cache *cache) {
			take_numbers(descriptors_of_libslab(),
				     [tag] { return hostile_epoll(tag); });
			want_ticks(cache);
			wait_until([this] { return answers(own_socket()); });
			return 0;
		}) << tag;
}

TEST_F(DescriptorsTest, NorIsItInALoop)
{
	for (std::uint32_t tag : {0U, 63U, 64U, 65U, 66U, 69U, 1000000U, 0x7fffffffU, ~0U})
		EXPECT_IN_CHILD([tag] {
			slab_control_fd();
			take_numbers(descriptors_of_libslab(),
				     [tag] { return hostile_epoll(tag); });
			want_ticks(create());
			return slab_control_dispatch() == -EBADF && errno == EBADF ? 0 : 1;
		}) << tag;
}

/* The server finds it when it wakes: here for a client, or to give memory back. */
TEST_F(DescriptorsTest, EachNumberAloneIsLeftToTheApplication)
{
	for (unsigned i = 0; i < libslab_keeps; i++) {
		const std::string failure = run_served([this, i](struct slab_cache *cache) {
			const std::vector<int> ours = descriptors_of_libslab();
			const std::vector<int> taken = take_numbers({ours[i]}, stopped_timer);

			wait_until([&] {
				want_ticks(cache);
				return answers(own_socket());
			});
			return ours.size() == libslab_keeps && is_stopped(taken[0]) ? 0 : 1;
		});

		EXPECT_EQ(failure, "") << i;
	}
}

/* --- afterwards --------------------------------------------------------------------------- */

TEST_F(DescriptorsTest, TheSocketComesBackInAnIdleProcess)
{
	EXPECT_SERVED([this](struct slab_cache *) {
		for (int times = 0; times < 3; times++) {
			for (int fd : descriptors_of_libslab())
				close(fd);
			wait_until([this] { return answers(own_socket()); });
		}
		return 0;
	});
}

TEST_F(DescriptorsTest, NeitherThreadsNorDescriptorsAreLeftBehind)
{
	EXPECT_SERVED([this](struct slab_cache *) {
		const std::size_t before = descriptors_of_libslab().size();
		const std::string task = find_thread(getpid(), "slab-control");

		for (int fd : descriptors_of_libslab())
			close(fd);
		wait_until([this] { return answers(own_socket()); });
		wait_until([&] { return descriptors_of_libslab().size() == before; });
		return find_thread(getpid(), "slab-control") == task ? 0 : 1;
	});
}

TEST_F(DescriptorsTest, MemoryGoesBackByTimeAgain)
{
	EXPECT_SERVED([](struct slab_cache *cache) {
		std::vector<void *> objects(20000);

		for (int fd : descriptors_of_libslab())
			close(fd);
		for (void *&object : objects)
			object = slab_alloc(cache);
		for (void *object : objects)
			slab_free(cache, object);
		wait_until([cache] {
			struct slab_stats stats = {};

			stats.struct_size = sizeof(stats);
			slab_cache_stats(cache, &stats);
			return stats.slabs == 0;
		});
		return 0;
	});
}

TEST_F(DescriptorsTest, ALoopGetsANewDescriptor)
{
	EXPECT_IN_CHILD([this] {
		struct pollfd control = {slab_control_fd(), POLLIN, 0};
		bool answered = false;

		create();
		for (int fd : descriptors_of_libslab())
			close(fd);
		if (slab_control_dispatch() != -EBADF)
			return 1;
		control.fd = slab_control_fd();
		if (control.fd < 0 || slab_control_fd() != control.fd)
			return 2;
		std::thread asking([&] { answered = answers(own_socket()); });

		while (poll(&control, 1, -1) == 1 && slab_control_dispatch() == 0)
			;
		asking.join();
		return answered ? 0 : 3;
	});
}

/* What is still ours is closed then, which is a cancellation point. */
TEST_F(DescriptorsTest, ACancelledThreadOpensTheLoopsDescriptorOnceMore)
{
	const auto open_again = [](void *) -> void * {
		pthread_cancel(pthread_self());
		slab_control_fd();
		pthread_testcancel();
		return nullptr;
	};

	EXPECT_IN_CHILD([open_again] {
		pthread_t thread;

		slab_control_fd();
		create();
		close(descriptors_of_libslab().back());
		pthread_create(&thread, nullptr, open_again, nullptr);
		pthread_join(thread, nullptr);
		return slab_control_fd() >= 0 && slab_control_dispatch() == 0 ? 0 : 1;
	});
}

TEST_F(DescriptorsTest, AChildOfAProcessThatClosedThemHasItsOwn)
{
	if (under_tsan)
		GTEST_SKIP() << "ThreadSanitizer allows no new thread in a fork's child";
	EXPECT_SERVED([this](struct slab_cache *) {
		for (int fd : descriptors_of_libslab())
			close(fd);
		const pid_t child = fork();

		if (child == 0) {
			slab_cache_create("of_the_child", 64, nullptr, SLAB_PANIC);
			_exit(answers(own_socket()) ? 0 : 1);
		}
		return child_failure(child) == "" ? 0 : 1;
	});
}

} /* namespace */
