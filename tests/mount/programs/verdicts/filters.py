#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
filters.py DIR COUNT SEED: random filters, one for each of the events verdict:e0, verdict:e1, …:

    DIR/filters     the expressions, one a line
    DIR/rules       the events and expressions as rules of a channel
    DIR/session     the same as a session of LTTng, for `lttng load`
    DIR/events.h    the events: instances of the class of verdicts/provider.h
    DIR/hits.h      a call of each

The filters are of the language that LTTng 2.13 and trailfs share, without what is known to differ
(docs/lttng-commands.md): fields that an event lacks; order of numbers of 2^63 and more; floating
point numbers as operands of && || !; results of bit operators as such, and beside floating point
numbers; comparisons of `a && b` where b is not 1 or 0, and of comparisons of floating point
numbers; a negative constant as a condition.
"""
import os
import random
import sys
from xml.sax.saxutils import escape

INTEGERS = ["n", "s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64", "be16", "be32", "kind",
            "hidden", "list[0]", "list[3]", "many[0]"]
SMALL = ["n", "u8", "u16", "be16"]
FLOATS = ["f32", "f64"]
STRINGS = ["word", "text", "tail", "$ctx.procname"]
WORDS = ["", "a", "ab", "abc", "b*", "*c", "a*c", "*", "a\\\\*c", "*b*", "ab*", "bc", "x", "verdict",
         "ver*ict", "*\\\\**", "a*b*c"]
SESSION = """<?xml version="1.0" encoding="UTF-8"?>
<sessions><session><name>compat</name><domains><domain><type>UST</type>
<buffer_type>PER_UID</buffer_type><channels><channel><name>ch</name><enabled>true</enabled>
<overwrite_mode>DISCARD</overwrite_mode><subbuffer_size>1048576</subbuffer_size>
<subbuffer_count>8</subbuffer_count><switch_timer_interval>0</switch_timer_interval>
<read_timer_interval>0</read_timer_interval><output_type>MMAP</output_type>
<blocking_timeout>0</blocking_timeout><monitor_timer_interval>0</monitor_timer_interval>
<tracefile_size>0</tracefile_size><tracefile_count>0</tracefile_count>
<live_timer_interval>0</live_timer_interval>
<events>%s</events><contexts/></channel></channels>
<process_attr_trackers/></domain></domains><started>false</started>
<output><consumer_output><enabled>true</enabled><destination><path>%s/trace</path></destination>
</consumer_output></output></session></sessions>
"""
# Of processes only what is the same in each run
CONTEXTS = ["$ctx.vpid == $ctx.vtid", "$ctx.vtid < $ctx.vpid", "$ctx.vpid > 0"]
BITS = ["(1 << 63) == 9223372036854775808", "~0 == 0xffffffffffffffff", "~u8 == -1",
        "(1 << 63) < 0", "(s8 | 0) != 0xfffffffffffffffe", "(n & 1) != -1"]
COMPARED = ["==", "!=", "<", "<=", ">", ">="]
pick = random.choice


def constant():
    v = pick([0, 1, 2, 3, 7, 8, 100, 127, 128, 200, 255, 256, 32767, 65535, 65536, 2147483647,
              2147483648, 4294967295, 1 << 40, (1 << 63) - 1, random.randrange(300)])
    return pick(["%d", "%d", "0x%x", "0%o"]) % v


def bits():
    """The result of a bit operator."""
    what = random.randrange(8)
    if what == 0:
        return "~%s" % pick(INTEGERS)
    if what == 1:
        return "((%s) %s (%s))" % (boolean(0, False), pick("&|^"), boolean(0, False))
    if what < 4:
        return "%s << %s" % (pick(SMALL), pick(["0", "1", "7", "40", "n", "64"]))
    if what < 6:
        return "%s >> %s" % (pick(["u64", "u32", "n", "s64", "s8"]), pick(["1", "5", "63", "n"]))
    return "(%s %s %s)" % (pick(INTEGERS), pick("&|^"), constant())


def integer():
    what = random.randrange(7)
    if what < 4:
        return pick(INTEGERS)
    if what == 4:
        return "-" + pick(SMALL + ["%d" % random.randrange(300)])
    return constant()


def number(floats):
    return integer() if not floats or random.randrange(3) else pick(
        FLOATS + ["%d.%d" % (random.randrange(9), random.randrange(9)), "2e1"])


def comparison(floats):
    what = random.randrange(7)
    if what == 6:
        return pick(CONTEXTS)
    if what < 2:
        sides = [pick(STRINGS), '"%s"' % pick(WORDS)]
        if random.randrange(5) == 0:
            sides[1] = pick(STRINGS)
        elif random.randrange(5) == 0:
            sides.reverse()
        return "%s %s %s" % (sides[0], pick(COMPARED[:2]), sides[1])
    if what == 2:
        return "%s %s %s" % (bits(), pick(COMPARED[:2]), pick([integer, bits])())
    return "%s %s %s" % (number(floats), pick(COMPARED), number(floats))


def boolean(depth, floats=True):
    """1 or 0."""
    what = random.randrange(8) if depth else 0
    if what < 2:
        return comparison(floats)
    if what == 2:
        return "!(%s)" % condition(depth - 1, floats)
    if what == 3:
        return "(%s) %s (%s)" % (boolean(depth - 1, False), pick(COMPARED),
                                 boolean(depth - 1, False))
    return ("%s %s %s" if what < 6 else "(%s) %s (%s)") % (
        boolean(depth - 1, floats), pick(["&&", "||"]), boolean(depth - 1, floats))


def condition(depth, floats=True):
    what = random.randrange(8)
    if what == 0:
        return pick(INTEGERS + [constant()])
    if what == 1 and depth:
        return "(%s) %s (%s)" % (condition(depth - 1, floats), pick(["&&", "||"]),
                                 condition(depth - 1, floats))
    return boolean(depth, floats)


def write(name, text):
    with open("%s/%s" % (sys.argv[1], name), "w") as f:
        f.write(text)


def main():
    count = int(sys.argv[2])
    random.seed(int(sys.argv[3]))
    filters = BITS + [condition(3) for _ in range(count - len(BITS))]
    events = "".join(
        "<event><name>verdict:e%d</name><enabled>true</enabled><type>TRACEPOINT</type>"
        "<loglevel_type>ALL</loglevel_type><filter>%s</filter></event>\n" % (k, escape(f))
        for k, f in enumerate(filters))
    write("filters", "".join(f + "\n" for f in filters))
    write("rules", "".join("verdict:e%d if %s\n" % kf for kf in enumerate(filters)))
    write("events.h", "".join("VERDICT(e%d)\n" % k for k in range(len(filters))))
    write("hits.h", "".join("HIT(e%d)\n" % k for k in range(len(filters))))
    write("session", SESSION % (events, os.path.abspath(sys.argv[1])))


main()
