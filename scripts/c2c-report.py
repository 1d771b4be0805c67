#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Turn what the plugin counted into stores to shared lines per I/O.

What is counted, and what is taken for noise:

* A line is shared if every vCPU that ran in the window wrote to it within the
  window. A line that only some of them wrote to is listed apart ("partly"): it
  moves, too, but by chance, such as an object that one CPU freed and another
  one allocated. A line that one vCPU writes and others read is not contended
  (per-CPU statistics that somebody sums up).
* An access counts for the function whose code did it, inlined callees included.
  The md modules are listed function by function; the rest of the kernel (block
  layer, scheduler, timers) is one figure, since it is the same in both variants
  and depends on what else the guest does.
* Functions with less than 0.005 stores and loads per I/O are summed up as "rest".
* Instructions are counted by translated block, so that a block that was left in
  the middle, by a page fault or an interrupt, counts as a whole.

Usage: c2c-report.py --modules DIR --out DIR SET...
       c2c-report.py --only-shared SET MODULE
A SET is a folder LEVEL-VARIANT with counts, results/ios and results/kallsyms.
"""
import bisect
import collections
import os
import re
import subprocess
import sys

MD = {"md_mod", "raid0", "raid1", "raid10", "raid456", "linear", "dm_raid"}
FEW = 0.005
MOST = 6  # functions in the table


class Symbols:
    """Function names and modules of the guest's kernel, by address."""

    def __init__(self, path):
        table = []
        with open(path, encoding="ascii", errors="replace") as f:
            for line in f:
                part = line.split()
                if len(part) >= 3 and part[1] in "tTwW":
                    module = part[3].strip("[]") if len(part) > 3 else ""
                    table.append((int(part[0], 16), part[2], module))
        table.sort()
        if not table or table[-1][0] == 0:
            sys.exit(f"{path}: no addresses (kptr_restrict?)")
        self.table = table
        self.starts = [t[0] for t in table]

    def find(self, address):
        i = bisect.bisect_right(self.starts, address) - 1
        return self.table[i] if i >= 0 else (0, "?", "")


class Set:
    """The counts of one window."""

    def __init__(self, path):
        self.level, self.variant = os.path.basename(path).rsplit("-", 1)
        with open(os.path.join(path, "results/ios"), encoding="ascii") as f:
            self.ios = int(f.read().split()[1])
        self.symbols = Symbols(os.path.join(path, "results/kallsyms"))
        self.mem = []
        self.insns = collections.Counter()
        with open(os.path.join(path, "counts"), encoding="ascii") as f:
            for line in f:
                word = line.split()
                if word[0] == "lost" and word[1] != "0":
                    sys.exit(f"{path}: the plugin lost {word[1]} events")
                elif word[0] == "vcpus":
                    self.vcpus = int(word[1], 16)
                elif word[0] == "mem":
                    self.mem.append((int(word[1], 16), int(word[3]), int(word[4]),
                                     int(word[5], 16)))
                elif word[0] == "tb":
                    module = self.symbols.find(int(word[1], 16))[2]
                    n = int(word[2]) * int(word[3])
                    self.insns["kernel"] += n
                    if module in MD:
                        self.insns["md"] += n

    def shared(self, wanted):
        """[(pc, stores, loads)] per I/O, on lines that all vCPUs, or some, wrote."""
        for pc, stores, loads, writers in self.mem:
            everyone = writers & self.vcpus == self.vcpus
            some = bin(writers).count("1") > 1
            if (everyone and wanted == "all") or (some and not everyone and wanted == "some"):
                yield pc, stores / self.ios, loads / self.ios


class Lines:
    """Source lines and structure members of an instruction of a module."""

    def __init__(self, modules, variant):
        self.path = os.path.join(modules, variant)
        self.symbols = {}
        self.cache = {}

    def ko(self, module):
        return os.path.join(self.path, module.replace("_", "-") + ".ko")

    def offset(self, module, name, delta):
        """(section, offset) of a function's instruction within the .ko."""
        if module not in self.symbols:
            table = {}
            out = subprocess.run(["objdump", "-t", self.ko(module)], check=True,
                                 capture_output=True, text=True).stdout
            for line in out.splitlines():
                m = re.match(r"([0-9a-f]+) .{7} (\S+)\s+[0-9a-f]+ (?:\.hidden )?(\S+)$", line)
                if m:
                    table.setdefault(m.group(3), (m.group(2), int(m.group(1), 16)))
            self.symbols[module] = table
        section, start = self.symbols[module].get(name, (None, 0))
        return section, start + delta

    def where(self, module, name, delta):
        """file:line of the innermost source line, and the chain of inlining."""
        key = (module, name, delta)
        if key not in self.cache:
            section, offset = self.offset(module, name, delta)
            text = "?"
            if section:
                out = subprocess.run(["addr2line", "-i", "-e", self.ko(module), "-j", section,
                                      hex(offset)], capture_output=True, text=True).stdout
                # The outermost place in md's own files is what a reader looks for.
                own = [os.path.basename(l.split(" ")[0]) for l in out.splitlines()
                       if re.search(r"/(md|raid)[^/]*\.[ch]:\d+", l)]
                text = own[0] if own else "?"
            self.cache[key] = text
        return self.cache[key]


def by_function(one):
    functions = collections.defaultdict(lambda: [0.0, 0.0, collections.Counter()])
    other = [0.0, 0.0]
    for pc, stores, loads in one.shared("all"):
        start, name, module = one.symbols.find(pc)
        if module in MD:
            entry = functions[(module, name)]
            entry[0] += stores
            entry[1] += loads
            entry[2][pc - start] += stores
        else:
            other[0] += stores
            other[1] += loads
    return functions, other


def report(modules, out, sets):
    functions = open(os.path.join(out, "functions.tsv"), "w", encoding="utf-8")
    summary = open(os.path.join(out, "summary.tsv"), "w", encoding="utf-8")
    table = open(os.path.join(out, "table.md"), "w", encoding="utf-8")
    print("level\tvariant\tmodule\tfunction\tstores\tloads\twhere", file=functions)
    print("level\tvariant\tmd_stores\tmd_loads\tmd_partly\tkernel_stores\tmd_insns\tkernel_insns",
          file=summary)
    print("| level | variant | md: stores to shared lines | loads | to partly shared lines "
          "| rest of the kernel: stores | instructions in md | in the kernel | where |\n"
          "| --- | --- | --- | --- | --- | --- | --- | --- | --- |", file=table)
    bars = []
    for one in sets:
        md, other = by_function(one)
        lines = Lines(modules, one.variant)
        stores = sum(e[0] for e in md.values())
        loads = sum(e[1] for e in md.values())
        partly = sum(s for pc, s, _ in one.shared("some") if one.symbols.find(pc)[2] in MD)
        rows, rest = [], [0.0, 0.0]
        for (module, name), (s, l, pcs) in sorted(md.items(), key=lambda x: -x[1][0]):
            if s < FEW and l < FEW:
                rest[0] += s
                rest[1] += l
                continue
            places = [f"{lines.where(module, name, d)} {n:.2f}"
                      for d, n in pcs.most_common() if n >= FEW]
            rows.append((module, name, s, l, ", ".join(places)))
        rows.append(("", "rest", rest[0], rest[1], ""))
        for row in rows:
            print(one.level, one.variant, row[0], row[1], f"{row[2]:.4f}", f"{row[3]:.4f}",
                  row[4], sep="\t", file=functions)
        print(one.level, one.variant, f"{stores:.4f}", f"{loads:.4f}", f"{partly:.4f}",
              f"{other[0]:.4f}", f"{one.insns['md'] / one.ios:.1f}",
              f"{one.insns['kernel'] / one.ios:.1f}", sep="\t", file=summary)
        top = [f"{name} {s:.2f}" for _, name, s, _, _ in rows if s >= FEW]
        where = ", ".join(top[:MOST])
        if len(top) > MOST:
            where += f", and {len(top) - MOST} more in functions.tsv"
        print(f"| {one.level} | {one.variant} | {stores:.2f} | {loads:.2f} | {partly:.2f} | "
              f"{other[0]:.2f} | {one.insns['md'] / one.ios:.0f} | "
              f"{one.insns['kernel'] / one.ios:.0f} | {where} |", file=table)
        bars.append((f"{one.level} {one.variant}", [(n, s) for _, n, s, _, _ in rows if s >= FEW]))
    for f in (functions, summary, table):
        f.close()
    plot(out, bars)


def plot(out, bars):
    """One bar a level and variant, split by function."""
    names = []
    for _, parts in bars:
        names += [n for n, _ in parts if n not in names]
    names = names or ["nothing"]
    with open(os.path.join(out, "bars.tsv"), "w", encoding="utf-8") as f:
        for label, parts in bars:
            value = dict(parts)
            print(label, *(f"{value.get(n, 0):.4f}" for n in names), sep="\t", file=f)
    columns = ", ".join(
        f"'bars.tsv' using {i + 2}{':xtic(1)' if i == 0 else ''} title '{n}' noenhanced"
        for i, n in enumerate(names))
    script = f"""
set terminal svg size 860,480 font "sans,13" background "white"
set output "c2c.svg"
set datafile separator tab
set style data histogram
set style histogram rowstacked
set style fill solid 0.85 border -1
set boxwidth 0.7
set yrange [0:*]
set grid ytics lc rgb "#cccccc"
set xtics rotate by -35
set ylabel "stores per I/O to lines that every CPU writes"
set key outside right
plot {columns}
"""
    subprocess.run(["gnuplot"], input=script, text=True, cwd=out, check=True)


def main(argv):
    if len(argv) == 3 and argv[0] == "--only-shared":
        one = Set(argv[1])
        print(f"{sum(s for pc, s, _ in one.shared('all') if one.symbols.find(pc)[2] == argv[2]):.3f}")
    elif len(argv) >= 5 and argv[0] == "--modules" and argv[2] == "--out":
        report(argv[1], argv[3], [Set(path) for path in argv[4:]])
    else:
        sys.exit(__doc__)


main(sys.argv[1:])
