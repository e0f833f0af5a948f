/* SPDX-License-Identifier: MIT */
/*
 * A team of threads that runs one case: pinning, barriers, phases and their rows.
 *
 * A team that has a CPU for each thread pins them and spins at barriers, so that
 * all begin a lap together; a larger one is left to the scheduler and sleeps.
 * Thread 0 keeps the phase: between the two barriers of team_lap() the others
 * stand still, and it may read what they recorded. Nothing here allocates while
 * a case runs: the allocator under test belongs to the case alone.
 */

#include "bench.h"

#define WARM_UP_LAPS 2u
#define MIN_LAPS 3u
#define MAX_LAPS 4096u
#define SPINS_BEFORE_YIELD 100000u

struct member {
	struct team *team;
	unsigned self;
};

static double samples[BENCH_MAX_ROWS][MAX_LAPS];
static unsigned sample_count[BENCH_MAX_ROWS];

void team_barrier(struct team *team)
{
	unsigned generation, spins = 0;

	if (!team->spin) {
		pthread_barrier_wait(&team->barrier);
		return;
	}
	generation = atomic_load(&team->generation);
	if (atomic_fetch_add(&team->arrived, 1) + 1 == team->threads) {
		atomic_store(&team->arrived, 0);
		atomic_store(&team->generation, generation + 1);
		return;
	}
	while (atomic_load(&team->generation) == generation) {
		bench_relax();
		if (++spins % SPINS_BEFORE_YIELD == 0)
			sched_yield();
	}
}

static int compare_samples(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static const char *row_name(const struct team *team, unsigned row)
{
	return team->c->rows[team->first_row + row];
}

static long grown(const struct team *team)
{
	return bench_resident() - team->rss_base;
}

static void print_figure(const struct team *team, const char *row, const char *metric, double value)
{
	printf("%s,%zu,%s,%.3f\n", row, team->size, metric, value);
}

/* The median lap, and the shortest one. */
static void print_row(struct team *team, unsigned row)
{
	unsigned n = sample_count[row];
	const char *name = row_name(team, row);
	double *v = samples[row];

	if (n == 0 || !bench_row_selected(name))
		return;
	qsort(v, n, sizeof(*v), compare_samples);
	print_figure(team, name, "ns", v[n / 2] / bench_cycles_per_ns);
	print_figure(team, name, "ns_min", v[0] / bench_cycles_per_ns);
	print_figure(team, name, "cycles", v[n / 2]);
	print_figure(team, name, "cycles_min", v[0]);
}

void team_memory(struct team *team, unsigned row)
{
	const char *name = team->c->rows[row];

	if (team->contestant->has_memory && bench_row_selected(name))
		print_figure(team, name, "resident", (double)grown(team));
}

static bool phase_selected(const struct team *team)
{
	for (unsigned row = 0; row < team->rows; row++)
		if (bench_row_selected(row_name(team, row)))
			return true;
	return false;
}

static uint64_t phase_cycles(const struct team *team)
{
	unsigned slices = team->c->slices ? team->c->slices : 1;

	return (uint64_t)(bench_options.ms * 1e6 / slices * bench_cycles_per_ns);
}

static unsigned warm_up_laps(const struct team *team)
{
	return team->c->cold || bench_options.laps ? 0 : WARM_UP_LAPS;
}

void team_measure(struct team *team, unsigned self, unsigned first, unsigned rows)
{
	team_barrier(team);
	if (self != 0)
		return;
	team->first_row = first;
	team->rows = rows;
	team->laps = 0;
	team->again = phase_selected(team);
	memset(sample_count, 0, sizeof(sample_count));
}

/* One sample per row and lap: the mean of the threads that did that part. */
static void keep_samples(struct team *team)
{
	for (unsigned row = 0; row < team->rows; row++) {
		double sum = 0;
		unsigned n = 0;

		for (unsigned i = 0; i < team->threads; i++) {
			sum += team->lap[i].cycles[row];
			n += team->lap[i].cycles[row] > 0;
		}
		if (n && sample_count[row] < MAX_LAPS)
			samples[row][sample_count[row]++] = sum / n;
	}
}

static bool phase_goes_on(const struct team *team)
{
	unsigned measured = team->laps - warm_up_laps(team);

	if (team->c->cold)
		return false;
	if (bench_options.laps)
		return team->laps < bench_options.laps;
	if (team->laps < warm_up_laps(team) + MIN_LAPS)
		return true;
	return measured < MAX_LAPS && bench_cycles() < team->deadline;
}

static unsigned busy_cpus(const struct team *team)
{
	return team->threads < bench_cpus() ? team->threads : bench_cpus();
}

static void end_lap(struct team *team)
{
	if (team->wall_ops > 0) {
		uint64_t cycles = (bench_cycles() - team->lap_start) * busy_cpus(team);

		team->lap[0].cycles[0] = (double)cycles / team->wall_ops;
		team->wall_ops = 0;
	}
	if (++team->laps > warm_up_laps(team))
		keep_samples(team);
	else if (team->laps == warm_up_laps(team))
		team->deadline = bench_cycles() + phase_cycles(team);
	team->again = phase_goes_on(team);
	if (team->again)
		return;
	for (unsigned row = 0; row < team->rows; row++)
		print_row(team, row);
}

static void begin_lap(struct team *team)
{
	for (unsigned i = 0; i < team->threads; i++)
		memset(team->lap[i].cycles, 0, sizeof(team->lap[i].cycles));
	team->lap_start = bench_cycles();
}

bool team_lap(struct team *team, unsigned self)
{
	team_barrier(team);
	if (self == 0) {
		if (team->again && team->lap_start)
			end_lap(team);
		if (team->again)
			begin_lap(team);
		else
			team->lap_start = 0;
	}
	team_barrier(team);
	return team->again;
}

static void run_member(struct team *team, unsigned self)
{
	team_barrier(team);
	if (self == 0)
		team->rss_base += bench_resident();
	team_barrier(team);
	team->c->body(team, self);
	team_barrier(team);
}

static void *member_main(void *arg)
{
	struct member *member = arg;

	if (member->team->spin)
		bench_pin(bench_cpu(member->self));
	run_member(member->team, member->self);
	return NULL;
}

/*
 * Starting the threads costs memory that is not the allocator's: rss_base comes
 * in as what was resident before the allocator opened less what is now, and gets
 * what is resident once all threads stand at their first barrier.
 */
void team_run(struct team *team)
{
	static pthread_t thread[BENCH_MAX_THREADS];
	static struct member member[BENCH_MAX_THREADS];

	team->rss_base -= bench_resident();
	memset(samples, 0, sizeof(samples)); /* resident from now on */
	team->spin = team->threads <= bench_cpus();
	if (!team->spin)
		pthread_barrier_init(&team->barrier, NULL, team->threads);
	for (unsigned i = 1; i < team->threads; i++) {
		member[i] = (struct member){team, i};
		if (pthread_create(&thread[i], NULL, member_main, &member[i]) != 0)
			bench_fail("cannot start thread %u", i);
	}
	run_member(team, 0);
	for (unsigned i = 1; i < team->threads; i++)
		pthread_join(thread[i], NULL);
}
