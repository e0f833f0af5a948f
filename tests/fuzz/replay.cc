/* SPDX-License-Identifier: MIT */
/*
 * usage: fuzz_TARGET [--random SECONDS SEED] [FILE | FOLDER]...
 *
 * Runs a target without libFuzzer: once for each file; then, for some seconds, on changes of these
 * files, which follow from the seed. An input that ends the process is written to the file
 * fuzz_TARGET.finding in the present folder.
 */
#include "input.h"

#include <filesystem>

namespace
{

using bytes = std::vector<std::uint8_t>;

constexpr std::size_t size_max = 2000; /* of an input that is made up */

std::string finding;
bytes current;

/* Async-signal-safe. */
void keep_input(int signal)
{
	const int fd = open(finding.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd >= 0 && write(fd, current.data(), current.size()) >= 0)
		close(fd);
	std::signal(signal, SIG_DFL);
	std::raise(signal);
}

void run(bytes input)
{
	current = std::move(input);
	LLVMFuzzerTestOneInput(current.data(), current.size());
}

bytes contents(const std::filesystem::path &path)
{
	std::ifstream file(path, std::ios::binary);

	if (!file) {
		std::fprintf(stderr, "%s: cannot be read\n", path.c_str());
		std::exit(2);
	}
	return bytes(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

std::vector<bytes> inputs_of(const std::filesystem::path &path)
{
	std::vector<std::filesystem::path> paths;
	std::vector<bytes> inputs;

	if (!std::filesystem::is_directory(path))
		return {contents(path)};
	for (const auto &entry : std::filesystem::directory_iterator(path))
		paths.push_back(entry.path());
	std::sort(paths.begin(), paths.end());
	for (const auto &each : paths)
		inputs.push_back(contents(each));
	return inputs;
}

/* Half are all made up; the others differ from an input in a few bytes. */
bytes made_up(const std::vector<bytes> &known, std::mt19937 &random)
{
	bytes made;

	if (known.empty() || random() % 2) {
		made.resize(random() % size_max);
		std::generate(made.begin(), made.end(), std::ref(random));
		return made;
	}
	made = known[random() % known.size()];
	for (unsigned changes = random() % 8; changes && !made.empty(); changes--) {
		const auto at = made.begin() + static_cast<long>(random() % made.size());

		if (random() % 4)
			*at = static_cast<std::uint8_t>(random());
		else if (random() % 2)
			made.erase(at);
		else
			made.insert(at, static_cast<std::uint8_t>(random()));
	}
	return made;
}

unsigned long run_random(const std::vector<bytes> &known, double seconds, unsigned seed)
{
	using clock = std::chrono::steady_clock;
	const auto end = clock::now() + std::chrono::duration<double>(seconds);
	std::mt19937 random(seed);
	unsigned long count = 0;

	for (; clock::now() < end; count++)
		run(made_up(known, random));
	return count;
}

} /* namespace */

int main(int argc, char **argv)
{
	const bool is_random = argc > 3 && std::strcmp(argv[1], "--random") == 0;
	std::vector<bytes> known;
	unsigned long count = 0;

	finding = std::filesystem::path(argv[0]).filename().string() + ".finding";
	for (int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL})
		std::signal(signal, keep_input);
	LLVMFuzzerInitialize(&argc, &argv);
	for (int i = is_random ? 4 : 1; i < argc; i++)
		for (bytes &input : inputs_of(argv[i]))
			known.push_back(std::move(input));
	for (const bytes &input : known)
		run(input);
	if (is_random)
		count = run_random(known, std::atof(argv[2]),
				   static_cast<unsigned>(std::atoi(argv[3])));
	std::printf("%zu inputs of files, %lu made up\n", known.size(), count);
	return 0;
}
