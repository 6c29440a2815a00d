#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Traces of CTF whose last event ends inside a byte: what babeltrace2 reads without an error, the
# session shows as well. A content_size that is no end of an event is an error, and each sentence
# about a packet names the section of one version of CTF.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/traces.sh"

write_traces <<'END'
def odd(name, context, header, data, bits=5):
    trace(name, TYPES + "trace { major = 1; minor = 8; byte_order = le; };\nstream {" +
          ("packet.context := struct { %s };" % context if context else "") +
          ("event.header := struct { %s };" % header if header else "") + "};\n" +
          "event { name = ev; id = 0; fields := struct { integer { size = %d; } a; }; };" % bits,
          s0=data)

both, size, content = "uint16_t packet_size, content_size;", "uint16_t packet_size;", "uint16_t content_size;"
id = "uint8_t id;"
odd("content", both, "", struct.pack("<HH", 48, 32 + 15) + b"\x21\x04")
odd("content_header", both, id, struct.pack("<HH", 64, 32 + 29) + b"\0\x01\0\x02")
odd("two_packets", both, id, struct.pack("<HH", 64, 32 + 29) + b"\0\x01\0\x02" +
    struct.pack("<HH", 48, 32 + 13) + b"\0\x03")
odd("size", size, "", struct.pack("<H", 32) + b"\x21\x04")
odd("size_header", size, id, struct.pack("<H", 48) + b"\0\x01\0\x04")
odd("size_two", size, id, (struct.pack("<H", 48) + b"\0\x01\0\x04") * 2)
odd("nothing", "", "", b"\x21\x04")
odd("nothing_header", "", id, b"\0\x01\0\x02\0\x03")
odd("one", "", "", b"\x21\x04", bits=13)
odd("only_content", content, "", struct.pack("<H", 16 + 15) + b"\x21\x04")
# These end before the content does.
odd("short", both, "", struct.pack("<HH", 48, 32 + 16) + b"\x21\x04")
odd("short_header", "", id, b"\0\x01\0")
odd("no_bytes", size, "", struct.pack("<H", 31) + b"\x21\x04")
END

# shows TRACE VALUE...: events with these values, as babeltrace2 has them, if it can read the trace
shows() {
	s=$S/$1
	mkdir "$s"
	put "$work/$1" "$s/input"
	t=$1
	shift
	is "text of $t" "$(printf 'ev: { a = %s }\n' "$@")" "$(cat "$s/text")"
	is "events of $t" $# "$(awk '$3 == "*" { n += $4 } END { print n }' "$s/counts")"
	! command -v babeltrace2 >/dev/null || ! babeltrace2 "$work/$t" >"$work/bt" 2>/dev/null ||
		is "babeltrace2 of $t" "$(cat "$s/text")" "$(cat "$work/bt")"
}
shows content 1 1 1
shows content_header 1 2
shows two_packets 1 2 3
shows size 1 1 1
shows size_header 1 4
shows size_two 1 4 1 4
shows nothing 1 1 1
shows nothing_header 1 2 3
shows one 1057
shows only_content 1 1 1
for t in short short_header; do
	mkdir "$S/$t"
	put "$work/$t" "$S/$t/input"
	! cat "$S/$t/text" >/dev/null 2>&1 || fail "$t has no mistake"
	has "$(cat "$S/$t/error")" 'an event ends after the content of its packet (CTF 1.8.3, section 5.2)$'
done
mkdir "$S/bad"
! echo "$work/no_bytes" 2>/dev/null >"$S/bad/input" || fail "no_bytes is accepted"
has "$(cat "$S/bad/error")" 'found packet_size 31, content_size 31 (CTF 1.8.3, section 5.2)$'
! cat "$S"/*/error | grep 'CTF 1.8.3.*CTF 2,' || fail "a sentence with two sections"
echo "$checks checks"
