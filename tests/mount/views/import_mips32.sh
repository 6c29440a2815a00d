#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A kernel trace of a 32-bit big-endian machine that has no unaligned access, as LTTng 2.5 records
# system calls on MIPS32: longs and pointers of 32 bits, and each integer at a multiple of its size.
# The bytes are written here; babeltrace2 prints the same text.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/traces.sh"

write_traces <<'END'
def integer(bits, more=""):
    return "integer { size = %d; align = %d; signed = %s }" % (bits, bits, more or "false;")

METADATA = "".join("typealias %s := %s;\n" % (integer(bits), name) for bits, name in (
    (8, "uint8_t"), (16, "uint16_t"), (32, "uint32_t"), (64, "uint64_t"), (32, "unsigned long"))) + """
typealias integer { size = 5; align = 1; signed = false; } := uint5_t;
trace {
	major = 1; minor = 8; uuid = "%s"; byte_order = be;
	packet.header := struct { uint32_t magic; uint8_t uuid[16]; uint32_t stream_id; };
};
env {
	hostname = "mips"; domain = "kernel"; sysname = "Linux"; kernel_release = "3.14.0";
	tracer_name = "lttng-modules"; tracer_major = 2; tracer_minor = 5; tracer_patchlevel = 0;
};
clock { name = monotonic; freq = 1000000000; offset = 0; };
typealias integer { size = 27; align = 1; signed = false; map = clock.monotonic.value; }
	:= uint27_clock_t;
typealias integer { size = 64; align = 64; signed = false; map = clock.monotonic.value; }
	:= uint64_clock_t;
struct packet_context {
	uint64_clock_t timestamp_begin; uint64_clock_t timestamp_end;
	uint64_t content_size; uint64_t packet_size;
	unsigned long events_discarded; uint32_t cpu_id;
};
struct event_header_compact {
	enum : uint5_t { compact = 0 ... 30, extended = 31 } id;
	variant <id> {
		struct { uint27_clock_t timestamp; } compact;
		struct { uint32_t id; uint64_clock_t timestamp; } extended;
	} v;
} align(32);
stream {
	id = 0;
	event.header := struct event_header_compact;
	packet.context := struct packet_context;
};
""" % UUID + "".join("event { name = %s; id = %d; stream_id = 0; fields := struct { %s }; };\n" % e
                     for e in (
    ("sys_read", 1, "uint32_t _fd; %s _buf; uint32_t _count;" % integer(32, "0; base = 16;")),
    ("sys_pread64", 2, "uint32_t _fd; uint32_t _count; %s _pos;" % integer(64, "1;")),
    ("sys_open", 3, "string _filename; %s _flags; %s _mode;" % (integer(32, "1;"),
                                                             integer(16))),
    ("exit_syscall", 40, "%s _ret;" % integer(32, "1;"))))

class Packet:
    """Values at multiples of their sizes, from the start of the packet."""
    def __init__(self):
        self.data = bytearray()
    def put(self, form, *values):
        for f, v in zip(form, values):
            if f == "s":
                self.data += v.encode() + b"\0"
                continue
            size = struct.calcsize(">" + f)
            self.data += bytes(-len(self.data) % size) + struct.pack(">" + f, v)
    def event(self, number, time, form, *values):
        if number < 31:
            self.put("I", number << 27 | time)
        else:
            self.put("I", 31 << 27)
            del self.data[-3:]
            self.data += bytes(-len(self.data) % 8)     # the structure has a member of 64 bits
            self.put("IQ", number, time)
        self.put(form, *values)

p = Packet()
p.put("I", 0xC1FC1FC1)
p.data += UUID.bytes
p.put("IQQQQII", 0, 1000, 9000, 0, 0, 0, 1)
p.event(1, 1001, "III", 3, 0x7ffe1000, 512)
p.event(40, 1002, "i", 512)
p.event(2, 1003, "IIq", 3, 16, -(2**40))
p.event(40, 1004, "i", -22)
p.event(3, 1005, "siH", "/etc/passwd", -100, 0o644)
size = 8 * len(p.data)
p.data[40:56] = struct.pack(">QQ", size, size)
trace("mips", METADATA, channel0_0=bytes(p.data))
END

s=$S/m
mkdir "$s"
put "$work/mips" "$s/input"
want=$(cat <<'END'
[00:00:00.000001001] (+?.?????????) mips sys_read: { cpu_id = 1 }, { fd = 3, buf = 0x7FFE1000, count = 512 }
[00:00:00.000001002] (+0.000000001) mips exit_syscall: { cpu_id = 1 }, { ret = 512 }
[00:00:00.000001003] (+0.000000001) mips sys_pread64: { cpu_id = 1 }, { fd = 3, count = 16, pos = -1099511627776 }
[00:00:00.000001004] (+0.000000001) mips exit_syscall: { cpu_id = 1 }, { ret = -22 }
[00:00:00.000001005] (+0.000000001) mips sys_open: { cpu_id = 1 }, { filename = "/etc/passwd", flags = -100, mode = 420 }
END
)
is "calls of MIPS32" "$want" "$(cat "$s/text")"
! command -v babeltrace2 >/dev/null ||
	is "as babeltrace2" "$want" "$(babeltrace2 --clock-gmt "$work/mips" 2>"$work/bt.err")"
has "$(cat "$s/status")" 'CTF 1.8'
has "$(cat "$s/export/json")" '"pos":-1099511627776'
echo "$checks checks"
