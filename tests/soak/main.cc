/* SPDX-License-Identifier: MIT */
/* The program of ./run soak. */
#include "run.h"

#include <cinttypes>

#include <getopt.h>

#include "conductor.h"

namespace
{

const char usage[] =
	"usage: slab-soak [OPTION]...\n"
	"\n"
	"Threads allocate and free objects of all kinds while others disturb them, and an oracle\n"
	"checks who owns each object. Prints the progress, and at the end one line with the number\n"
	"of checked operations and of errors; the exit status is 1 if there are errors.\n"
	"\n"
	"  --operations N   stop after N checked operations, such as 1e10\n"
	"  --seconds N      stop after N seconds (60, if neither is given)\n"
	"  --threads N      1 to 192 threads that allocate (192)\n"
	"  --engine NAME    rseq, cmpxchg16b or mutex (that of the environment)\n"
	"  --seed N         the order of decisions (the time)\n"
	"  --help           this text\n";

[[noreturn]] void refuse(const char *option, const char *text, const char *accepted)
{
	std::fprintf(stderr, "slab-soak: --%s takes %s, not '%s'\n", option, accepted, text);
	std::exit(2);
}

double number(const char *option, const char *text, double least, double most, const char *accepted)
{
	char *end;
	const double value = std::strtod(text, &end);

	if (end == text || *end || !(value >= least && value <= most))
		refuse(option, text, accepted);
	return value;
}

/* libslab may have chosen its engine already, so the program starts again. */
void use_engine(const char *name, char **arguments)
{
	const char *now = std::getenv("SLAB_ENGINE");

	if (std::strcmp(name, "rseq") != 0 && std::strcmp(name, "cmpxchg16b") != 0 &&
	    std::strcmp(name, "mutex") != 0)
		refuse("engine", name, "rseq, cmpxchg16b or mutex");
	if (now && std::strcmp(now, name) == 0)
		return;
	setenv("SLAB_ENGINE", name, 1);
	execv("/proc/self/exe", arguments);
	std::perror("slab-soak");
	std::exit(1);
}

void read_option(int option, struct soak::options *options, char **arguments)
{
	switch (option) {
	case 'o':
		options->operations = static_cast<std::uint64_t>(
			number("operations", optarg, 1, 1e18, "a number of operations"));
		break;
	case 's':
		options->seconds = number("seconds", optarg, 0.1, 1e9, "a number of seconds");
		break;
	case 't':
		options->threads = static_cast<unsigned>(
			number("threads", optarg, 1, 192, "a number from 1 to 192"));
		break;
	case 'e':
		use_engine(optarg, arguments);
		break;
	case 'r':
		options->seed =
			static_cast<std::uint64_t>(number("seed", optarg, 0, 9e15, "a number"));
		break;
	case 'h':
		std::fputs(usage, stdout);
		std::exit(0);
	default:
		std::fputs(usage, stderr);
		std::exit(2);
	}
}

struct soak::options read_options(int count, char **arguments)
{
	static const struct option known[] = {
		{"operations", required_argument, nullptr, 'o'},
		{"seconds", required_argument, nullptr, 's'},
		{"threads", required_argument, nullptr, 't'},
		{"engine", required_argument, nullptr, 'e'},
		{"seed", required_argument, nullptr, 'r'},
		{"help", no_argument, nullptr, 'h'},
		{nullptr, 0, nullptr, 0},
	};
	struct soak::options options;
	int option;

	options.seed = static_cast<std::uint64_t>(std::time(nullptr));
	options.progress = true;
	while ((option = getopt_long(count, arguments, "h", known, nullptr)) != -1)
		read_option(option, &options, arguments);
	if (optind < count) {
		std::fprintf(stderr, "slab-soak: it takes no argument '%s'\n", arguments[optind]);
		std::exit(2);
	}
	if (!options.operations && !(options.seconds > 0))
		options.seconds = 60;
	return options;
}

} /* namespace */

int main(int count, char **arguments)
{
	const struct soak::options options = read_options(count, arguments);

	std::printf("soak: engine %s, seed %" PRIu64 ", %u threads\n", slab_engine(), options.seed,
		    options.threads);
	std::fflush(stdout);
	const struct soak::result result = soak::run(options);

	soak::print_disturbances();
	std::printf("%" PRIu64 " checked operations on engine %s, %lu errors\n", result.operations,
		    slab_engine(), result.errors);
	return result.errors ? 1 : 0;
}
