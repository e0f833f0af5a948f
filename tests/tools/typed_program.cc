/* SPDX-License-Identifier: MIT */
/* C++ whose containers types_test.py looks at. */
#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace net
{
struct peer {
	int number;
	char *name;
};
} /* namespace net */

int main()
{
	std::map<std::string, net::peer> peers;
	std::vector<net::peer *> list;
	std::vector<std::string> names(10);

	for (int i = 0; i < 100; i++) {
		peers[std::to_string(i)].number = i;
		list.push_back(new net::peer{i, nullptr});
	}
	std::puts("ready");
	std::fflush(stdout);
	std::getchar();
	for (net::peer *peer : list)
		delete peer;
	return 0;
}
