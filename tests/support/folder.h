/* SPDX-License-Identifier: MIT */
/* Folders of tests. */
#pragma once

#include "test.h"

/* The environment variable that names the folder in which folders are made; /tmp without it. */
constexpr const char *folder_variable = "SLAB_TEST_FOLDER";

/*
 * A folder that is removed with all that is in it, by the process that made it. Meanwhile
 * folders of this process and of its children are made in it, so those of children that end
 * without destructors go with it. The one that was made last goes first.
 */
class folder
{
public:
	folder()
	{
		const char *outer = std::getenv(folder_variable);

		outer_ = outer ? outer : "/tmp";
		path = outer_ +
		       "/slab-XXXXXX"; /* short: 80 bytes are the most for SLAB_RUNTIME_DIR */
		EXPECT_NE(mkdtemp(path.data()), nullptr) << path;
		setenv(folder_variable, path.c_str(), 1);
	}

	~folder()
	{
		if (getpid() != owner_)
			return;
		setenv(folder_variable, outer_.c_str(), 1);
		/* A server may remove its socket at the same time. */
		nftw(
			path.c_str(),
			[](const char *name, const struct stat *, int, struct FTW *) {
				remove(name);
				return 0;
			},
			8, FTW_DEPTH | FTW_PHYS);
		EXPECT_NE(access(path.c_str(), F_OK), 0) << path;
	}

	folder(const folder &) = delete;
	folder &operator=(const folder &) = delete;

	std::string path;

private:
	const pid_t owner_ = getpid();
	std::string outer_;
};
