/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Included into each object of the percpu module set by Kbuild, never mailed:
 * MODULE_IMPORT_NS("MD_PERCPU"), without the headers that it would pull in
 * ahead of the file's own.
 */
#ifndef __GENKSYMS__
__asm__(".pushsection .modinfo, \"a\"\n"
	".asciz \"import_ns=MD_PERCPU\"\n"
	".popsection");
#endif
