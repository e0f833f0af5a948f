/* SPDX-License-Identifier: MIT */
/*
 * Reading the command line. One run does one thing; two are an error
 * rather than a guess. What only changes how caches are chosen, ordered and shown
 * (-A -B -D -e -f -i -L -N -P -S -U -z -1) goes with everything and does nothing
 * where it means nothing, as in the kernel's tool.
 */
#include "options.h"

static bool set_view(struct options *options, enum view view)
{
	if (options->view != VIEW_DEFAULT && options->view != view) {
		fail("%s and %s cannot be combined; give one of them",
		     view_rules(options->view)->name, view_rules(view)->name);
		return false;
	}
	options->view = view;
	return true;
}

/* A decimal number of min … max. */
static bool parse_number(const char *text, long min, long max, long *number)
{
	char *end;

	errno = 0;
	*number = strtol(text, &end, 10);
	return isdigit((unsigned char)*text) && !*end && !errno && *number >= min && *number <= max;
}

/* The same with an error message: what the text is. */
static bool take_number(const char *text, long min, long max, const char *what, long *number)
{
	if (parse_number(text, min, max, number))
		return true;
	fail("\"%s\" is %s", text, what);
	return false;
}

static bool set_pid(struct options *options, const char *text)
{
	long pid;

	if (!take_number(text, 1, INT_MAX, "not a process number; --pid takes a number from 1 on",
			 &pid))
		return false;
	options->choice.pid = (pid_t)pid;
	return true;
}

static bool set_copy(struct options *options, const char *text)
{
	long copy;

	if (!take_number(text, 1, INT_MAX,
			 "not a copy of libslab; --copy takes a number from 1 on, as in --list",
			 &copy))
		return false;
	options->choice.copy = (unsigned)copy;
	return true;
}

static bool set_lines(struct options *options, const char *text)
{
	long lines;

	if (!take_number(text, 1, LONG_MAX, "not a number of lines; -N takes a number from 1 on",
			 &lines))
		return false;
	options->lines = (size_t)lines;
	return true;
}

static bool set_sample(struct options *options, const char *text)
{
	return take_number(
		       text, 0, LONG_MAX,
		       "not a number of allocations; --sample takes one from 1 on, and 0 for off",
		       &options->sample) &&
	       set_view(options, VIEW_SAMPLE);
}

/* A view of its own, unless it is drawn or written (settle_part()). */
static bool set_part(struct options *options, enum heap_part part)
{
	if (options->part && options->part != part) {
		fail("--profile=peak and --waste cannot be combined; give one of them");
		return false;
	}
	options->part = part;
	return true;
}

/* The process knows the units. */
static bool set_profile(struct options *options, const char *text)
{
	if (strcmp(text, "peak") == 0)
		return set_part(options, HEAP_AT_PEAK);
	if (strcmp(text, "lifetimes") == 0)
		return set_view(options, VIEW_LIFETIMES);
	if (!isdigit((unsigned char)*text)) {
		fail("\"%s\" is not a number of bytes; --profile takes one, also in K, M or G, 0 for "
		     "off, \"peak\" or \"lifetimes\"",
		     text);
		return false;
	}
	options->profile = text;
	return set_view(options, VIEW_PROFILE);
}

static bool set_since_mark(struct options *options, const char *text)
{
	long mark = 0;

	if (text &&
	    !take_number(text, 1, LONG_MAX,
			 "not a mark; --since-mark takes the number that --mark printed, or "
			 "nothing for the last one",
			 &mark))
		return false;
	options->mark = (uint64_t)mark;
	return set_view(options, VIEW_SINCE_MARK);
}

/* What one character of -d stands for in the protocol: "a" is all that "on" means,
 * so that fault injection is left with the capital letter. */
static const char *debug_flags_of(char option)
{
	static const char *const debug_flags[] = {"F", "Z", "P", "U", "T"};

	if (option == 'a')
		return "FZPU";
	if (option == 'A')
		return "A";
	for (size_t i = 0; i < sizeof(debug_flags) / sizeof(debug_flags[0]); i++) {
		if (toupper((unsigned char)option) == debug_flags[i][0])
			return debug_flags[i];
	}
	return NULL;
}

static bool are_debug_flags(const char *text)
{
	while (*text && debug_flags_of(*text))
		text++;
	return !*text;
}

static bool set_debug(struct options *options, const char *text)
{
	size_t count = 0;

	for (; text && *text; text++) {
		const char *debug_flags = debug_flags_of(*text);

		if (!debug_flags) {
			fail("'%c' is not a debug flag; -d takes f z p u t, a for f z p u, A for "
			     "fault injection, and nothing for off",
			     *text);
			return false;
		}
		for (; *debug_flags; debug_flags++) {
			if (!memchr(options->debug_flags, *debug_flags, count))
				options->debug_flags[count++] = *debug_flags;
		}
	}
	if (!count)
		options->debug_flags[count++] = '-';
	options->debug_flags[count] = '\0';
	return set_view(options, VIEW_DEBUG);
}

static bool set_attribute(struct options *options, const char *text)
{
	if (options->set) {
		fail("--set changes one attribute at a time; \"%s\" is one too many", text);
		return false;
	}
	options->set = text;
	return set_view(options, VIEW_SET);
}

/* Seconds, with a fraction. */
static bool set_seconds(double *seconds, const char *text, const char *what)
{
	char *end;

	*seconds = strtod(text, &end);
	if (isdigit((unsigned char)*text) && !*end && *seconds >= 0.01 && *seconds <= 86400)
		return true;
	fail("\"%s\" is %s; accepted are 0.01 to 86400 seconds", text, what);
	return false;
}

static bool set_interval(struct options *options, const char *text)
{
	return set_seconds(&options->interval, text, "not an interval");
}

static bool set_order(struct options *options, enum order order)
{
	if (options->order != ORDER_NAME && options->order != order) {
		fail("-A, -L, -P and -S are mutually exclusive; give one of them");
		return false;
	}
	options->order = order;
	return true;
}

/* Options that only say yes. */
static bool set_flag(struct options *options, int option)
{
	const struct {
		int option;
		bool *flag;
	} flags[] = {
		{'B', &options->bytes},         {'D', &options->activity},
		{'e', &options->empty},         {'i', &options->inverted},
		{'U', &options->unreclaimable}, {'z', &options->zero},
		{OPTION_JSON, &options->json},
	};

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (flags[i].option == option)
			return *flags[i].flag = true;
	return false;
}

/* Which process is meant. */
static bool set_choice(struct options *options, int option)
{
	switch (option) {
	case 'p':
		return set_pid(options, optarg);
	case OPTION_COPY:
		return set_copy(options, optarg);
	case OPTION_PROCESS:
		options->choice.name = optarg;
		break;
	case OPTION_CORE:
		options->choice.core = optarg;
		break;
	case OPTION_EXE:
		options->choice.exe = optarg;
		break;
	case OPTION_TYPES:
		options->types = optarg;
		break;
	default:
		options->choice.memory = true;
		break;
	}
	return true;
}

static bool set_option(struct options *options, int option)
{
	if (set_flag(options, option))
		return true;
	switch (option) {
	case 'A': /* with the columns that it sorts by */
		options->activity = true;
		return set_order(options, ORDER_ACTIVITY);
	case 'L':
		return set_order(options, ORDER_LOSS);
	case 'P':
		return set_order(options, ORDER_PARTIAL);
	case 'S':
		return set_order(options, ORDER_SIZE);
	case 'd':
		return set_debug(options, optarg);
	case 'N':
		return set_lines(options, optarg);
	case OPTION_INTERVAL:
		return set_interval(options, optarg);
	case OPTION_STOP_LIMIT:
		return set_seconds(&options->stop_limit, optarg, "no time for --stop-limit");
	case OPTION_SAMPLE:
		return set_sample(options, optarg);
	case OPTION_SET:
		return set_attribute(options, optarg);
	case OPTION_SINCE_MARK:
		return set_since_mark(options, optarg);
	case OPTION_TOP:
		return (!optarg || set_interval(options, optarg)) && set_view(options, VIEW_TOP);
	case OPTION_FAIL:
		options->fail = optarg;
		return set_view(options, VIEW_FAIL);
	case OPTION_WASTE:
		return set_part(options, HEAP_WASTE);
	case OPTION_PROFILE:
		return set_profile(options, optarg);
	case OPTION_MAP:
	case OPTION_PPROF:
	case OPTION_FLAME:
	case OPTION_RECORD:
	case OPTION_PLOT:
		options->file = optarg;
		return set_view(options, view_of_option(option)->view);
	case 'p':
	case OPTION_PROCESS:
	case OPTION_COPY:
	case OPTION_CORE:
	case OPTION_EXE:
	case OPTION_TYPES:
	case OPTION_MEMORY:
		return set_choice(options, option);
	default:
		return set_view(options, view_of_option(option)->view);
	}
}

static bool settle_part(struct options *options)
{
	if (!options->part || options->view == VIEW_FLAME)
		return true;
	if (options->part == HEAP_WASTE)
		return set_view(options, VIEW_WASTE);
	return options->view == VIEW_PPROF || set_view(options, VIEW_PEAK);
}

/* --json alone is a view of its own, and a form of those that have one. */
static bool settle_json(struct options *options)
{
	if (!options->json ||
	    (options->view != VIEW_DEFAULT && view_rules(options->view)->with & WITH_JSON))
		return true;
	return set_view(options, VIEW_JSON);
}

/* Two ways of naming what is to be looked at. */
static bool settle_choice(const struct options *options)
{
	const struct choice *choice = &options->choice;
	const struct view_option *view = view_rules(options->view);
	const char *other = choice->pid      ? "--pid"
			    : choice->name   ? "--process"
			    : choice->memory ? "--memory"
					     : NULL;

	if (choice->pid && choice->name)
		fail("--pid and --process cannot be combined; give one of them");
	else if (choice->core && other)
		fail("--core and %s cannot be combined; give one of them", other);
	else if (choice->exe && !choice->core)
		fail("--exe names the program that left a core file; it goes with --core FILE");
	else if (choice->core && !(view->with & WITH_CORE))
		fail("%s cannot be done with a core file, which is read only once and not changed",
		     view->name);
	else
		return true;
	return false;
}

static bool settle_seconds(const struct options *options)
{
	const enum view view = options->view;

	if (options->interval && view != VIEW_TOP && view != VIEW_RECORD)
		fail("--interval is the time between two looks; it goes with --top and --record");
	else if (options->stop_limit != 0 && view != VIEW_FIND_LEAKS && view != VIEW_VALIDATE)
		fail("--stop-limit is how long a process may stand still; it goes with --find-leaks "
		     "and -v");
	else
		return true;
	return false;
}

static bool set_operands(struct options *options, char **words)
{
	size_t count = 0;

	while (words[count])
		count++;
	options->operands = words;
	if (options->view == VIEW_PLOT && count == 0)
		fail("--plot needs the recordings to draw: slabinfo --plot=SVG FILE...");
	else if (options->view == VIEW_DIFF && count != 2)
		fail("--diff compares two files that --json wrote, and %zu %s given", count,
		     count == 1 ? "is" : "are");
	else
		return true;
	return false;
}

/* Why there may be no regular expression. */
static void refuse_pattern(const struct options *options, const char *pattern)
{
	const char *name = view_rules(options->view)->name;

	if (options->view == VIEW_SET)
		fail("--set names its cache itself; it takes no regular expression \"%s\"",
		     pattern);
	else if (options->view == VIEW_PROCESSES)
		fail("--list is about processes; it takes no regular expression \"%s\"", pattern);
	else
		fail("%s is for the whole process; it takes no regular expression \"%s\"", name,
		     pattern);
}

/* Values that are not needed stand in one word with their option. */
const char *args_hint(const struct options *options, const char *word, char text[HINT_TEXT])
{
	const bool is_number = word[strspn(word, "0123456789.")] == '\0';

	text[0] = '\0';
	if (strlen(word) > HINT_WORD)
		return text;
	if (options->view == VIEW_DEBUG && strcmp(options->debug_flags, "-") == 0 &&
	    are_debug_flags(word))
		sprintf(text, "; flags follow -d without a blank: -d%s", word);
	else if (options->view == VIEW_TOP && is_number)
		sprintf(text, "; seconds follow --top with an equals sign: --top=%s", word);
	else if (options->view == VIEW_SINCE_MARK && is_number)
		sprintf(text, "; a mark follows with an equals sign: --since-mark=%s", word);
	return text;
}

/* Names are matched without regard to case, anywhere in the name. */
static bool set_pattern(struct options *options, char **words)
{
	char why[128], hint[HINT_TEXT];
	int error;

	if (!words[0])
		return true;
	if (!(view_rules(options->view)->with & WITH_REGEXP)) {
		refuse_pattern(options, words[0]);
		return false;
	}
	if (words[1]) {
		fail("one regular expression is enough; \"%s\" is one too many%s", words[1],
		     args_hint(options, words[0], hint));
		return false;
	}
	error = regcomp(&options->regex, words[0], REG_ICASE | REG_NOSUB | REG_EXTENDED);
	if (error) {
		regerror(error, &options->regex, why, sizeof(why));
		fail("\"%s\" is not a regular expression: %s", words[0], why);
		return false;
	}
	options->pattern = words[0];
	return true;
}

/* --find-leaks takes a first operand that is a PID or the name of a file, if no option names a
 * process. Returns the operands that are left. */
static char **take_target(struct options *options, char **words)
{
	struct choice *choice = &options->choice;
	struct stat status;
	long pid;

	if (options->view != VIEW_FIND_LEAKS || !words[0] || choice->pid || choice->name ||
	    choice->core)
		return words;
	if (parse_number(words[0], 1, INT_MAX, &pid))
		choice->pid = (pid_t)pid;
	else if (stat(words[0], &status) == 0)
		choice->core = words[0];
	return choice->pid || choice->core ? words + 1 : words;
}

static bool settle(struct options *options, char **words)
{
	words = take_target(options, words);
	if (!settle_part(options) || !settle_json(options) || !settle_choice(options) ||
	    !settle_seconds(options))
		return false;
	if (view_rules(options->view)->with & WITH_OPERANDS)
		return set_operands(options, words);
	return set_pattern(options, words);
}

int args_parse(struct options *options, int argc, char **argv)
{
	static char name[] = "slabinfo"; /* what getopt() calls us */
	int option;

	memset(options, 0, sizeof(*options));
	argv[0] = name;
	while ((option = getopt_long(argc, argv, short_options, long_options, NULL)) != -1) {
		if (option == 'h') {
			fputs(help_text, stdout);
			return EXIT_DONE;
		}
		if (option == OPTION_VERSION) {
			puts("slabinfo (libslab) " SLABINFO_VERSION);
			return EXIT_DONE;
		}
		if (option == ':' || option == '?') {
			fail_option(option, argv[optind - 1], short_options);
			return EXIT_USAGE;
		}
		if (!set_option(options, option))
			return EXIT_USAGE;
	}
	return settle(options, argv + optind) ? -1 : EXIT_USAGE;
}
