/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The end of each sentence about an input that breaks a rule of CTF: where the rule stands, so that
 * the author of a tracer can read it. Each of these is a string literal, for the end of a format.
 * For tsdl/, ctf2/ and import/.
 */
#ifndef TRACER_FORMAT_TSDL_SECTION_H
#define TRACER_FORMAT_TSDL_SECTION_H

/* The rule of the specification, 1.8.3. section: its number there, as "4.2.3". */
#define IN_CTF(section) " (CTF 1.8.3, section " section ")"
/* A rule that only the proposal, 1.6, has. Its numbers differ from those of 1.8.3. */
#define IN_PROPOSAL(section) " (CTF proposal 1.6, section " section ")"
/* The rule of CTF2-SPEC-2.0. */
#define IN_CTF2(section) " (CTF 2, section " section ")"
/* A sentence about an input of either version, with the section of its own. */
#define IN_EITHER(is_ctf2, text, section, section2)                                               \
	((is_ctf2) ? text IN_CTF2(section2) : text IN_CTF(section))
/* CTF sets no limit here; trailfs does, because an input is hostile. */
#define OWN_LIMIT " (a limit of trailfs; CTF 1.8.3 has none)"
#define OWN_LIMIT2 " (a limit of trailfs; CTF 2 has none)"

#endif
