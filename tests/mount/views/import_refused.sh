#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Each sentence about a trace that breaks a rule of CTF names the section of CTF 1.8.3 that has the
# rule, that of the proposal (1.6) if only that has it, or says that the limit is trailfs's own. The
# table has bad metadata or a bad packet and the section that it breaks, as read in the documents.
. "$(dirname "$0")/../../lib/mount.sh"
command -v python3 >/dev/null || skip "there is no python3"
mount_tree -o tz=UTC

PYTHONPATH=$top/tests/lib python3 -B - "$work" >"$work/rows" <<'END' || fail "no traces were written"
from ctf_trace import *

n = 0
def row(section, words, metadata, stream=b"\1", how="open"):
    """A trace that is refused when it is opened, or when its events are read."""
    global n
    n += 1
    trace("t%d" % n, metadata, s0=stream)
    print("t%d|%s|%s|%s" % (n, how, section, words))

BEGIN = TYPES + "trace { major = 1; minor = 8; byte_order = le; };\n"
def field(section, words, fields, stream=b"\1", how="open", before=""):
    row(section, words, BEGIN + before + "event { name = ev; fields := struct { %s }; };" % fields,
        stream, how)
def context(section, words, members, stream, how="open"):
    row(section, words, BEGIN + "stream { packet.context := struct { %s }; };" % members +
        "event { name = ev; fields := struct { uint8_t a; }; };", stream, how)

own = "own"
# Types
field("4.1.2", "alignment", "integer { size = 8; align = 3; } a;")
field("4.1.3", "expected le, be", "integer { size = 8; byte_order = middle; } a;")
row("4.1.3", "byte order", TYPES + "trace { major = 1; minor = 8; byte_order = native; };")
field("4.1.5", "1 bit or more", "integer { size = 0; } a;")
field(own, "more than 64 bits", "integer { size = 65; } a;")
field("4.1.5", "size of the integer", "integer { align = 8; } a;")
field("4.1.5", "base", "integer { size = 8; base = 7; } a;")
field("4.1.5", "base", "integer { size = 8; base = roman; } a;")
field("7.1", "true or false", "integer { size = 8; signed = perhaps; } a;")
field("4.1.6", "bit field", "uint8_t a:9;")
field("4.1.7", "exp_dig", "floating_point { exp_dig = 20; mant_dig = 40; } a;")
field("4.1.7", "4 to 128 bits", "floating_point { exp_dig = 100; mant_dig = 100; } a;")
field("4.1.8", "ends before it begins", "enum : uint8_t { A = 3 ... 2 } a;")
field("4.1.8", "integer type", "enum : float { A } a;")
field("4.1.8", "name of a value", "enum : uint8_t { 5 } a;")
field("4.2.1", "two fields have one name", "uint8_t a; uint8_t a;")
field("4.2.1", "name of a field", "uint8_t;")
field("4.2.2", "has no tag", "variant { uint8_t A; } v;")
field("4.2.2", "not an enumeration", "uint8_t tag; variant <tag> { uint8_t A; } v;")
field("4.2.2", "selects no option", "enum : uint8_t { A, B } tag; variant <tag> { uint8_t A; } v;",
      b"\1\1", "read")
field(own, "127 options", "enum : uint8_t { A0 } tag; variant <tag> { %s } v;" %
      " ".join("uint8_t A%d;" % i for i in range(128)))
field("4.2.4", "not an unsigned integer",
      "integer { size = 8; signed = true; } n; uint8_t list[n];")
field("4.2.5", "encoding", "string { encoding = 5; } s;")
field("7.3.1", "no type 'other a'", "other a;")
field("7.3.1", "no type 'struct a'", "struct a a;")
field("7.3.2", "before its use", "uint8_t list[n]; uint8_t n;")
field("7.3.2", "may have no value", "enum : uint8_t { A, B } tag; "
      "variant <tag> { uint8_t A; uint8_t B; } v; uint8_t list[v.A];")
field(own, "nested", "struct { " * 20 + "uint8_t a; " + "} b; " * 20)
field(own, "dimensions", "uint8_t a%s;" % ("[1]" * 40))
field(own, "elements", "uint8_t a[99999999];")
field(own, "no bits", "struct { } a[2];")
field(own, "length is greater", "uint64_t n; uint8_t list[n];", b"\xff" * 8, "read")
field("C.2", "expected a type", "5 a;")
field("C.2", "expected ';'", "uint8_t a")
# Packets
row("5", "magic number", TYPES + "trace { major = 1; minor = 8; byte_order = le; "
    "packet.header := struct { uint32_t magic; }; }; event { name = ev; };", bytes(4))
TWO = TYPES + "trace { major = 1; minor = 8; byte_order = le; %s }; stream { id = 0; }; " \
    "stream { id = 1; };"
row("5", "does not have", TWO % "packet.header := struct { uint8_t stream_id; };", b"\7")
row("5.1", "of which stream", TWO % "", b"\7")
row("5", "in the header of a packet", TYPES + "trace { major = 1; minor = 8; byte_order = le; "
    "packet.header := struct { uint64_t a; }; };")
context("5.2", "the file ends after", "uint8_t packet_size;", b"\x50\1")
context("5.2", "content_size 64", "uint8_t packet_size; uint8_t content_size;", b"\x10\x40")
context("5", "encrypted", "uint8_t encryption_scheme;", b"\1\1")
context("5", "compression_scheme 9", "uint8_t compression_scheme;", b"\x09\1")
context("5", "begin with a byte", "uint8_t compression_scheme; integer { size = 4; } x;",
        b"\2\1\1")
context(own, "64 MiB", "uint8_t compression_scheme; uint64_t content_size;",
        struct.pack("<BQ", 2, 2**40))
context("5", "decompressed", "uint8_t compression_scheme;", b"\2" + b"x" * 40, "read")
context("5", "checksum", "uint32_t checksum; uint8_t checksum_scheme;", b"\1\2\3\4\3\1", "read")
# Events
field("5.2", "ends after the content", "uint32_t a;", b"\1", "read")
field("6", "no bits", "", b"\1", "read")
ID = "stream { event.header := struct { uint8_t id; }; };"
field("6.1", "no event with the id", "uint8_t a;", b"\7\1", "read", ID)
row("7.4", "used twice", BEGIN + "event { name = a; id = 1; }; event { name = b; id = 1; };")
row("7.4", "expected a structure", BEGIN + "event { name = a; fields := uint8_t; };")
row("7.4", "block `trace", TYPES + "event { name = a; };")
# The metadata
for place, packet in (("another trace", metadata_packet("/* CTF 1.8 */", UUID) +
                       metadata_packet("", OTHER)),
                      ("metadata packet", metadata_packet("/* CTF 1.8 */", UUID) + b"xy"),
                      ("compressed or encrypted",
                       metadata_packet("", UUID)[:32] + b"\1" + metadata_packet("", UUID)[33:])):
    row("7.1", place, packet)
row("7.1", "not a uuid", 'trace { uuid = "12"; };')
row("7.1", "expected CTF 1.8", "trace { major = 2; };")
row("C.1.3", "name of a field", "trace { .a = 1; };")
row("C.1.5", "a number", "trace { major = one; };")
row("C.1.5", "number of 64 bits", "trace { major = 99999999999999999999; };")
row("C.1.5", "number of 64 bits", "trace { major = 12abc; };")
row("C.1.6", "quote", 'trace { uuid = "12')
row("C.1.6", "a string", "trace { uuid = 5; };")
row("C.2.3", "a block", "words { };")
row("C.2.3", "name of a type", "typealias integer { size = 8; } := ;")
row(own, "too long", "typealias integer { size = 8; } := %s;" % ("long " * 200))
row(own, "more than 64 clocks", "clock { name = a; };" * 65)
row(own, "variables", "env { %s };" % " ".join("a%d = 1;" % i for i in range(1100)))
row(own, "id is above", BEGIN + "stream { id = 5000000000; };")
# Clocks
row("8", "frequency", "clock { name = c; freq = 0; };")
field("8", "clock.NAME.value", "integer { size = 8; map = c; } a;")
field("8", "no clock 'c'", "integer { size = 8; map = clock.c.value; } a;")
row("8", "of which clock", BEGIN + "clock { name = a; }; clock { name = b; };" +
    "stream { event.header := struct { uint8_t timestamp; }; };")
row("8", "earlier", BEGIN + "stream { event.header := struct { uint64_t timestamp; }; };" +
    "event { name = ev; };", struct.pack("<QQ", 9, 8), "read")
row(own, "offset is out of range", BEGIN + "clock { name = a; offset_s = 99999999999; };")
row(own, "before 1970", BEGIN + "stream { event.header := struct { uint64_t timestamp; }; };" +
    "event { name = ev; };", struct.pack("<Q", 2**63 + 1), "read")
# The proposal
row("P7", "word_size", TYPES + "trace { major = 1; minor = 6; byte_order = le; word_size = 16; };")
MISSING = "stream { event.header := struct { uint8_t id; %s missing_fields[NR_FIELDS]; }; };"
field("P6.1.2", "not integers", "uint8_t a;", before=MISSING % "float")
field("P6.1", "is missing", "uint8_t n; uint8_t list[n];", b"\0\1\1\1", "read", MISSING % "uint1_t")
field("P4.2.3", "must be an integer", "string s[float];")
END

while IFS='|' read -r name how section words; do
	case $section in
	own) where='(a limit of trailfs; CTF 1.8.3 has none)' ;;
	P*) where="(CTF proposal 1.6, section ${section#P})" ;;
	*) where="(CTF 1.8.3, section $section)" ;;
	esac
	s=$S/$name
	mkdir "$s"
	if [ "$how" = open ]; then
		! echo "$work/$name" 2>/dev/null >"$s/input" || fail "$name is accepted, not: $words"
	else
		put "$work/$name" "$s/input"
		cat "$s/text" >/dev/null 2>&1
	fi
	sentence=$(sed -n 1p "$s/error")
	case $sentence in
	*"$words"*"$where"*) checks=$((checks + 1)) ;;
	*) fail "$name: expected '$words … $where', found: $sentence" ;;
	esac
	rmdir "$s"
done <"$work/rows"

# No sentence in the sources is without, and each section is one of the document.
cd "$top/tracer/format" || fail "cd"
awk '
	/(tsdl|layout)_fail\(|import_fail\(|CTF2_FAIL\(|->why =/ { text = ""; on = 1 }
	on { text = text $0 }
	on && /;/ {
		on = 0
		if (text ~ /"/ && text !~ /IN_CTF|IN_EITHER|IN_PROPOSAL|OWN_LIMIT|cannot be read|"%s"|RFC/)
			print FILENAME ":" FNR ": " text
	}' import/ctf.c import/ctf_model.c import/ctf_stream.c import/layout*.c import/packet*.c \
	tsdl/*.c ctf2/*.c >"$work/without"
is "sentences without a section" "" "$(cat "$work/without")"
toc=' 1 2 3 4 4.1 4.1.1 4.1.2 4.1.3 4.1.4 4.1.5 4.1.6 4.1.7 4.1.8 4.2 4.2.1 4.2.2 4.2.3 4.2.4 4.2.5
5 5.1 5.2 6 6.1 6.1.1 6.1.2 6.2 6.3 6.3.1 6.3.2 7 7.1 7.2 7.3 7.3.1 7.3.2 7.4 8 A B C C.1 C.1.1 C.1.2
C.1.3 C.1.4 C.1.5 C.1.6 C.1.7 C.2 C.2.2 C.2.3 '
for section in $({ grep -ho 'IN_CTF("[^"]*")' -- */*.c
	cat */*.c | tr '\n' ' ' | grep -o '"[0-9.]*",[[:space:]]*"[0-9.]*")'; } |
	sed 's/[^"]*"//; s/".*//' | sort -u); do
	case " $(echo $toc) " in
	*" $section "*) ;;
	*) fail "CTF 1.8.3 has no section $section" ;;
	esac
done
echo "$checks checks"
