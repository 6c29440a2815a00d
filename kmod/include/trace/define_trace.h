/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stands in front of the kernel's, which trace headers include at their end. They are read with
 * CREATE_TRACE_POINTS for the helper functions that some have under it; the tracepoints are the
 * kernel's own, and are not defined again.
 */
#undef CREATE_TRACE_POINTS
