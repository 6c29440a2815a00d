/* SPDX-License-Identifier: MIT */
/* Nothing is configured here; programs include it. */
