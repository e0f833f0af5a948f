/* SPDX-License-Identifier: MIT */
/* A server in a container that unshare(1) makes: it sees other files and other pids than the test. */
#pragma once

#include "server.h"

/* Why this user cannot make one by these words; "": he can. */
inline std::string no_container(std::vector<std::string> unshare)
{
	unshare.push_back("/bin/true");
	const result got = run_tool(unshare);

	return got.status == 0 ? "" : "no containers here: " + got.err;
}

inline const std::vector<std::string> unshare_as_root = {"/usr/bin/unshare", "--mount", "--pid",
							 "--fork", "--kill-child"};

/* Its runtime directory and its program are in a file system that nobody else sees. */
class contained : public server
{
public:
	explicit contained(const std::string &runtime_dir,
			   const std::vector<std::string> &unshare = unshare_as_root,
			   const std::string &before = "true")
		: server(words(runtime_dir, unshare, before))
	{
		const std::string outer = std::to_string(server::pid());

		std::ifstream("/proc/" + outer + "/task/" + outer + "/children") >> pid_;
		EXPECT_GT(pid_, 0);
	}

	/* As it is called here. */
	pid_t pid() const { return pid_; }

	std::string number() const { return std::to_string(pid_); }

private:
	static std::vector<std::string> words(const std::string &runtime_dir,
					      std::vector<std::string> unshare,
					      const std::string &before)
	{
		const std::string script =
			before + " && mount -t tmpfs none \"$0\" && cp \"$1\" \"$0/program\""
				 " && export SLAB_RUNTIME_DIR=\"$0\""
				 " && exec \"$0/program\" plain";

		for (const std::string &word : {std::string("/bin/sh"), std::string("-c"), script,
						runtime_dir, std::string(CONTROL_SERVER)})
			unshare.push_back(word);
		return unshare;
	}

	pid_t pid_ = 0;
};
