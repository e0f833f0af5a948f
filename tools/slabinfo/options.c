/* SPDX-License-Identifier: MIT */
/* The tables of options. args.c reads them; this file decides nothing. */
#include "options.h"

const char short_options[] = ":ABd::DehilLnN:p:PrsStTUvXz";

/* The kernel tool's long names, some of which start with a capital letter. What
 * its usage calls --display-active it reads as --display-activity: both are read. */
const struct option long_options[] = {
	{"activity", no_argument, NULL, 'A'},
	{"Bytes", no_argument, NULL, 'B'},
	{"bytes", no_argument, NULL, 'B'},
	{"debug", optional_argument, NULL, 'd'},
	{"display-activity", no_argument, NULL, 'D'},
	{"display-active", no_argument, NULL, 'D'},
	{"empty", no_argument, NULL, 'e'},
	{"help", no_argument, NULL, 'h'},
	{"inverted", no_argument, NULL, 'i'},
	{"slabs", no_argument, NULL, 'l'},
	{"Loss", no_argument, NULL, 'L'},
	{"loss", no_argument, NULL, 'L'},
	{"numa", no_argument, NULL, 'n'},
	{"lines", required_argument, NULL, 'N'},
	{"partial", no_argument, NULL, 'P'},
	{"report", no_argument, NULL, 'r'},
	{"shrink", no_argument, NULL, 's'},
	{"Size", no_argument, NULL, 'S'},
	{"size", no_argument, NULL, 'S'},
	{"tracking", no_argument, NULL, 't'},
	{"Totals", no_argument, NULL, 'T'},
	{"totals", no_argument, NULL, 'T'},
	{"Unreclaim", no_argument, NULL, 'U'},
	{"unreclaim", no_argument, NULL, 'U'},
	{"validate", no_argument, NULL, 'v'},
	{"Xtotals", no_argument, NULL, 'X'},
	{"xtotals", no_argument, NULL, 'X'},
	{"zero", no_argument, NULL, 'z'},
	{"pid", required_argument, NULL, 'p'},
	{"process", required_argument, NULL, OPTION_PROCESS},
	{"list", no_argument, NULL, OPTION_LIST},
	{"memory", no_argument, NULL, OPTION_MEMORY},
	{"core", required_argument, NULL, OPTION_CORE},
	{"exe", required_argument, NULL, OPTION_EXE},
	{"types", required_argument, NULL, OPTION_TYPES},
	{"copy", required_argument, NULL, OPTION_COPY},
	{"json", no_argument, NULL, OPTION_JSON},
	{"openmetrics", no_argument, NULL, OPTION_OPENMETRICS},
	{"set", required_argument, NULL, OPTION_SET},
	{"reset", no_argument, NULL, OPTION_RESET},
	{"trim", no_argument, NULL, OPTION_TRIM},
	{"sample", required_argument, NULL, OPTION_SAMPLE},
	{"fail", required_argument, NULL, OPTION_FAIL},
	{"mark", no_argument, NULL, OPTION_MARK},
	{"since-mark", optional_argument, NULL, OPTION_SINCE_MARK},
	{"top", optional_argument, NULL, OPTION_TOP},
	{"map", required_argument, NULL, OPTION_MAP},
	{"record", required_argument, NULL, OPTION_RECORD},
	{"interval", required_argument, NULL, OPTION_INTERVAL},
	{"plot", required_argument, NULL, OPTION_PLOT},
	{"diff", no_argument, NULL, OPTION_DIFF},
	{"profile", required_argument, NULL, OPTION_PROFILE},
	{"pprof", required_argument, NULL, OPTION_PPROF},
	{"flame", required_argument, NULL, OPTION_FLAME},
	{"waste", no_argument, NULL, OPTION_WASTE},
	{"find-leaks", no_argument, NULL, OPTION_FIND_LEAKS},
	{"stop-limit", required_argument, NULL, OPTION_STOP_LIMIT},
	{"version", no_argument, NULL, OPTION_VERSION},
	{NULL, 0, NULL, 0},
};

#define WITH_ALL (WITH_REGEXP | WITH_JSON | WITH_CORE)

static const struct view_option views[] = {
	{0, VIEW_DEFAULT, "", WITH_ALL},
	{'l', VIEW_TABLE, "-l", WITH_ALL},
	{'T', VIEW_TOTALS, "-T", WITH_ALL},
	{'X', VIEW_EXTENDED_TOTALS, "-X", WITH_ALL},
	{'n', VIEW_NUMA, "-n", WITH_ALL},
	{'r', VIEW_REPORT, "-r", WITH_ALL},
	{'t', VIEW_TRACKING, "-t", WITH_ALL},
	{OPTION_WASTE, VIEW_WASTE, "--waste", WITH_ALL},
	{OPTION_SINCE_MARK, VIEW_SINCE_MARK, "--since-mark", WITH_ALL},
	{0, VIEW_JSON, "--json", WITH_ALL},
	{OPTION_OPENMETRICS, VIEW_OPENMETRICS, "--openmetrics", WITH_REGEXP | WITH_CORE},
	{OPTION_MAP, VIEW_MAP, "--map", WITH_REGEXP | WITH_CORE},
	{OPTION_PPROF, VIEW_PPROF, "--pprof", WITH_CORE},
	{OPTION_FLAME, VIEW_FLAME, "--flame", WITH_CORE},
	{OPTION_PROFILE, VIEW_PROFILE, "--profile", ACTS},
	{0, VIEW_PEAK, "--profile=peak", WITH_CORE},
	{0, VIEW_LIFETIMES, "--profile=lifetimes", WITH_CORE},
	{OPTION_TOP, VIEW_TOP, "--top", WITH_REGEXP},
	{OPTION_RECORD, VIEW_RECORD, "--record", WITH_REGEXP},
	{'s', VIEW_SHRINK, "-s", WITH_REGEXP | ACTS},
	{'v', VIEW_VALIDATE, "-v", WITH_REGEXP | WITH_CORE},
	{OPTION_FIND_LEAKS, VIEW_FIND_LEAKS, "--find-leaks", WITH_ALL},
	{'d', VIEW_DEBUG, "-d", WITH_REGEXP | ACTS},
	{OPTION_SAMPLE, VIEW_SAMPLE, "--sample", WITH_REGEXP | ACTS},
	{OPTION_RESET, VIEW_RESET, "--reset", WITH_REGEXP | ACTS},
	{OPTION_SET, VIEW_SET, "--set", ACTS},
	{OPTION_TRIM, VIEW_TRIM, "--trim", ACTS},
	{OPTION_FAIL, VIEW_FAIL, "--fail", ACTS},
	{OPTION_MARK, VIEW_MARK, "--mark", ACTS},
	{OPTION_LIST, VIEW_PROCESSES, "--list", WITH_JSON},
	{OPTION_PLOT, VIEW_PLOT, "--plot", WITH_OPERANDS},
	{OPTION_DIFF, VIEW_DIFF, "--diff", WITH_OPERANDS | WITH_JSON},
};

#define VIEWS (sizeof(views) / sizeof(views[0]))

/* Together with the command line, the text fits a terminal of 80 columns and 24 lines. */
const char help_text[] =
	"usage: slabinfo [OPTION]... [REGEXP]    slab caches of a process: slabinfo(1)\n"
	"Show     -l --slabs    one per line (default)  -r --report    details of caches\n"
	"         -T --totals   sums over all caches    -X --xtotals   -T and the largest\n"
	"         -n --numa     slabs on each node      -t --tracking  call sites (-du)\n"
	"         --json        output for programs     --openmetrics  for Prometheus\n"
	"         --top[=SECONDS]  live screen          --map=SVG      draw all slabs\n"
	"         --waste       who keeps free memory   --profile=peak|lifetimes\n"
	"Order    -A --activity  -L --loss  -P --partial  -S --size  -i --inverted\n"
	"Lines    -N --lines=K first K  -z --zero also empty  -e --empty only empty ones\n"
	"         -U --unreclaim only unreclaimable ones\n"
	"Columns  -B --bytes exact numbers  -D --display-activity slow-path operations\n"
	"Act      -s --shrink  return empty slabs       -v --validate  check all slabs\n"
	"         --trim  return all free memory        --reset  clear event counters\n"
	"         --set=CACHE.ATTRIBUTE=VALUE  --profile=BYTES heap profile, 0: off\n"
	"Debug    -d --debug[=FLAGS] f checks, z red zones, p poison, u stacks for -t,\n"
	"         a: fzpu, t trace, A --fail; none: off  --fail=SPEC fail, --fail=- off\n"
	"         --sample=N guard 1 in N, 0: off  --mark  --since-mark[=MARK] growth\n"
	"Files    --record=FILE [--interval=SECONDS]  --plot=SVG FILE...  --diff A B\n"
	"Process  -p --pid=PID  --process=NAME  --list  --memory read memory  --copy=N\n"
	"         --core=FILE [--exe=FILE]  --find-leaks [PID|CORE] [--stop-limit=S]\n"
	"Other    --pprof=FILE  --flame=SVG  --types=FILE names  -h --help  --version\n"
	"Exit status: 0 done; 1 no match, damage or leaks; 2 bad usage, no such process\n";

const struct view_option *view_of_option(int option)
{
	for (size_t i = 0; i < VIEWS; i++) {
		if (views[i].option == option)
			return &views[i];
	}
	return NULL;
}

const struct view_option *view_rules(enum view view)
{
	size_t i = 0;

	while (i < VIEWS - 1 && views[i].view != view)
		i++;
	return &views[i];
}
