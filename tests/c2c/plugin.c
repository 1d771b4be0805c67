// SPDX-License-Identifier: GPL-2.0-only
/*
 * A TCG plugin for QEMU that tells which instructions of the guest's kernel
 * touch cache lines that several vCPUs write, and how many instructions run.
 *
 * It counts within windows. The guest's job opens and closes one, by storing 1
 * and 0 to the address MARK in userspace, so that the window holds the job's
 * I/O and nothing else that could be told apart.
 *
 *	-plugin c2c.so,out=FILE
 *
 * FILE.N, when window N (from 1) closes:
 *	lost N			events for which there was no room: must be 0
 *	vcpus MASK		those that ran anything in the window
 *	mem PC LINE STORES LOADS WRITERS READERS
 *				an instruction and a line; the masks say which
 *				vCPUs wrote and read the line, by whatever
 *				instruction. Only lines with two of them or more.
 *	tb PC INSNS TIMES	a translated block of the kernel, and how often it ran
 *
 * Only what is used of QEMU's plugin interface is declared, since Debian does
 * not ship its header. That part has not changed from QEMU 7.2 on; the version
 * number has, so it is given on the command line of the compiler.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef PLUGIN_VERSION
#error "PLUGIN_VERSION is not given"
#endif

#define EXPORT __attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;
struct qemu_info_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum { CB_NO_REGS = 0, MEM_RW = 3 };

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
		void (*cb)(qemu_plugin_id_t, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb,
		void (*cb)(unsigned int, void *), int flags, void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn,
		void (*cb)(unsigned int, qemu_plugin_meminfo_t, uint64_t, void *),
		int flags, int rw, void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb,
						 size_t i);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);

EXPORT int qemu_plugin_version = PLUGIN_VERSION;

#define MARK		0x6d6470657000ULL	/* also in job.c */
#define KERNEL(addr)	((addr) >> 63)
#define SLOTS		(1u << 23)
#define BLOCKS		(1u << 20)
#define PROBES		4096

struct access {
	uint64_t pc, line;
	uint64_t stores, loads;
};

struct line {
	uint64_t line;
	uint64_t writers, readers;
};

struct block {
	uint64_t pc, insns, times;
};

static struct access *accesses;
static struct line *lines;
static struct block *blocks;
static uint64_t lost, vcpus;
static bool window;
static unsigned int windows;
static const char *out = "c2c.out";

static uint64_t hash(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdULL;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53ULL;
	return x ^ x >> 33;
}

static void add(uint64_t *counter, uint64_t n)
{
	__atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

static void set_bit(uint64_t *mask, unsigned int bit)
{
	uint64_t m = 1ULL << (bit & 63);

	if (!(__atomic_load_n(mask, __ATOMIC_RELAXED) & m))
		__atomic_fetch_or(mask, m, __ATOMIC_RELAXED);
}

/* Claim an empty key, or find that it is @want: true if the slot is @want's. */
static bool claim(uint64_t *key, uint64_t want)
{
	uint64_t old = __atomic_load_n(key, __ATOMIC_RELAXED);

	if (old == 0)
		__atomic_compare_exchange_n(key, &old, want, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	return old == 0 || old == want;
}

static struct line *find_line(uint64_t line)
{
	uint64_t h = hash(line);

	for (unsigned int i = 0; i < PROBES; i++) {
		struct line *l = &lines[(h + i) % SLOTS];

		if (claim(&l->line, line))
			return l;
	}
	return NULL;
}

static struct access *find_access(uint64_t pc, uint64_t line)
{
	/* One word for both, so that a slot is claimed at once. */
	uint64_t key = hash(pc) ^ line, h = hash(key);

	for (unsigned int i = 0; i < PROBES; i++) {
		struct access *a = &accesses[(h + i) % SLOTS];

		if (claim(&a->line, key)) {
			a->pc = pc;
			return a;
		}
	}
	return NULL;
}

static void on_mem(unsigned int cpu, qemu_plugin_meminfo_t info, uint64_t addr,
		   void *data)
{
	uint64_t pc = (uintptr_t)data, line = addr >> 6;
	struct access *a;
	struct line *l;

	if (!window || !KERNEL(addr))
		return;
	l = find_line(line);
	a = find_access(pc, line);
	if (!l || !a) {
		add(&lost, 1);
		return;
	}
	if (qemu_plugin_mem_is_store(info)) {
		set_bit(&l->writers, cpu);
		add(&a->stores, 1);
	} else {
		set_bit(&l->readers, cpu);
		add(&a->loads, 1);
	}
}

/* Write what was counted, and forget it. */
static void close_window(void)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s.%u", out, ++windows);
	f = fopen(path, "w");
	if (!f) {
		perror(path);
		return;
	}
	fprintf(f, "lost %" PRIu64 "\nvcpus %" PRIx64 "\n", lost, vcpus);
	for (unsigned int i = 0; i < SLOTS; i++) {
		const struct access *a = &accesses[i];
		const struct line *l;

		if (!a->line)
			continue;
		l = find_line(a->line ^ hash(a->pc));
		if (l && __builtin_popcountll(l->writers | l->readers) > 1)
			fprintf(f, "mem %" PRIx64 " %" PRIx64 " %" PRIu64 " %" PRIu64
				" %" PRIx64 " %" PRIx64 "\n", a->pc, l->line << 6,
				a->stores, a->loads, l->writers, l->readers);
	}
	for (unsigned int i = 0; i < BLOCKS; i++)
		if (blocks[i].times)
			fprintf(f, "tb %" PRIx64 " %" PRIu64 " %" PRIu64 "\n",
				blocks[i].pc, blocks[i].insns, blocks[i].times);
	if (fclose(f))
		perror(path);

	lost = vcpus = 0;
	memset(accesses, 0, SLOTS * sizeof(*accesses));
	memset(lines, 0, SLOTS * sizeof(*lines));
	for (unsigned int i = 0; i < BLOCKS; i++)
		blocks[i].times = 0;
}

/* Userspace: only for the mark. The first store opens, the second one closes. */
static void on_user_mem(unsigned int cpu, qemu_plugin_meminfo_t info, uint64_t addr,
			void *data)
{
	(void)cpu;
	(void)data;
	if (addr != MARK || !qemu_plugin_mem_is_store(info))
		return;
	/* One thread runs all vCPUs: none is in a callback meanwhile. */
	window = !window;
	if (!window)
		close_window();
}

static void on_block(unsigned int cpu, void *data)
{
	struct block *b = data;

	if (!window)
		return;
	set_bit(&vcpus, cpu);
	add(&b->times, 1);
}

static struct block *find_block(uint64_t pc, uint64_t insns)
{
	uint64_t h = hash(pc * 512 + insns);

	for (unsigned int i = 0; i < BLOCKS; i++) {
		struct block *b = &blocks[(h + i) % BLOCKS];

		if (claim(&b->pc, pc) && claim(&b->insns, insns))
			return b;
	}
	return NULL;
}

static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb);
	uint64_t pc = qemu_plugin_tb_vaddr(tb);
	bool kernel = KERNEL(pc);

	(void)id;
	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		void *at = (void *)(uintptr_t)qemu_plugin_insn_vaddr(insn);

		qemu_plugin_register_vcpu_mem_cb(insn, kernel ? on_mem : on_user_mem,
						 CB_NO_REGS, MEM_RW, at);
	}
	if (kernel)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, CB_NO_REGS,
						     find_block(pc, n));
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info_t *info,
			       int argc, char **argv)
{
	(void)info;
	for (int i = 0; i < argc; i++)
		if (strncmp(argv[i], "out=", 4) == 0)
			out = strdup(argv[i] + 4);
	accesses = calloc(SLOTS, sizeof(*accesses));
	lines = calloc(SLOTS, sizeof(*lines));
	blocks = calloc(BLOCKS, sizeof(*blocks));
	if (!accesses || !lines || !blocks)
		return -1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	return 0;
}
