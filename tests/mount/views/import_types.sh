#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Types, headers and packets that a trace may have, each with its exact bytes: an imported session
# shows their values, as babeltrace2 does where it is installed.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/byte_traces.sh"

byte='typealias integer { size = 8; align = 8; } := uint8_t;'
word='typealias integer { size = 16; align = 8; } := uint16_t;'
long='typedef integer { size = 32; signed = false; align = 32; } uint32_t;'

# Named types with an alignment: after 1 byte, 3 of padding
trace align '\1...\2\1\0\0' <<END
$byte
$long
trace { major = 1; minor = 8; byte_order = le; };
event { name = ev; fields := struct { uint8_t a; uint32_t b; }; };
END
shows 'ev: { a = 1, b = 258 }'

# Bit fields, little and big endian: 5 bits, 3 bits; then 12 and 4, over the border of a byte
for order in le be; do
	case $order in le) bytes='\275\274\232' ;; be) bytes='\355\253\311' ;; esac
	trace "bits_$order" "$bytes" <<END
typedef integer { size = 5; signed = true; align = 1; } int5_t;
trace { major = 1; minor = 8; byte_order = $order; };
event {
	name = ev;
	fields := struct {
		int5_t c; integer { size = 3; } d;
		integer { size = 12; base = x; } e; integer { size = 4; } f;
	};
};
END
	shows 'ev: { c = -3, d = 5, e = 0xABC, f = 9 }'
done

# Byte orders of single fields, in a little-endian trace
trace order '\1\2\1\2\1\2\2\1' <<END
trace { major = 1; minor = 8; byte_order = le; };
event {
	name = ev;
	fields := struct {
		integer { size = 16; align = 8; byte_order = network; } a;
		integer { size = 16; align = 8; byte_order = be; } b;
		integer { size = 16; align = 8; byte_order = le; } c;
		integer { size = 16; align = 8; byte_order = native; } d;
	};
};
END
shows 'ev: { a = 258, b = 258, c = 513, d = 258 }'

# Floating point of both sizes and orders
trace floats '\0\0\300\077\077\300\0\0\0\0\0\0\0\0\4\300' <<END
typealias floating_point { exp_dig = 8; mant_dig = 24; align = 8; } := float;
trace { major = 1; minor = 8; byte_order = le; };
event {
	name = ev;
	fields := struct {
		float f;
		floating_point { exp_dig = 8; mant_dig = 24; byte_order = be; align = 8; } g;
		floating_point { exp_dig = 11; mant_dig = 53; byte_order = native; align = 8; } d;
	};
};
END
shows 'ev: { f = 1.5, g = 1.5, d = -2.5 }'

# Enumerations: without values, after a range, of one value, of words, without a name; a value
# without a label; labels that overlap
trace enums '\0\1\12\24\13\31\3' <<END
$byte
trace { major = 1; minor = 8; byte_order = le; };
enum counted : uint8_t { first, second, range = 7 ... 9, after, "some words" = 20 };
event {
	name = ev;
	fields := struct {
		enum counted a; enum counted b; enum counted c; enum counted d; enum counted e;
		enum : uint8_t { TEN = 10, LAST = 25 } f;
		enum : uint8_t { low = 0 ... 3, odd = 3 } g;
	};
};
END
shows 'ev: { a = ( "first" : container = 0 ), b = ( "second" : container = 1 ), c = ( "after" : container = 10 ), d = ( "some words" : container = 20 ), e = ( <unknown> : container = 11 ), f = ( "LAST" : container = 25 ), g = ( "low", "odd" : container = 3 ) }'

# Structures, named and not; the largest alignment within, and no padding at the end
trace structures '\7...\1...\2\0\0\0\10\11' <<END
$byte
$long
struct pair { uint8_t x; uint32_t y; };
trace { major = 1; minor = 8; byte_order = le; };
event { name = ev; fields := struct { uint8_t a; struct pair p; struct { uint8_t z; } q; uint8_t last; }; };
END
shows 'ev: { a = 7, p = { x = 1, y = 2 }, q = { z = 8 }, last = 9 }'

# Arrays and sequences, named and not, of integers, structures and arrays; text
trace arrays '\1\2\3\4\5\6\7\2\1\0\2\0\1\10one\0two\0' <<END
$byte
$word
trace { major = 1; minor = 8; byte_order = le; };
typedef uint8_t three[3];
struct item { uint8_t k; };
event {
	name = ev;
	fields := struct {
		three a; uint8_t m[2][2]; uint8_t len; uint16_t seq[len];
		uint8_t rows; struct item items[rows];
		string s; string { encoding = ASCII; } t;
	};
};
END
shows 'ev: { a = [ [0] = 1, [1] = 2, [2] = 3 ], m = [ [0] = [ [0] = 4, [1] = 5 ], [1] = [ [0] = 6, [1] = 7 ] ], len = 2, seq = [ [0] = 1, [1] = 2 ], rows = 1, items = [ [0] = { k = 8 } ], s = "one", t = "two" }'

# Names of types with blanks
trace names '\1\2\3' <<END
typealias integer { size = 8; align = 8; } := unsigned char;
typealias integer { size = 8; align = 8; base = 16; } := unsigned long;
trace { major = 1; minor = 8; byte_order = le; };
event { name = ev; fields := struct { unsigned char a; unsigned char b; unsigned long p; }; };
END
shows 'ev: { a = 1, b = 2, p = 0x3 }'

# Types that a typedef names: a structure, a string, an enumeration without a number's type, a
# sequence
trace typedefs '\1abc\0\1\0\0\0\2\3\4' <<END
$byte
typealias integer { size = 32; align = 8; } := int;
typedef struct { uint8_t n; } one_t;
typedef string { encoding = ASCII; } text_t;
typedef enum { A, B } choice_t;
trace { major = 1; minor = 8; byte_order = le; };
event {
	name = ev;
	fields := struct { one_t o; text_t t; choice_t c; uint8_t n; typedef uint8_t seq_t[n]; seq_t s; };
};
END
shows 'ev: { o = { n = 1 }, t = "abc", c = ( "B" : container = 1 ), n = 2, s = [ [0] = 3, [1] = 4 ] }'

# Two streams, each with an event 0; packets of different sizes with padding at their ends
trace streams '' <<END
$byte
$word
typealias integer { size = 32; align = 8; } := unsigned int;
trace { major = 1; minor = 8; byte_order = le; packet.header := struct { unsigned int magic; uint8_t stream_id; }; };
stream { id = 0; packet.context := struct { uint8_t packet_size; uint8_t content_size; };
	event.header := struct { uint8_t id; }; };
stream { id = 1; packet.context := struct { uint8_t packet_size; uint8_t content_size; };
	event.header := struct { uint8_t id; }; };
event { name = zero; id = 0; stream_id = 0; fields := struct { uint8_t v; }; };
event { name = other; id = 0; stream_id = 1; fields := struct { uint8_t v; }; };
END
# (Magic number, stream, packet and content in bits, events, padding)
printf '\301\037\374\301\0\130\110\0\1..\301\037\374\301\0\110\110\0\2' >"$dir/stream"
printf '\301\037\374\301\1\140\130\0\3\0\4.' >"$dir/second"
put "$dir" "$S/t1/input"
is "events of two streams" 'other 3
other 4
zero 1
zero 2' "$(sed 's/: { v = \([0-9]*\) }/ \1/' "$S/t1/text" | sort)"
! command -v babeltrace2 >/dev/null || is "babeltrace2 of two streams" "$(sort "$S/t1/text")" \
	"$(babeltrace2 "$dir" 2>/dev/null | sort)"

# Headers of few and of many ids, and those that follow them, with a context of the stream and one
# of the event
for kind in few many; do
	case $kind in
	few)
		# id 1, time 5; extended: id 31, then id 7, time 6
		bytes='\241\0\0\0\11\52\54.\37\0\0\0\7\0\0\0\6\0\0\0\0\0\0\0\11\53'
		header='enum : integer { size = 5; } { compact = 0 ... 30, extended = 31 } id;
			variant <id> { struct { integer { size = 27; map = clock.c.value; } timestamp; } compact;
				struct { uint32_t id; time_t timestamp; } extended; } v;'
		align=32
		;;
	many)
		bytes='\1\0\5\0\0\0\11\52\54\377\377\7\0\0\0\6\0\0\0\0\0\0\0\11\53'
		header='enum : integer { size = 16; align = 8; } { compact = 0 ... 65534, extended = 65535 } id;
			variant <id> { struct { integer { size = 32; align = 8; map = clock.c.value; } timestamp; } compact;
				struct { integer { size = 32; align = 8; } id; time_t timestamp; } extended; } v;'
		align=8
		;;
	esac
	trace "header_$kind" "$bytes" <<END
$byte
$long
typealias integer { size = 64; align = 8; map = clock.c.value; } := time_t;
trace { major = 1; minor = 8; byte_order = le; };
clock { name = c; freq = 1000; };
stream {
	event.header := struct { $header } align($align);
	event.context := struct { uint8_t who; };
};
event { name = one; id = 1; context := struct { uint8_t own; }; fields := struct { uint8_t w; }; };
event { name = seven; id = 7; fields := struct { uint8_t v; }; };
END
	shows '[00:00:00.005000000] (+?.?????????) one: { who = 9 }, { own = 42 }, { w = 44 }
[00:00:00.006000000] (+0.001000000) seven: { who = 9 }, { v = 43 }'
done

# Attributes of the trace that say nothing of its bytes
trace attributes '\1' <<END
$byte
trace { major = 1; minor = 8; byte_order = le; word_size = 32; };
event { name = ev; fields := struct { uint8_t a; }; };
END
shows 'ev: { a = 1 }'

# What has no meaning is refused with its line, or its place in the packet.
trace no_size '\1' <<END
trace { major = 1; minor = 8; byte_order = le; };
event { name = ev; fields := struct { integer { align = 8; } a; }; };
END
refused 'metadata:3: expected the size of the integer'
trace twice '\1\2' <<END
$byte
trace { major = 1; minor = 8; byte_order = le; };
event { name = ev; fields := struct { uint8_t a; uint8_t a; }; };
END
refused "event 'ev': two fields have one name"
trace circle '\1' <<END
$byte
struct a { uint8_t n; struct a inner[1]; };
trace { major = 1; minor = 8; byte_order = le; };
event { name = ev; fields := struct { struct a y; }; };
END
refused "metadata:3: there is no type 'struct a'"
trace magic '\0\0\0\0\1' <<END
trace {
	major = 1; minor = 8; byte_order = le;
	packet.header := struct { integer { size = 32; align = 8; } magic; };
};
event { name = ev; fields := struct { integer { size = 8; } o; }; };
END
refused 'stream: offset 0: expected the magic number 0xc1fc1fc1'
trace sizes '\20\100a\0' <<END
$byte
trace { major = 1; minor = 8; byte_order = le; };
stream { packet.context := struct { uint8_t packet_size; uint8_t content_size; }; };
event { name = ev; fields := struct { string s; }; };
END
refused 'found packet_size 16, content_size 64'
trace cypher '\50\50\1a\0' <<END
$byte
trace { major = 1; minor = 8; byte_order = le; };
stream {
	packet.context := struct { uint8_t packet_size; uint8_t content_size; uint8_t encryption_scheme; };
};
event { name = ev; fields := struct { string s; }; };
END
refused 'stream: offset 0: the packet is encrypted, and there is no key (CTF 1.8.3, section 5)'
echo "$checks checks"
