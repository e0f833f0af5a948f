/* SPDX-License-Identifier: MIT */
/*
 * The environment table and its reader.
 *
 * A row has a variable's name, the values that it accepts, its meaning, and the function that
 * parses the text into a field of struct slab_options. A parse function sets its field only
 * if the whole value is valid, so an invalid value leaves the default.
 */
#define _GNU_SOURCE
#include "base/options.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/note.h"
#include "base/text.h"
#include "base/debug_spec.h"
#include "base/fail.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct word {
	const char *text;
	unsigned value;
};

static const struct word engine_words[] = {
	{"auto", SLAB_ENGINE_AUTO},
	{"rseq", SLAB_ENGINE_RSEQ},
	{"cmpxchg16b", SLAB_ENGINE_CMPXCHG16B},
	{"mutex", SLAB_ENGINE_MUTEX},
	{NULL, 0},
};
static const struct word switch_words[] = {{"on", 1}, {"off", 0}, {NULL, 0}};
static const struct word control_words[] = {
	{"auto", SLAB_CONTROL_AUTO},
	{"on", SLAB_CONTROL_ON},
	{"full", SLAB_CONTROL_FULL},
	{"off", SLAB_CONTROL_OFF},
	{NULL, 0},
};
static const struct word bit_words[] = {{"0", 0}, {"1", 1}, {NULL, 0}};
static const struct word tools_words[] = {{"auto", 1}, {"off", 0}, {NULL, 0}};

#define DECAY_MS 10000
#define DECAY_MS_MAX 86400000

#define ZERO_ALLOC 1u
#define ZERO_FREE 2u

static const struct word zero_words[] = {
	{"off", 0}, {"alloc", ZERO_ALLOC}, {"free", ZERO_FREE}, {"both", ZERO_ALLOC | ZERO_FREE},
	{NULL, 0},
};

static const struct word leak_words[] = {{"off", 0}, {"exit", 1}, {NULL, 0}};

static const struct word huge_words[] = {
	{"auto", SLAB_HUGE_AUTO},
	{"always", SLAB_HUGE_ALWAYS},
	{"never", SLAB_HUGE_NEVER},
	{NULL, 0},
};

static bool parse_word(const struct word *words, const char *value, unsigned *field)
{
	for (; words->text; words++) {
		if (strcmp(words->text, value) == 0) {
			*field = words->value;
			return true;
		}
	}
	return false;
}

static bool parse_engine(struct slab_options *options, const char *value)
{
	return parse_word(engine_words, value, &options->engine);
}

static const struct word types_words[] = {{"shared", 0}, {"apart", 1}, {NULL, 0}};

static bool parse_types(struct slab_options *options, const char *value)
{
	return parse_word(types_words, value, &options->apart);
}

#define REALTIME_FIRST 32

/* A handler can be set for the signal. It only sets flags, so a fault would come again after it. */
static bool is_usable_signal(long number)
{
	static const int unusable[] = {SIGILL, SIGBUS, SIGFPE, SIGSEGV, SIGKILL, SIGSTOP};

	for (size_t i = 0; i < sizeof(unusable) / sizeof(unusable[0]); i++)
		if (number == unusable[i])
			return false;
	/* The C library keeps the first of the kernel's real-time signals for itself. */
	return number < REALTIME_FIRST || number >= SIGRTMIN;
}

static bool parse_control(struct slab_options *options, const char *value)
{
	static const char prefix[] = "signal:";
	const size_t length = sizeof(prefix) - 1;
	long number;

	if (strncmp(value, prefix, length) == 0) {
		if (!option_number(value + length, strlen(value + length), 1, SIGRTMAX, &number) ||
		    !is_usable_signal(number))
			return false;
		options->control_signal = (int)number;
		return true;
	}
	options->control_is_set = parse_word(control_words, value, &options->control);
	return options->control_is_set;
}

static bool parse_debug_abort(struct slab_options *options, const char *value)
{
	return parse_word(bit_words, value, &options->debug_abort);
}

static bool parse_fake_nodes(struct slab_options *options, const char *value)
{
	long nodes;

	if (!option_number(value, strlen(value), 1, SLAB_FAKE_NODES_MAX, &nodes))
		return false;
	options->fake_nodes = (unsigned)nodes;
	return true;
}

static bool parse_random(struct slab_options *options, const char *value)
{
	return parse_word(switch_words, value, &options->random);
}

static bool parse_harden(struct slab_options *options, const char *value)
{
	return parse_word(switch_words, value, &options->harden);
}

static bool parse_tools(struct slab_options *options, const char *value)
{
	return parse_word(tools_words, value, &options->tools);
}

static bool parse_symbols(struct slab_options *options, const char *value)
{
	return parse_word(switch_words, value, &options->symbols);
}

static bool parse_zero(struct slab_options *options, const char *value)
{
	unsigned when;

	if (!parse_word(zero_words, value, &when))
		return false;
	options->zero_alloc = (when & ZERO_ALLOC) != 0;
	options->zero_free = (when & ZERO_FREE) != 0;
	return true;
}

static bool parse_huge(struct slab_options *options, const char *value)
{
	return parse_word(huge_words, value, &options->huge);
}

static bool parse_leak_check(struct slab_options *options, const char *value)
{
	return parse_word(leak_words, value, &options->leak_check);
}

static bool parse_text(char *field, size_t size, const char *value)
{
	size_t len = strlen(value);

	if (len >= size)
		return false;
	memcpy(field, value, len + 1);
	return true;
}

static bool parse_long(const char **field, char *text, size_t size, const char *value)
{
	if (!parse_text(text, size, value))
		return false;
	*field = text;
	return true;
}

/* The path is absolute, because server and slabinfo rarely share a working directory. */
static bool parse_runtime_dir(struct slab_options *options, const char *value)
{
	return value[0] == '/' &&
	       parse_text(options->runtime_dir, sizeof(options->runtime_dir), value);
}

static bool parse_log(struct slab_options *options, const char *value)
{
	return parse_long(&options->log, options->texts->log, sizeof(options->texts->log), value);
}

/* debug_text_check() reports errors inside the text; the rest of the text applies. */
static bool parse_debug(struct slab_options *options, const char *value)
{
	return parse_long(&options->debug, options->texts->debug, sizeof(options->texts->debug),
			  value);
}

static bool parse_sample(struct slab_options *options, const char *value)
{
	return sample_text_is_good(value) && parse_long(&options->sample, options->texts->sample,
							sizeof(options->texts->sample), value);
}

static bool parse_decay(struct slab_options *options, const char *value)
{
	if (strcmp(value, "never") == 0) {
		options->decay_ms = -1;
		return true;
	}
	return option_number(value, strlen(value), 0, DECAY_MS_MAX, &options->decay_ms);
}

/* "90%" */
static bool parse_percent(const char *value, unsigned *ret_percent)
{
	const size_t len = strlen(value);
	long percent;

	if (!len || value[len - 1] != '%' || !option_number(value, len - 1, 1, 100, &percent))
		return false;
	*ret_percent = (unsigned)percent;
	return true;
}

static bool parse_bytes_or_percent(const char *value, size_t *ret_bytes, unsigned *ret_percent)
{
	long bytes;

	if (parse_percent(value, ret_percent))
		return true;
	if (!option_bytes(value, &bytes) ||
	    !limit_is_possible((uint64_t)bytes, LIMIT_LEAST_OF_PROCESS))
		return false;
	*ret_bytes = (size_t)bytes;
	return true;
}

static bool parse_limit(struct slab_options *options, const char *value)
{
	return parse_bytes_or_percent(value, &options->limit, &options->limit_percent);
}

static bool parse_soft_limit(struct slab_options *options, const char *value)
{
	return parse_bytes_or_percent(value, &options->soft_limit, &options->soft_percent);
}

static bool parse_profile(struct slab_options *options, const char *value)
{
	long bytes;

	if (!option_bytes(value, &bytes))
		return false;
	options->profile = (size_t)bytes;
	return true;
}

static bool parse_fail(struct slab_options *options, const char *value)
{
	return fail_parse(&options->fail, value);
}

/* The form of a value, for the error message. */
#define LIMIT_ACCEPTED                                                                                 \
	"0 for no limit, or a number of bytes from 16384, also in K, M, G, KiB, MiB or GiB, or 1% to " \
	"100%"

enum form { FORM_TEXT, FORM_NUMBER, FORM_BYTES };

static const struct {
	struct slab_option_info info;
	bool (*parse)(struct slab_options *options, const char *value);
	enum form form;
} table[] = {
	{{"SLAB_ENGINE", "auto, rseq, cmpxchg16b, mutex", "auto",
	  "how CPUs commit changes to their arrays; auto takes the first engine that works"},
	 parse_engine,
	 FORM_TEXT},
	{{"SLAB_TYPES", "shared, apart", "shared",
	  "apart: no address ever serves two caches, as with SLAB_APART for every cache"},
	 parse_types,
	 FORM_TEXT},
	{{"SLAB_FAKE_NODES", "a number from 1 to 64", "the machine's nodes",
	  "pretend to have this number of NUMA nodes, for tests"},
	 parse_fake_nodes,
	 FORM_NUMBER},
	{{"SLAB_CONTROL", "auto, on, full, off, signal:N", "auto; off with libslab_malloc.so",
	  "the control socket that slabinfo talks to; on: from the first slab_malloc() on; "
	  "full: so, and any client may make allocations fail; "
	  "signal:N: from signal number N on"},
	 parse_control,
	 FORM_TEXT},
	{{"SLAB_RUNTIME_DIR", "an absolute path of at most 80 bytes",
	  "$XDG_RUNTIME_DIR, /run for root, else /tmp/slab-UID",
	  "directory that holds slab/PID.sock"},
	 parse_runtime_dir,
	 FORM_TEXT},
	{{"SLAB_LOG", "a path of at most 4095 bytes", "stderr",
	  "file to which reports are appended"},
	 parse_log,
	 FORM_TEXT},
	{{"SLAB_DEBUG_ABORT", "0, 1", "0", "abort after the first report"},
	 parse_debug_abort,
	 FORM_TEXT},
	{{"SLAB_DEBUG", "flags[,name...][;...] with flags of F Z P U T A O -, at most 4095 bytes",
	  "no debugging", "debug flags of new caches"},
	 parse_debug,
	 FORM_TEXT},
	{{"SLAB_LEAK_CHECK", "off, exit", "off",
	  "report the objects that are still allocated when the process exits"},
	 parse_leak_check,
	 FORM_TEXT},
	{{"SLAB_SAMPLE", "name:N[,name:N...], at most 4095 bytes", "no sampling",
	  "guard one in N allocations of these caches with guard pages"},
	 parse_sample,
	 FORM_TEXT},
	{{"SLAB_PROFILE", "0 for off, or a number of bytes, also in K, M, G, KiB, MiB or GiB", "0",
	  "heap profile: sample an allocation each time this number of bytes was allocated, on "
	  "average"},
	 parse_profile,
	 FORM_BYTES},
	{{"SLAB_RANDOM", "on, off", "off", "a fresh slab hands out its objects in random order"},
	 parse_random,
	 FORM_TEXT},
	{{"SLAB_HARDEN", "on, off", "off", "report frees of invalid pointers, in all caches"},
	 parse_harden,
	 FORM_TEXT},
	{{"SLAB_ZERO", "off, alloc, free, both", "off",
	  "zero objects when they are allocated, freed or both, in all caches without constructor"},
	 parse_zero,
	 FORM_TEXT},
	{{"SLAB_HUGE", "auto, always, never", "auto",
	  "populate fresh memory in huge pages; auto: from 64 MiB of slabs on, if that is fast"},
	 parse_huge,
	 FORM_TEXT},
	{{"SLAB_DECAY_MS", "a number of milliseconds from 0 to 86400000, never", "10000",
	  "return memory to the OS when it was unused for this time; 0: free slabs at once"},
	 parse_decay,
	 FORM_NUMBER},
	{{"SLAB_LIMIT", LIMIT_ACCEPTED, "no limit",
	  "most bytes of slabs and large allocations of the process; with %, of the memory that it "
	  "may have"},
	 parse_limit,
	 FORM_BYTES},
	{{"SLAB_SOFT_LIMIT", LIMIT_ACCEPTED, "no limit",
	  "above this many bytes, return free memory at once and call reclaim functions"},
	 parse_soft_limit,
	 FORM_BYTES},
	{{"SLAB_TOOLS", "auto, off", "auto",
	  "report objects to valgrind, AddressSanitizer or ThreadSanitizer when the process runs under "
	  "one of them"},
	 parse_tools,
	 FORM_TEXT},
	{{"SLAB_SYMBOLS", "on, off", "off",
	  "pass reports through slab-symbolize: functions and lines at once"},
	 parse_symbols,
	 FORM_TEXT},
	{{"SLAB_FAIL",
	  "a comma list of interval=N, probability=0 to 100, times=N (-1: no limit), cache=NAME",
	  "no failures",
	  "fault injection: every interval-th (1) allocation fails with this probability (100), at "
	  "most as often as times says (-1)"},
	 parse_fail,
	 FORM_TEXT},
};

#define TABLE_ROWS (sizeof(table) / sizeof(table[0]))

const struct slab_option_info *slab_option_info(unsigned i)
{
	return i < TABLE_ROWS ? &table[i].info : NULL;
}

static void complain_about(const struct slab_option_info *info, enum form form, const char *value,
			   void (*complain)(const char *message))
{
	const bool in_form = form != FORM_TEXT && option_is_numeric(value, form == FORM_BYTES);
	char message[400], shown[65];

	option_printable(shown, sizeof(shown), value, strlen(value));
	snprintf(message, sizeof(message), "%s=%s is %s; accepted: %s; using %s", info->name, shown,
		 in_form ? "out of range" : "not valid", info->accepted, info->fallback);
	complain(message);
}

#define DEFAULTS                                                                                   \
	{                                                                                          \
		.control = SLAB_CONTROL_AUTO,                                                      \
		.tools = 1,                                                                        \
		.decay_ms = DECAY_MS,                                                              \
		.debug = "",                                                                       \
		.sample = "",                                                                      \
		.log = "",                                                                         \
	}

static const struct slab_options defaults = DEFAULTS;

int slab_options_parse(struct slab_options *options, struct slab_option_texts *texts,
		       char *(*get)(const char *name), void (*complain)(const char *message))
{
	int complaints = 0;

	*options = defaults;
	options->texts = texts;
	for (size_t i = 0; i < TABLE_ROWS; i++) {
		const char *value = get(table[i].info.name);

		if (!value || !*value || table[i].parse(options, value))
			continue;
		complain_about(&table[i].info, table[i].form, value, complain);
		complaints++;
	}
	return complaints + debug_text_check(options->debug, complain);
}

static void complain_on_stderr(const char *message)
{
	slab_note("%s", message);
}

/*
 * The state of the options: UNREAD, READY, or the pid of the process that reads them. A thread that
 * finds another thread reading waits for it. In the child of a fork that thread does not exist; the
 * pid is the parent's then, so the child reads again.
 */
enum { UNREAD = 0, READY = -1 };
/* How long a waiting thread sleeps at a time. It may have a higher priority than the other one. */
#define READS_NS 100000L
static SLAB_EARLY atomic_int state;
/* Never without texts: a signal handler may read it before the first value is parsed. */
static struct slab_options process_options = DEFAULTS;
static struct slab_option_texts process_texts;
/* This thread is reading. A signal handler that interrupts it uses the values parsed so far. */
static __thread volatile bool reads __attribute__((tls_model("initial-exec")));

static void read_environment(void)
{
	int me = getpid();
	int seen = atomic_load(&state);

	while (seen != READY && !reads) {
		if (seen == me) {
			clock_sleep(READS_NS);
			seen = atomic_load(&state);
		} else if (atomic_compare_exchange_weak(&state, &seen, me)) {
			reads = true;
			slab_options_parse(&process_options, &process_texts, secure_getenv,
					   complain_on_stderr);
			reads = false;
			atomic_store_explicit(&state, READY, memory_order_release);
			return;
		}
	}
}

const struct slab_options *slab_options(void)
{
	if (atomic_load_explicit(&state, memory_order_acquire) != READY)
		read_environment();
	return &process_options;
}

uint64_t debug_options_flags(const char *cache_name, bool *ret_no_growth)
{
	return debug_text_flags(slab_options()->debug, cache_name, ret_no_growth);
}

unsigned long sample_options(const char *cache_name)
{
	return sample_text_interval(slab_options()->sample, cache_name);
}
