#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Turn what the plugin counted into stores to shared lines per I/O.

What is counted, and what is taken for noise:

* A line is shared if every vCPU that ran in the window wrote to it within the
  window. A line that only some of them wrote to is listed apart ("partly"): it
  moves, too, but by chance, such as an object that one CPU freed and another
  one allocated. A line that one vCPU writes and others read is not contended
  (per-CPU statistics that somebody sums up).
* A line of which MOSTLY_READ accesses in a row are loads, on average, before one
  is a store, is not contended, whoever writes it: bd_stamp, that a tick stores
  to, is in a line that every I/O reads some 30 times. Whether all vCPUs happened
  to store to it once would make the loads flip from run to run.
* md's threads are bound to vCPU 0 (see tests/c2c/run.sh). What only raid5d writes
  is not shared then. Were it free, the same lines would be shared if it happened
  to have run on all vCPUs, and partly if on some.
* An access counts for the function whose code did it, inlined callees included.
  The md modules are listed function by function. The rest of the kernel (block
  layer, scheduler, timers) is one figure in the table; functions.tsv has its
  functions. A spinlock or rwlock, md's own too, is taken and released by functions
  of the kernel (_raw_...), two stores in all, and more where it is waited for:
  another column.
* A store is named by the structure member that it writes if three things agree: the
  source statement (the one of the line that addr2line tells, or of one that it was
  inlined into) writes base->member or passes its address on; base is declared there
  as, or is a member that is, a struct with that member; and DWARF (pahole) has the
  member at the displacement in the instruction. If none fits, or more than one, only
  the source line is told: that of &base->member[i], say, whose place is computed.
* Functions with less than 0.005 stores and loads per I/O are summed up as "rest".
* Instructions are counted by translated block, so that a block that was left in
  the middle, by a page fault or an interrupt, counts as a whole.

Usage: c2c-report.py --modules DIR --out DIR SET...
       c2c-report.py --only-shared SET MODULE
       c2c-report.py --members DIR/VARIANT MODULE FUNCTION...
A SET is a folder LEVEL-VARIANT-RW-BITMAP with counts, ios and kallsyms.gz.
"""
import bisect
import collections
import functools
import gzip
import os
import re
import subprocess
import sys

MD = {"md_mod", "raid0", "raid1", "raid10", "raid456", "linear", "dm_raid"}
FEW = 0.005
MOST = 6  # functions in the table
COLOURS = 14  # functions in the plot
MOSTLY_READ = 500
LOCKS = re.compile("_raw_(spin|read|write)_|queued_(spin|read|write)_lock_slowpath")


class Symbols:
    """Function names and modules of the guest's kernel, by address."""

    def __init__(self, path):
        table = []
        with gzip.open(path, "rt", encoding="ascii", errors="replace") as f:
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
        self.level, self.variant, self.rw, self.bitmap = os.path.basename(path).split("-")
        with open(os.path.join(path, "ios"), encoding="ascii") as f:
            self.ios = int(f.read().split()[1])
        self.symbols = Symbols(os.path.join(path, "kallsyms.gz"))
        self.mem = []
        self.lines = collections.defaultdict(lambda: [0, 0])  # stores, loads
        self.insns = collections.Counter()
        with open(os.path.join(path, "counts"), encoding="ascii") as f:
            for line in f:
                word = line.split()
                if word[0] == "lost" and word[1] != "0":
                    sys.exit(f"{path}: the plugin lost {word[1]} events")
                elif word[0] == "vcpus":
                    self.vcpus = int(word[1], 16)
                elif word[0] == "mem":
                    pc, line, stores, loads, writers = (
                        int(w, b) for w, b in zip(word[1:], (16, 16, 10, 10, 16)))
                    self.mem.append((pc, line, stores, loads, writers))
                    self.lines[line][0] += stores
                    self.lines[line][1] += loads
                elif word[0] == "tb":
                    module = self.symbols.find(int(word[1], 16))[2]
                    n = int(word[2]) * int(word[3])
                    self.insns["kernel"] += n
                    if module in MD:
                        self.insns["md"] += n

    def names(self):
        return self.rw, self.level, self.bitmap, self.variant

    def label(self, sets):
        """What tells it from the others, for the plot."""
        all_names = list(zip(*(s.names() for s in sets)))
        return " ".join(n for n, every in zip(self.names(), all_names)
                        if n in (self.level, self.variant) or len(set(every)) > 1)

    def shared(self, wanted):
        """[(pc, line, stores, loads)] per I/O, on lines that all vCPUs, or some, wrote."""
        for pc, line, stores, loads, writers in self.mem:
            all_stores, all_loads = self.lines[line]
            if all_loads > MOSTLY_READ * all_stores:
                continue
            everyone = writers & self.vcpus == self.vcpus
            some = bin(writers).count("1") > 1
            if (everyone and wanted == "all") or (some and not everyone and wanted == "some"):
                yield pc, line, stores / self.ios, loads / self.ios

    def md_lines(self):
        """[(line, stores)] of md per I/O, on lines that all vCPUs wrote."""
        sums = collections.Counter()
        for pc, line, stores, _ in self.shared("all"):
            if self.symbols.find(pc)[2] in MD:
                sums[line] += stores
        return [(line, stores) for line, stores in sums.items() if stores >= FEW]


# What a statement writes: base and member of &base->member, base->member = ...,
# base->member++, WRITE_ONCE(base->member, ...). Not of &base->member[i]: that may be
# anywhere.
PATH = r"(?:\w+@*(?:->|\.))*(\w+)@*(?:->|\.)(\w+)(?![\w@.]|->)"  # @: a subscript
WRITTEN = re.compile(rf"(?:(?<!&)&|\+\+|--|(?:WRITE_ONCE|rcu_assign_pointer)\(){PATH}|"
                     rf"{PATH}\s*(?:(?:[-+*/|&^]|<<|>>)?=(?!=)|\+\+|--)")
BYTES = {"b": 1, "w": 2, "l": 4, "q": 8}
READS = {"cmp", "test", "bt", "call", "jmp", "push"}


@functools.lru_cache(maxsize=None)
def source(path):
    """The lines of a source file, without comments."""
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return [re.sub(r"/\*.*?(\*/|$)|//.*", "", line).strip() for line in f]
    except OSError:
        return []


def written(lines, number):
    """{(base, member)} that the statement at a line writes"""
    def goes_on(i):
        return 0 <= i < len(lines) and re.search(r"[-=+*/,(|&?<>]$", lines[i])

    first = last = number - 1
    while goes_on(first - 1):
        first -= 1
    while goes_on(last):
        last += 1
    text, subscripts = " ".join(lines[first:last + 1]), 1
    while subscripts:
        text, subscripts = re.subn(r"\[[^][]*\]", "@", text)
    return {(a or c, b or d) for a, b, c, d in WRITTEN.findall(text)}


def structs(ko):
    """What pahole reads from DWARF: {(struct, member): [(offset, size)]}, and for
    the name of a member the structs that members of this name are or point to."""
    out = subprocess.run(["pahole", "-F", "dwarf", ko], check=True, capture_output=True, text=True).stdout
    members, types, struct = collections.defaultdict(list), collections.defaultdict(set), None
    for line in out.splitlines():
        line = re.sub(r" __attribute__\(\(.*?\)\)(?=[; ]|$)", "", line)
        m = re.match(r"(?:struct (\w+) \{|\})", line)
        if m:
            struct = m.group(1)
        m = re.match(r"\s+(?:(?:struct (\w+)\b)?.*\W)?(\w+)(?:\[\d*\])*;\s+/\*\s+(\d+)\s+(\d+) \*/", line)
        if m and struct:
            members[(struct, m.group(2))].append((int(m.group(3)), int(m.group(4))))
            if m.group(1):
                types[m.group(2)].add(m.group(1))
    return members, types


def stores(ko):
    """{(section, offset): (displacement, size)} of the instructions that write by way
    of a register"""
    out = subprocess.run(["objdump", "-dr", "--no-show-raw-insn", "-M", "suffix", ko], check=True,
                         capture_output=True, text=True).stdout
    table, section, key = {}, None, None
    for line in out.splitlines():
        m = re.match(r"Disassembly of section (.*):", line)
        if m:
            section = m.group(1)
        elif "R_X86_64_32S" in line:
            table.pop(key, None)  # a variable's address, not a displacement
        m = re.match(r"\s+([0-9a-f]+):\t(?:lock )?(.*)", line)
        if not m:
            continue
        key = (section, int(m.group(1), 16))
        # In AT&T syntax the last operand is what is written.
        m = re.match(r"(\w+)([bwlq])\s+(?:.*,)?(0x[0-9a-f]+)?\((%\w+)[^()]*\)$", m.group(2))
        if m and m.group(1) not in READS and m.group(4) not in ("%rsp", "%rip"):
            table[key] = (int(m.group(3) or "0", 16), BYTES[m.group(2)])
    return table


class Lines:
    """Source lines and structure members of the instructions of one set of modules."""

    def __init__(self, folder):
        self.path = folder
        self.symbols = {}
        self.modules = {}

    def ko(self, module):
        return os.path.join(self.path, module.replace("_", "-") + ".ko")

    def symbol(self, module, name):
        """(section, start, size) of a function within the .ko"""
        if module not in self.symbols:
            table = {}
            out = subprocess.run(["objdump", "-t", self.ko(module)], check=True,
                                 capture_output=True, text=True).stdout
            for line in out.splitlines():
                m = re.match(r"([0-9a-f]+) .{7} (\S+)\s+([0-9a-f]+) (?:\.hidden )?(\S+)$", line)
                if m:
                    table.setdefault(m.group(4), (m.group(2), int(m.group(1), 16),
                                                  int(m.group(3), 16)))
            self.symbols[module] = table
        return self.symbols[module].get(name, (None, 0, 0))

    def details(self, module):
        if module not in self.modules:
            self.modules[module] = (stores(self.ko(module)), *structs(self.ko(module)))
        return self.modules[module]

    def member(self, module, at, chain):
        """struct.member that the instruction writes, or "" if that is not certain"""
        table, members, types = self.details(module)
        if at not in table:
            return ""
        disp, size = table[at]
        fit = set()
        for path, number in chain:
            lines = source(path)
            for base, member in written(lines, number):
                declared = re.findall(rf"\bstruct (\w+) [^;(){{}}=]*\b{base}\b", "\n".join(lines))
                for struct in types[base].union(declared):
                    fit.update(f"{struct}.{member}" for start, length in members[(struct, member)]
                               if start <= disp and disp + size <= start + length)
        return fit.pop() if len(fit) == 1 else ""

    def where(self, module, name, deltas):
        """[(file:line, struct.member)] of a function's instructions; either may be empty"""
        section, start, _ = self.symbol(module, name)
        if not section:
            return [("", "")] * len(deltas)
        out = subprocess.run(["addr2line", "-a", "-i", "-e", self.ko(module), "-j", section,
                              *(hex(start + d) for d in deltas)],
                             check=True, capture_output=True, text=True).stdout
        found = []
        for delta, text in zip(deltas, re.split(r"^0x.*$", out, flags=re.MULTILINE)[1:]):
            chain = [(m.group(1), int(m.group(2)))
                     for m in re.finditer(r"^(.+):(\d+)", text, re.MULTILINE)]
            # The innermost place in md's own files is what a reader looks for.
            own = [f"{os.path.basename(path)}:{number}" for path, number in chain
                   if re.search(r"/(md|raid)[^/]*\.[ch]$", path)]
            found.append((own[0] if own else "", self.member(module, (section, start + delta), chain)))
        return found


def by_function(one):
    functions = collections.defaultdict(lambda: [0.0, 0.0, collections.Counter()])
    other = collections.defaultdict(lambda: [0.0, 0.0])
    for pc, _, stores, loads in one.shared("all"):
        start, name, module = one.symbols.find(pc)
        if module in MD:
            entry = functions[(module, name)]
            entry[0] += stores
            entry[1] += loads
            entry[2][pc - start] += stores
        else:
            other[name][0] += stores
            other[name][1] += loads
    return functions, other


def report(modules, out, sets):
    functions = open(os.path.join(out, "functions.tsv"), "w", encoding="utf-8")
    summary = open(os.path.join(out, "summary.tsv"), "w", encoding="utf-8")
    by_line = open(os.path.join(out, "lines.tsv"), "w", encoding="utf-8")
    table = open(os.path.join(out, "table.md"), "w", encoding="utf-8")
    print("rw\tlevel\tbitmap\tvariant\tline\tmd_stores", file=by_line)
    print("rw\tlevel\tbitmap\tvariant\tmodule\tfunction\tstores\tloads\twhere\tmembers", file=functions)
    print("rw\tlevel\tbitmap\tvariant\tmd_stores\tmd_loads\tmd_partly\tkernel_stores\tkernel_locks\tmd_insns\tkernel_insns",
          file=summary)
    print("| I/O | level | bitmap | variant | md: stores to shared lines | loads | to partly shared lines "
          "| rest of the kernel: stores | of them, to take and release locks | instructions in md | in the kernel "
          "| where (structure member, or else source line) |\n"
          "|" + " --- |" * 12, file=table)
    bars, variants = [], {}
    for one in sets:
        md, other = by_function(one)
        lines = variants.setdefault(one.variant, Lines(os.path.join(modules, one.variant)))
        stores = sum(e[0] for e in md.values())
        loads = sum(e[1] for e in md.values())
        partly = sum(s for pc, _, s, _ in one.shared("some") if one.symbols.find(pc)[2] in MD)
        for line, n in one.md_lines():
            print(*one.names(), f"{line:x}", f"{n:.4f}", sep="\t", file=by_line)
        rows, rest = [], [0.0, 0.0]
        for (module, name), (s, l, pcs) in sorted(md.items(), key=lambda x: (-round(x[1][0], 2), x[0])):
            if s < FEW and l < FEW:
                rest[0] += s
                rest[1] += l
                continue
            places = collections.Counter()
            for place, n in zip(lines.where(module, name, list(pcs)), pcs.values()):
                places[place] += n
            places = sorted(places.items(), key=lambda x: (-round(x[1], 2), x[0]))
            rows.append((module, name, s, l, [p for p in places if p[1] >= FEW]))
        rows.append(("", "rest", rest[0], rest[1], []))
        kernel = sum(e[0] for e in other.values())
        locks = sum(e[0] for name, e in other.items() if LOCKS.match(name))
        others = [("kernel", name, s, l, []) for name, (s, l) in
                  sorted(other.items(), key=lambda x: -x[1][0]) if s >= FEW]
        for row in rows + others:
            print(*one.names(), row[0], row[1], f"{row[2]:.4f}", f"{row[3]:.4f}",
                  ", ".join(f"{line or '?'} {n:.2f}" for (line, _), n in row[4]),
                  ", ".join(f"{member or '?'} {n:.2f}" for (_, member), n in row[4]),
                  sep="\t", file=functions)
        print(*one.names(), f"{stores:.4f}", f"{loads:.4f}", f"{partly:.4f}",
              f"{kernel:.4f}", f"{locks:.4f}", f"{one.insns['md'] / one.ios:.1f}",
              f"{one.insns['kernel'] / one.ios:.1f}", sep="\t", file=summary)
        top = [f"{name} {s:.2f}{brief(places)}" for _, name, s, _, places in rows if s >= FEW]
        where = ", ".join(top[:MOST])
        if len(top) > MOST:
            where += f", and {len(top) - MOST} more in functions.tsv"
        print(f"| {' | '.join(one.names())} | {stores:.2f} | {loads:.2f} | {partly:.2f} | "
              f"{kernel:.2f} | {locks:.2f} | {one.insns['md'] / one.ios:.0f} | "
              f"{one.insns['kernel'] / one.ios:.0f} | {where} |", file=table)
        bars.append((one.label(sets), [(n, s) for _, n, s, _, _ in rows if s >= FEW]))
    for f in (functions, summary, by_line, table):
        f.close()
    plot(out, bars)


def brief(places):
    """" (member or line COUNT, ...)", for the table"""
    sums = collections.Counter()
    for (line, member), n in places:
        sums[member or line or "?"] += n
    parts = [what if len(sums) == 1 else f"{what} {n:.2f}" for what, n in sums.most_common(MOST)]
    if len(sums) > MOST:
        parts.append(f"{len(sums) - MOST} more")
    return f" ({', '.join(parts)})" if parts else ""


def plot(out, bars):
    """One bar a level and variant, split by function."""
    total = collections.Counter()
    for _, parts in bars:
        total.update(dict(parts))
    names = [n for n, _ in total.most_common(COLOURS)] + ["others"] * (len(total) > COLOURS)
    names = names or ["nothing"]
    with open(os.path.join(out, "bars.tsv"), "w", encoding="utf-8") as f:
        for label, parts in bars:
            value = dict(parts)
            value["others"] = sum(n for name, n in parts if name not in names)
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


def members(folder, module, functions):
    """Member and source line, with its text, of each store of functions; for a test."""
    lines = Lines(folder)
    for name in functions:
        section, start, size = lines.symbol(module, name)
        deltas = [d for d in range(size) if (section, start + d) in lines.details(module)[0]]
        for line, member in lines.where(module, name, deltas):
            file, _, number = line.partition(":")
            text = source(os.path.join(folder, file))[int(number) - 1] if number else ""
            print(module, name, member or "?", line or "?", text)


def main(argv):
    if len(argv) == 3 and argv[0] == "--only-shared":
        one = Set(argv[1])
        print(f"{sum(s for pc, _, s, _ in one.shared('all') if one.symbols.find(pc)[2] == argv[2]):.3f}")
    elif len(argv) >= 4 and argv[0] == "--members":
        members(argv[1], argv[2], argv[3:])
    elif len(argv) >= 5 and argv[0] == "--modules" and argv[2] == "--out":
        report(argv[1], argv[3], [Set(path) for path in argv[4:]])
    else:
        sys.exit(__doc__)


main(sys.argv[1:])
