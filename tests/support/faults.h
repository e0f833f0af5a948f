/* SPDX-License-Identifier: MIT */
/*
 * Children that fault: what they wrote, and how they ended. And memory that
 * cannot be accessed.
 */
#pragma once

#include "process.h"

/* What a child of a test exits with. */
enum { FINE, WRONG };

/* How a child ended, and what it wrote to stderr. */
struct child_end {
	int signal; /* 0: it exited */
	int status;
	std::string output;
};

/* Run body() in a forked child; body returns the exit status, if it gets there. */
template <typename Body> child_end end_of_child(Body body)
{
	const struct rlimit no_core = {0, 0};
	child_end end = {};
	int output[2], status = 0;
	pid_t child;

	if (pipe2(output, O_CLOEXEC) != 0)
		return {-1, -1, "pipe failed"};
	child = fork();
	if (child == 0) {
		setrlimit(RLIMIT_CORE, &no_core);
		alarm(child_seconds);
		dup2(output[1], STDERR_FILENO);
		_exit(body());
	}
	close(output[1]);
	end.output = read_all(output[0]);
	close(output[0]);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		continue;
	end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	end.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	return end;
}

/* Address space that cannot be accessed, until it is opened. */
class closed_memory
{
public:
	explicit closed_memory(std::size_t bytes, std::size_t align = 4096) : bytes_(bytes + align)
	{
		start_ = static_cast<char *>(mmap(nullptr, bytes_, PROT_NONE,
						  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
						  0));
		aligned_ = start_ + (-reinterpret_cast<std::uintptr_t>(start_) & (align - 1));
	}

	~closed_memory() { munmap(start_, bytes_); }

	closed_memory(const closed_memory &) = delete;
	closed_memory &operator=(const closed_memory &) = delete;

	char *get() const { return aligned_; }

	void open() { mprotect(start_, bytes_, PROT_READ | PROT_WRITE); }

private:
	std::size_t bytes_;
	char *start_, *aligned_;
};

/* An access that the compiler leaves as it is, and after which memory may have
 * changed: a handler may have run. */
inline char read_byte(const void *address)
{
	const char value = *static_cast<const volatile char *>(address);

	std::atomic_signal_fence(std::memory_order_seq_cst);
	return value;
}

inline void write_byte(void *address, char value)
{
	*static_cast<volatile char *>(address) = value;
	std::atomic_signal_fence(std::memory_order_seq_cst);
}

/* A file in memory, mapped. */
inline char *mapped_file(std::size_t bytes)
{
	const int fd = memfd_create("fault-test", MFD_CLOEXEC);
	void *start;

	EXPECT_EQ(ftruncate(fd, static_cast<off_t>(bytes)), 0);
	start = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	EXPECT_NE(start, MAP_FAILED);
	return static_cast<char *>(start);
}

/* The compiler would warn of a free of this, so it does not get to see it. */
inline void *address(std::uintptr_t number)
{
	void *volatile hidden = reinterpret_cast<void *>(number);

	return hidden;
}
