#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A model, not a measurement: from counts and transfer times to IOPS on many CPUs.

n CPUs do one I/O after the other, each with private work and visits to cache
lines that all of them write. A visit to a line that another CPU had last waits
for those before it, and then for the line. That is a closed queueing network,
with a server a line, solved by mean value analysis:

* private work: the time of an I/O that shares nothing. 16 CPUs did 3.84 million
  reads a second of raid5 once its counters were gone (PAIRS, below): 4167 ns.
  Levels and variants differ by the instructions counted in md.
* visits: the stores to each line, counted by `make c2c` (lines.tsv). Loads are
  free, which flatters stock; lines outside md are left out of both variants.
* time of a visit: that of a transfer, times (n - 1) / n, the chance that another
  CPU had the line. Transfers are measured by tests/bench/line.c, or published.
* a lock (only in PAIRS: no read takes one any more) is one visit that moves its
  line once if found free; if found taken, LOCK times.

Usage: model.py --check           is it right where that is known; prints TAP
       model.py --pairs           the published pairs and the model, as a table
       model.py [--line FILE] [--private NS] DIR
The last prints the table for the counts in DIR, which `make c2c` has left there,
and writes model.tsv and model.svg to it. FILE: what line.c printed on a machine.
NS: the private work of a raid5 read on it.
"""
import argparse
import collections
import csv
import os
import subprocess
import sys

CPUS = (1, 2, 4, 8, 16, 32, 64, 128)

# Moves of a queued spinlock's line (kernel/locking/qspinlock.c) when it is found
# taken: the cmpxchg that fails, the look before queueing, the exchange of the
# tail, the looks of the one at the head before and after the holder's release,
# its own store to take it, and its release. The node it queues on is not counted.
LOCK = 7

# ns from core to core: within a group that shares a cache, within the socket,
# and between sockets. https://github.com/nviennot/core-to-core-latency
Machine = collections.namedtuple("Machine", "name group socket near far cross")
EPYC_7313P = Machine("EPYC 7313P", 4, 16, 23, 107, 197)    # as 7R13
EPYC = Machine("2 x 64 cores of EPYC, Zen 3", 8, 64, 23, 107, 197)    # as 7R13
XEON_8380 = Machine("Xeon 8380, one socket", 40, 40, 51, 51, 108)    # as 8375C
XEON_8380_2 = Machine("Xeon 8380, over two sockets", 8, 8, 51, 51, 108)
# 16 jobs over four nodes in two sockets. That source has no figure between two
# sockets of this CPU; for the other servers it is 2.1 to 2.8 times that within.
KUNPENG = Machine("Kunpeng 920, over four nodes", 4, 8, 72, 72, 2.5 * 72)
UNKNOWN = Machine("2 x 48 cores, CPU not told", 48, 48, 50, 50, 120)    # as Xeons there
KUNPENG_NODE = Machine("Kunpeng 920, one node", 32, 64, 72, 72, 2.5 * 72)


def transfer(machine, n):
    """Mean ns from one of n CPUs to another; groups and sockets are filled in turn."""
    near = min(n, machine.group) - 1
    far = min(n, machine.socket) - 1 - near
    cross = n - 1 - near - far
    return (near * machine.near + far * machine.far + cross * machine.cross) / max(1, n - 1)


def iops(n, private, lines, ns):
    """I/Os a second of n CPUs. lines: (visits, locks) of each; ns: a transfer."""
    queue, busy = [0.0] * len(lines), [0.0] * len(lines)
    rate = 0.0
    for k in range(1, n + 1):
        demand = [(v + locks * (1 + (LOCK - 1) * b)) * ns * (n - 1) / n
                  for (v, locks), b in zip(lines, busy)]
        stay = [d * (1 + q) for d, q in zip(demand, queue)]
        rate = k / (private + sum(stay))
        queue = [rate * s for s in stay]
        busy = [min(1.0, rate * d) for d in demand]
    return rate * 1e9


def private_work(n, rate, lines, ns):
    """The private work with which n CPUs get to this rate; 0 if none is little enough."""
    low, high = 0.0, n / rate * 1e9
    if iops(n, 1, lines, ns) < rate:
        return 0
    for _ in range(60):
        middle = (low + high) / 2
        if iops(n, middle, lines, ns) > rate:
            low = middle
        else:
            high = middle
    return low


# Published measurements before and after the taking away of shared lines, with
# what a read did to each line then.
# raid5, 3 ramdisks: a reference to one of 3 disks, one to the array; then none.
RAID5 = [(2 / 3, 0)] * 3 + [(2, 0)]
# raid10, 4 disks: references and heads of the disks (two heads a line); nr_pending
# and, on its line, resync_lock; the lock of the wait queue. Then without locks.
DISKS = [(0.5, 0)] * 6
LOCKED, UNLOCKED = DISKS + [(2, 1), (0, 1)], DISKS + [(2, 0)]
# raid6, 8 ramdisks: references to a disk and to the array; device_lock. Then no lock.
RAID6 = [(2 / 8, 0)] * 8 + [(2, 0)]
GIB = 2 ** 30 / 4096

Pair = collections.namedtuple("Pair", "name machine cpus before after was now counts source")
R10 = "https://lkml.iu.edu/hypermail/linux/kernel/"
PAIRS = [
    Pair("raid5, 3 ramdisks", EPYC_7313P, 16, 3.64e6, 3.84e6, RAID5, [], True,
         "http://www.uwsg.indiana.edu/hypermail/linux/kernel/2403.3/06291.html"),
    Pair("raid10, 4 NVMe", XEON_8380, 16, 7.0 * GIB, 9.3 * GIB, LOCKED, UNLOCKED, True,
         R10 + "2209.2/00497.html"),
    Pair("raid10, 4 NVMe", KUNPENG, 16, 2.9 * GIB, 6.6 * GIB, LOCKED, UNLOCKED, True,
         R10 + "2208.3/06015.html"),
    Pair("raid10, 4 NVMe, again", KUNPENG, 16, 3.2 * GIB, 7.9 * GIB, LOCKED, UNLOCKED, True,
         R10 + "2209.2/00497.html"),
    Pair("raid10, 4 NVMe, bound", KUNPENG_NODE, 16, 6.9 * GIB, 8.0 * GIB, LOCKED, UNLOCKED, True,
         R10 + "2209.2/00497.html"),
    Pair("raid10, 4 NVMe", XEON_8380_2, 16, 7.0 * GIB, 9.3 * GIB, LOCKED, UNLOCKED, False,
         R10 + "2209.2/00497.html"),
    Pair("raid6, 8 ramdisks", UNKNOWN, 96, 2e6, 4e6, RAID6 + [(0, 1)], RAID6, False,
         "https://git.kernel.org/linus/97ae27252f4962d0fcc38ee1d9f913d817a2024e"),
]


def predict(pair, free=False):
    """The gain: private work from the rate after, and with it the rate before."""
    ns = 0 if free else transfer(pair.machine, pair.cpus)
    private = private_work(pair.cpus, pair.after, pair.now, ns)
    return pair.after / iops(pair.cpus, private, pair.was, ns)


def predict_forward(pair):
    """The same from the rate before; None if the model never gets to it."""
    ns = transfer(pair.machine, pair.cpus)
    private = private_work(pair.cpus, pair.before, pair.was, ns)
    return iops(pair.cpus, private, pair.now, ns) / pair.before if private else None


def off(pair, gain):
    return gain / (pair.after / pair.before) - 1


def pairs():
    print("| published pair | CPUs | transfer, ns | before, k IOPS | after, k IOPS | gain "
          "| gain, model | off | gain, model from before |\n"
          "| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for p in PAIRS:
        gain, forward = predict(p), predict_forward(p)
        print(f"| {p.name}; {p.machine.name}{'' if p.counts else ' (not counted)'} | {p.cpus} "
              f"| {transfer(p.machine, p.cpus):.0f} | {p.before / 1e3:.0f} | {p.after / 1e3:.0f} "
              f"| {p.after / p.before:.2f} | {gain:.2f} | {100 * off(p, gain):+.0f} % "
              f"| {f'{forward:.2f}' if forward else 'none'} |")


def check():
    private, lines = 4000, [(2, 0)] + [(0.5, 0)] * 4
    curve = [iops(n, private, lines, 90) for n in range(1, 129)]
    tests = [(f"{p.name}, {p.machine.name}: gain {predict(p):.2f}, published "
              f"{p.after / p.before:.2f}: within a fifth", abs(off(p, predict(p))) <= 0.2)
             for p in PAIRS if p.counts]
    tests += [
        ("control: if transfers cost nothing, the pairs are not reproduced",
         any(abs(off(p, predict(p, free=True))) > 0.2 for p in PAIRS if p.counts)),
        ("no shared line: n CPUs do n times as much",
         all(abs(iops(n, private, [], 90) * private / n / 1e9 - 1) < 1e-9 for n in CPUS)),
        ("one CPU waits for nobody", abs(curve[0] * private / 1e9 - 1) < 1e-9),
        ("a CPU never does more for there being others",
         all(a / n >= b / (n + 1) for n, (a, b) in enumerate(zip(curve, curve[1:]), 1))),
        ("a line that is always on its way is the limit",
         0.95 < curve[-1] * 2 * 90 * 127 / 128 / 1e9 <= 1),
        ("a line less is never slower",
         all(iops(n, private, lines[1:], 90) >= iops(n, private, lines, 90) for n in CPUS)),
        ("transfers: groups, then sockets", transfer(EPYC, 8) == 23 and
         abs(transfer(EPYC, 128) - (7 * 23 + 56 * 107 + 64 * 197) / 127) < 1e-9),
    ]
    print(f"TAP version 13\n1..{len(tests)}")
    for i, (what, good) in enumerate(tests, 1):
        print(f"{'ok' if good else 'not ok'} {i} - model: {what}")
    return 0 if all(good for _, good in tests) else 1


def read(path):
    with open(path, encoding="utf-8", newline="") as f:
        return list(csv.DictReader((l for l in f if not l.startswith("#")), delimiter="\t"))


def measured(path):
    """(machine, {CPUs: ns of a transfer}) of what line.c printed."""
    with open(path, encoding="utf-8") as f:
        name = f.readline().lstrip("# ").strip()
    found = {int(r["threads"]): max(0.0, float(r["ns"])) for r in read(path)
             if r["op"] == "transfer"}
    return name, found


def thousands(rate):
    """Thousands of it, in three digits: more would only look exact."""
    digits = len(f"{rate / 1e3:.0f}")
    return f"{round(rate / 1e3, min(0, 3 - digits)):.0f}"


def curves(args):
    counts = {(r["level"], r["variant"]): r for r in read(os.path.join(args.dir, "summary.tsv"))}
    lines = collections.defaultdict(list)
    for r in read(os.path.join(args.dir, "lines.tsv")):
        lines[r["level"], r["variant"]].append((float(r["md_stores"]), 0))
    # The rest of the kernel: the least, for ticks of a busy host come on top.
    rest = min(float(r["kernel_insns"]) - float(r["md_insns"]) for r in counts.values())
    md = {key: float(r["md_insns"]) for key, r in counts.items()}
    known = md.get(("raid5", "percpu"), sum(md.values()) / len(md))
    places = [(f"{EPYC.name} (published)", lambda n: transfer(EPYC, n))]
    if args.line:
        name, found = measured(args.line)
        what = ", ".join(f"{ns:.0f} ns with {t} CPUs" for t, ns in sorted(found.items()))
        if found:
            places.insert(0, (f"{name}: {what} (measured)", lambda n: found[
                max((t for t in found if t <= n), default=min(found))]))
        else:
            print(f"{args.line}: no transfer in it: it takes two CPUs, and some rest",
                  file=sys.stderr)

    rows = []
    for place, by_cpus in places:
        print(f"\n**Model, not a measurement**: k IOPS by number of CPUs; transfer times of {place}.\n")
        print("| level | variant | " + " | ".join(map(str, CPUS)) + " |")
        print("| --- " * (len(CPUS) + 2) + "|")
        for key in counts:
            private = args.private * (rest + md[key]) / (rest + known)
            values = [iops(n, private, lines[key], by_cpus(n)) for n in CPUS]
            print(f"| {key[0]} | {key[1]} | " + " | ".join(map(thousands, values)) + " |")
            rows += [("model", place, *key, n, f"{by_cpus(n):.1f}", f"{v:.0f}")
                     for n, v in zip(CPUS, values)]
    print(f"\nPrivate work of a raid5 read: {args.private:.0f} ns. "
          "What this rests on and how far off it is: docs/model.md.")
    with open(os.path.join(args.dir, "model.tsv"), "w", encoding="utf-8") as f:
        print("what\tplace\tlevel\tvariant\tcpus\ttransfer_ns\tiops", file=f)
        for row in rows:
            print(*row, sep="\t", file=f)
    plot(args.dir, list(counts), [place for place, _ in places], rows)


def plot(out, keys, places, rows):
    colours = {"raid0": "#8c8c8c", "raid1": "#2f6fb0", "raid10": "#b05a2f", "raid5": "#2f8f4f"}
    script = f"""
set terminal svg size {520 * len(places)},460 font "sans,12" background "white"
set output "model.svg"
set multiplot layout 1,{len(places)} title "Model, not a measurement: 4 KiB random reads"
set logscale xy 2
set xlabel "CPUs"
set ylabel "model: million IOPS"
set grid lc rgb "#cccccc"
set key top left
"""
    for place in places:
        script += f'set title "transfer times: {place}" noenhanced font "sans,9"\nplot '
        script += ", ".join(
            f"'-' using 1:($2/1e6) with linespoints pt {7 if v == 'percpu' else 6} ps 0.5 "
            f"dt {1 if v == 'percpu' else 2} lc rgb '{colours.get(l, '#000000')}' title '{l} {v}'"
            for l, v in keys) + "\n"
        for key in keys:
            script += "".join(f"{r[4]} {r[6]}\n" for r in rows if r[1] == place and r[2:4] == key)
            script += "e\n"
    subprocess.run(["gnuplot"], input=script, text=True, cwd=out, check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, usage=argparse.SUPPRESS,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--pairs", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--line", help=argparse.SUPPRESS)
    parser.add_argument("--private", type=float, default=16 / 3.84e6 * 1e9, help=argparse.SUPPRESS)
    parser.add_argument("dir", nargs="?", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.check:
        return check()
    if args.pairs:
        return pairs()
    if not args.dir:
        parser.error("which folder? See --help")
    return curves(args)


sys.exit(main())
