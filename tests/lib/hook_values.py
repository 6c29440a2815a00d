# SPDX-License-Identifier: GPL-2.0-or-later
"""hook_values.py GROUPS LINES PID FIRED <CALLS: whether hooks that were fired have their values.

GROUPS: available/kernel/groups: `HOOK TIME -` is a hook that this kernel does not record, and is left
out. LINES: what export/lket.txt has. CALLS: lines `HOOK FIELDS`, FIELDS as a basic regular expression.
Records of system calls and signals must be of the process PID. Writes lines `HOOK v` to FIRED, with
`f` in place of `v` where no value is known, and prints a line for each hook that has no such record.

One program, because a guest takes minutes to run a grep for each hook.
"""
import collections
import re
import sys

groups, lines, pid, fired = sys.argv[1:]


def expression(basic):
    """The same expression as Python writes it, where the special ones of ( ) | have no backslash."""
    return re.sub(r"\\?[(){}?+|]", lambda m: m.group()[1:] or "\\" + m.group(), basic)


def owner(hook):
    """The beginning of a record of this hook."""
    if hook.startswith(("iosyscall.", "aio.", "signal.")) and not hook.startswith("signal.flush."):
        return " TID:%s, PID:%s, .*" % (pid, pid)
    return ""


records = collections.defaultdict(list)
with open(lines, errors="replace") as file:
    for line in file:
        name = re.search(r" EVT_NAME:(\S*)", line)
        if name:
            records[name.group(1)].append(line.rstrip("\n"))
with open(groups) as file:
    absent = {words[0] for words in map(str.split, file) if len(words) > 2 and words[2] == "-"}
with open(fired, "w") as out:
    for call in sys.stdin:
        hook, _, fields = call.rstrip("\n").partition(" ")
        fields = fields.strip()
        if hook in absent:
            continue
        wanted = re.compile("%s EVT_NAME:%s .*%s" % (owner(hook), re.escape(hook), expression(fields)))
        if any(wanted.search(record) for record in records[hook]):
            # (The address of a probe's function is none.)
            values = re.sub(r"^ip:.*?\),", "", fields)
            out.write("%s %s\n" % (hook, "v" if values else "f"))
        else:
            print("%s: nothing has '%s': %s" % (hook, fields, (records[hook] or ["no record"])[0]))
