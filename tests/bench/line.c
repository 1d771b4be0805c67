// SPDX-License-Identifier: GPL-2.0-only
/*
 * What it costs to count in a cache line that other CPUs write, on this machine.
 *
 * Ways to take and drop a reference, one row each in the table ops[]: what stock
 * md does, and what we do. Each runs on one CPU, on two, and so on up to all of
 * them, all threads on one object ("same") or each on one of its own ("apart").
 * "work" is private work, in ns, before each get and each put: with none a CPU
 * does several operations each time it has got hold of the line, which looks
 * cheap; with work in between, as in md, the line is elsewhere each time.
 *
 * Output, tab separated: op, set, place, threads, work, and ns per operation (a
 * get or a put), median, least and most over the rounds in which all threads had
 * their CPUs to themselves. Then, derived:
 *	rmw		a locked instruction on a line that is here: "atomic" on
 *			one CPU
 *	transfer	what the line's coming adds to it: "atomic" with work,
 *			"same" less "apart", or, if that is less, the time of
 *			"same" divided by the threads. Where the line is always
 *			on its way the CPUs queue for it, and that is the time
 *			between two of them.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LINE		128	/* two lines: the prefetcher fetches pairs */
#define MOST		1024	/* CPUs */
#define BUCKETS		1024
#define WORK		150	/* ns */

/* One object that I/Os count themselves in, every way side by side. */
struct object {
	_Alignas(LINE) int64_t count;	/* rdev->nr_pending, active_aligned_reads */
	uint32_t seq, barrier;		/* raid10's resync_lock and barrier */
	_Alignas(LINE) int32_t bucket[BUCKETS];
	_Alignas(LINE) uint64_t head, next_seq;
	_Alignas(LINE) uint32_t percpu;	/* the mode: only read while I/O runs */
	struct { _Alignas(LINE) int64_t n; } cpu[];
};

struct io {
	int cpu;
	uint64_t sector;
};

static volatile bool woken;
static int threads;

/* What stock md does */

static void atomic_get(struct object *o, struct io *io)
{
	(void)io;
	__atomic_fetch_add(&o->count, 1, __ATOMIC_SEQ_CST);
}

static void atomic_put(struct object *o, struct io *io)
{
	(void)io;
	if (__atomic_sub_fetch(&o->count, 1, __ATOMIC_SEQ_CST) == INT64_MIN)
		woken = true;
}

static int64_t atomic_sum(struct object *o)
{
	return o->count;
}

/* raid10: no barrier, says the sequence lock; then count, on the same line */
static void seq_get(struct object *o, struct io *io)
{
	uint32_t seq = __atomic_load_n(&o->seq, __ATOMIC_ACQUIRE);

	if (!(seq & 1) && !__atomic_load_n(&o->barrier, __ATOMIC_RELAXED))
		atomic_get(o, io);
}

/* raid1: one of 1024 counters, by the place on the disk, 16 to a line */
static int32_t *bucket(struct object *o, struct io *io)
{
	return &o->bucket[(io->sector * 0x61c8864680b583ebULL) >> 54];
}

static void bucket_get(struct object *o, struct io *io)
{
	io->sector = io->sector * 6364136223846793005ULL + 1442695040888963407ULL;
	__atomic_fetch_add(bucket(o, io), 1, __ATOMIC_SEQ_CST);
}

static void bucket_put(struct object *o, struct io *io)
{
	if (__atomic_sub_fetch(bucket(o, io), 1, __ATOMIC_SEQ_CST) == INT32_MIN)
		woken = true;
}

static int64_t bucket_sum(struct object *o)
{
	int64_t sum = 0;

	for (int i = 0; i < BUCKETS; i++)
		sum += o->bucket[i];
	return sum;
}

/* raid1 and raid10: where the head of the disk is; no count, no lock */
static void store_get(struct object *o, struct io *io)
{
	__atomic_store_n(&o->next_seq, ++io->sector, __ATOMIC_RELAXED);
}

static void store_put(struct object *o, struct io *io)
{
	__atomic_store_n(&o->head, io->sector, __ATOMIC_RELAXED);
}

/* What we do: md-pending, which is a percpu_ref in percpu mode */

static void percpu_add(struct object *o, struct io *io, int64_t n)
{
	int64_t *mine = &o->cpu[io->cpu].n;

	if (__atomic_load_n(&o->percpu, __ATOMIC_RELAXED))
		__atomic_store_n(mine, __atomic_load_n(mine, __ATOMIC_RELAXED) + n,
				 __ATOMIC_RELAXED);
	else
		__atomic_fetch_add(&o->count, n, __ATOMIC_SEQ_CST);
}

static void percpu_get(struct object *o, struct io *io)
{
	percpu_add(o, io, 1);
}

static void percpu_put(struct object *o, struct io *io)
{
	percpu_add(o, io, -1);
}

static int64_t percpu_sum(struct object *o)
{
	int64_t sum = o->count;

	for (int i = 0; i < threads; i++)
		sum += o->cpu[i].n;
	return sum;
}

static const struct ops {
	const char *name, *set;
	void (*get)(struct object *o, struct io *io);
	void (*put)(struct object *o, struct io *io);
	int64_t (*sum)(struct object *o);
} ops[] = {
	{ "atomic", "stock", atomic_get, atomic_put, atomic_sum },
	{ "seq", "stock", seq_get, atomic_put, atomic_sum },
	{ "bucket", "stock", bucket_get, bucket_put, bucket_sum },
	{ "store", "stock", store_get, store_put, NULL },
	{ "percpu", "percpu", percpu_get, percpu_put, percpu_sum },
};
#define N_OPS (sizeof(ops) / sizeof(ops[0]))

/* A row that leaks, for --check: its count must be found wrong. */
static void no_put(struct object *o, struct io *io)
{
	(void)o;
	(void)io;
}

static const struct ops leak = { "leak", "control", atomic_get, no_put, atomic_sum };

static int cpus[MOST], n_cpus, rounds = 21, ms = 3;
static uint64_t spins;		/* of WORK */
static struct object *objects[MOST];

/* One run of all threads. */
static const struct ops *run_op;
static bool run_same;
static uint64_t run_spins;
static long run_times;		/* of get, then of put, with --check; else 0 */
static volatile bool stop;
static int running;		/* threads that do: all begin at once */
static pthread_barrier_t meet;
static struct { _Alignas(LINE) double ns, wall; uint64_t pairs; } result[MOST];

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static void work(uint64_t n)
{
	uint64_t x = n;

	while (n--) {
		x *= 0x9e3779b97f4a7c15ULL;
		__asm__ volatile("" : "+r"(x));
	}
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void *thread(void *arg)
{
	int me = (intptr_t)arg;
	struct object *o = objects[run_same ? 0 : me];
	const struct ops *op = run_op;
	struct io io = { me, me * 1000003ULL };
	uint64_t pairs = 0, n = run_spins;
	double t0, wall0;

	pin(cpus[me]);
	pthread_barrier_wait(&meet);
	if (run_times) {
		for (long i = 0; i < run_times; i++)
			op->get(o, &io);
		pthread_barrier_wait(&meet);	/* main looks at the sum */
		pthread_barrier_wait(&meet);
		for (long i = 0; i < run_times; i++)
			op->put(o, &io);
		return NULL;
	}
	__atomic_fetch_add(&running, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&running, __ATOMIC_SEQ_CST) < threads)
		;
	wall0 = now(CLOCK_MONOTONIC);
	t0 = now(CLOCK_THREAD_CPUTIME_ID);
	do {
		for (int i = 0; i < 32; i++) {
			work(n);
			op->get(o, &io);
			work(n);
			op->put(o, &io);
		}
		pairs += 32;
	} while (!stop);
	result[me].ns = now(CLOCK_THREAD_CPUTIME_ID) - t0;
	result[me].wall = now(CLOCK_MONOTONIC) - wall0;
	result[me].pairs = pairs;
	return NULL;
}

static void start(pthread_t *id)
{
	stop = false;
	running = 0;
	pthread_barrier_init(&meet, NULL, threads + 1);
	for (intptr_t i = 0; i < threads; i++)
		if (pthread_create(&id[i], NULL, thread, (void *)i)) {
			perror("pthread_create");
			exit(1);
		}
	pthread_barrier_wait(&meet);
}

static void finish(pthread_t *id)
{
	for (int i = 0; i < threads; i++)
		pthread_join(id[i], NULL);
	pthread_barrier_destroy(&meet);
}

/* ns per operation; @whole: if no thread lost its CPU for long to others */
static double run(const struct ops *op, bool same, uint64_t n, bool *whole)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000L };
	pthread_t id[MOST];
	double ns = 0, pairs = 0;

	run_op = op;
	run_same = same;
	run_spins = n;
	start(id);
	nanosleep(&t, NULL);
	stop = true;
	finish(id);
	*whole = true;
	for (int i = 0; i < threads; i++) {
		ns += result[i].ns;
		pairs += result[i].pairs;
		*whole &= result[i].ns > 0.95 * result[i].wall;
	}
	return ns / pairs / 2;
}

/* One round: again, a few times, if it was disturbed; NAN if it still is. */
static double measure(const struct ops *op, bool same, uint64_t n)
{
	bool whole = false;
	double ns = 0;

	for (int i = 0; i < 4 && !whole; i++)
		ns = run(op, same, n, &whole);
	return whole ? ns : NAN;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void row(const char *op, const char *set, const char *place, int n, int w, double *v)
{
	int good = 0;

	for (int i = 0; i < rounds; i++)
		if (!isnan(v[i]))
			v[good++] = v[i];
	if (!good) {
		fprintf(stderr, "line: %s with %d threads was disturbed in every round\n", op, n);
		return;
	}
	qsort(v, good, sizeof(*v), compare);
	printf("%s\t%s\t%s\t%d\t%d\t%.2f\t%.2f\t%.2f\n", op, set, place, n, w,
	       (v[(good - 1) / 2] + v[good / 2]) / 2, v[0], v[good - 1]);
	fflush(stdout);
}

static void measure_all(const int *list, int n_list)
{
	double same[rounds], apart[rounds], s[rounds];

	printf("op\tset\tplace\tthreads\twork\tns\tns_min\tns_max\n");
	for (int k = 0; k < n_list; k++) {
		threads = list[k];
		for (size_t i = 0; i < N_OPS; i++)
			for (int w = 0; w <= WORK; w += WORK) {
				bool one = i == 0;	/* atomic: what is derived */

				/* In turn, so that what disturbs hits both. */
				for (int r = 0; r < rounds; r++) {
					same[r] = measure(&ops[i], true, w ? spins : 0);
					apart[r] = measure(&ops[i], false, w ? spins : 0);
					s[r] = same[r] - apart[r];
					if (s[r] > same[r] / threads)
						s[r] = same[r] / threads;
				}
				row(ops[i].name, ops[i].set, "same", threads, w, same);
				row(ops[i].name, ops[i].set, "apart", threads, w, apart);
				if (one && !w && threads == 1)
					row("rmw", "derived", "-", 1, 0, apart);
				if (one && w && threads > 1)
					row("transfer", "derived", "-", threads, w, s);
			}
	}
}

/* How long a round of work() is: the least of some tries. */
static void calibrate(void)
{
	double best = 1e9;

	pin(cpus[0]);
	for (int i = 0; i < 2000; i++) {	/* the clock of the CPU rises, too */
		double t = now(CLOCK_THREAD_CPUTIME_ID);

		work(20000);
		t = now(CLOCK_THREAD_CPUTIME_ID) - t;
		best = t < best ? t : best;
	}
	spins = WORK / (best / 20000) + 0.5;
}

/* All references that were taken are seen, and none is left when all are dropped. */
static bool adds_up(const struct ops *op)
{
	int64_t taken, left;
	pthread_t id[MOST];

	run_op = op;
	run_same = true;
	run_times = 200000;
	start(id);
	pthread_barrier_wait(&meet);
	taken = op->sum(objects[0]);
	pthread_barrier_wait(&meet);
	finish(id);
	left = op->sum(objects[0]);
	memset(objects[0], 0, sizeof(struct object));
	objects[0]->percpu = 1;
	return taken == threads * run_times && left == 0;
}

static int check(void)
{
	int n = 0, bad = 0;

	threads = n_cpus < 2 ? 2 : n_cpus > 8 ? 8 : n_cpus;
	if (n_cpus < 2)
		cpus[1] = cpus[0];
	printf("TAP version 13\n1..%d\n", (int)N_OPS);
	for (size_t i = 0; i < N_OPS; i++) {
		const struct ops *op = ops[i].sum ? &ops[i] : &leak;
		bool good = adds_up(op) == (op != &leak);

		printf("%sok %d - line: %s: %s\n", good ? "" : "not ", ++n, op->name,
		       op == &leak ? "a reference that is not dropped is seen" :
		       "references of all threads add up");
		bad |= !good;
	}
	return bad;
}

static void machine(void)
{
	char line[256], *name = NULL;
	FILE *f = fopen("/proc/cpuinfo", "r");

	while (f && !name && fgets(line, sizeof(line), f))
		if (!strncmp(line, "model name", 10))
			name = strchr(line, ':');
	if (name)
		name[strcspn(name, "\n")] = 0;
	printf("# %s, %d CPUs\n", name ? name + 2 : "unknown CPU", n_cpus);
	if (f)
		fclose(f);
}

static int usage(void)
{
	printf("usage: line [--threads LIST] [--rounds N] [--ms N] | --check\n"
	       "What it costs to count in a cache line that other CPUs write: see the top of line.c.\n"
	       "  --threads 1,2,16   numbers of threads; by default 1, 2, 4 and so on, and all CPUs\n"
	       "  --rounds 21        rounds, of which the median is told\n"
	       "  --ms 3             length of a run\n"
	       "  --check            only see to it that the counts add up; prints TAP\n"
	       "For the model of a large machine: line >line.tsv; scripts/model.py --line line.tsv build/c2c\n");
	return 0;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "threads", required_argument, NULL, 't' },
		{ "rounds", required_argument, NULL, 'r' },
		{ "ms", required_argument, NULL, 'm' },
		{ "check", no_argument, NULL, 'c' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};
	int list[64], n_list = 0, c;
	bool checking = false;
	cpu_set_t set;

	sched_getaffinity(0, sizeof(set), &set);
	for (int i = 0; i < CPU_SETSIZE && n_cpus < MOST; i++)
		if (CPU_ISSET(i, &set))
			cpus[n_cpus++] = i;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1)
		switch (c) {
		case 't':
			for (char *p = strtok(optarg, ","); p && n_list < 64; p = strtok(NULL, ","))
				list[n_list++] = atoi(p);
			break;
		case 'r': rounds = atoi(optarg); break;
		case 'm': ms = atoi(optarg); break;
		case 'c': checking = true; break;
		case 'h': return usage();
		default: return 2;
		}
	if (!n_list) {
		for (int n = 1; n < n_cpus; n *= 2)
			list[n_list++] = n;
		list[n_list++] = n_cpus;
	}
	for (int i = 0; i < n_list; i++)
		if (list[i] < 1 || list[i] > n_cpus) {
			fprintf(stderr, "line: %d threads on %d CPUs\n", list[i], n_cpus);
			return 2;
		}
	if (rounds < 1 || rounds > 1000 || ms < 1 || ms > 10000) {
		fprintf(stderr, "line: a number is out of range\n");
		return 2;
	}
	for (int i = 0; i < (n_cpus < 2 ? 2 : n_cpus); i++) {
		size_t size = sizeof(struct object) + LINE * (size_t)(n_cpus + 1);

		objects[i] = aligned_alloc(LINE, size);
		if (!objects[i]) {
			perror("aligned_alloc");
			return 1;
		}
		memset(objects[i], 0, size);
		objects[i]->percpu = 1;
	}
	if (checking)
		return check();
	calibrate();
	machine();
	measure_all(list, n_list);
	return 0;
}
