# SPDX-License-Identifier: GPL-2.0-or-later
"""Usage: python3 stack_trace.py DIRECTORY HOST PID records|none [PATH=BUILD_ID]… <what frames prints

Writes a CTF trace in which the process PID of HOST has each of the stacks twice; with `records`,
as a program has them that was loaded with a state dump: what it maps comes after the stacks.
"""
import os
import struct
import sys
import time

directory, host, pid, records = sys.argv[1:5]
ids = dict(a.rsplit("=", 1) for a in sys.argv[5:])
lines = sys.stdin.read().split("\n")
stacks = [line.split() for line in lines[: lines.index("maps")]]
files = {}
for line in lines[lines.index("maps") + 1 : lines.index("end")]:
    words = line.split(None, 5)
    if len(words) == 6 and words[5].startswith("/"):
        begin, end = (int(x, 16) for x in words[0].split("-"))
        first, last = files.get(words[5], (begin, end))
        files[words[5]] = min(first, begin), max(last, end)

events = b""
now = time.time_ns()


def add(number, payload, stack=()):
    global events, now
    now += 1000
    events += struct.pack("<IQiI", number, now, int(pid), len(stack))
    events += b"".join(struct.pack("<Q", a) for a in stack) + payload


for _ in range(2):
    for name, *stack in stacks:
        add(0, name.encode() + b"\0", [int(a, 16) for a in stack])
if records == "records":
    for path, (first, last) in files.items():
        known = ids.get(path, "")
        add(1, struct.pack("<QQ", first, last - first) + path.encode() + b"\0\1\1\0")
        if known:
            known = bytes.fromhex(known)
            add(2, struct.pack("<QQ", first, len(known)) + known)

os.makedirs(directory)
with open(directory + "/metadata", "w") as f:
    f.write(
        """/* CTF 1.8 */
typealias integer { size = 8; align = 8; } := uint8_t;
typealias integer { size = 32; align = 8; } := uint32_t;
typealias integer { size = 64; align = 8; base = hex; } := uint64_t;
trace { major = 1; minor = 8; byte_order = le;
	packet.header := struct { uint32_t magic; uint32_t stream_id; }; };
env { hostname = "%s"; };
clock { name = wall; freq = 1000000000; };
stream { id = 0;
	packet.context := struct { uint32_t packet_size, content_size; };
	event.header := struct { uint32_t id;
		integer { size = 64; align = 8; map = clock.wall.value; } timestamp; };
	event.context := struct { integer { size = 32; align = 8; signed = true; } _vpid;
		uint32_t __callstack_user_length;
		uint64_t _callstack_user[__callstack_user_length]; };
};
event { name = "sample"; id = 0; stream_id = 0; fields := struct { string _chain; }; };
event { name = "lttng_ust_statedump:bin_info"; id = 1; stream_id = 0; fields := struct {
	uint64_t _baddr; uint64_t _memsz; string _path;
	uint8_t _is_pic; uint8_t _has_build_id; uint8_t _has_debug_link; }; };
event { name = "lttng_ust_statedump:build_id"; id = 2; stream_id = 0; fields := struct {
	uint64_t _baddr; uint64_t __build_id_length; uint8_t _build_id[__build_id_length]; }; };
"""
        % host
    )
size = 8 * (16 + len(events))
with open(directory + "/data", "wb") as f:
    f.write(struct.pack("<IIII", 0xC1FC1FC1, 0, size, size) + events)
