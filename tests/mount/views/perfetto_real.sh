#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Floating point numbers in export/perfetto: each is a double, also whole ones, -0, infinities and
# NaN. (perfetto_trace.proto: TracePacket.track_event is 11, TrackEvent.debug_annotations 4,
# DebugAnnotation.double_value 5.)
. "$(dirname "$0")/../../lib/mount.sh"
command -v python3 >/dev/null || skip "there is no python3"
cat >"$work/real.c" <<'C'
#include <math.h>
#include <trail/trail.h>

int main(void)
{
	const double d[] = { 1.5, 1, 0, -0.0, 1e300, INFINITY, -INFINITY, NAN };

	for (unsigned i = 0; i < sizeof(d) / sizeof(*d); i++) {
		double number = d[i];

		TRAIL(real, number, number);
	}
	float tenth = 0.1f;

	TRAIL(real, small, tenth);
	return 0;
}
C
${CC:-cc} -I"$top/ustlib" -o "$work/real" "$work/real.c" -L"$BUILD" -ltrail -Wl,-rpath,"$BUILD" ||
	skip "no compiler"
cat >"$work/reals.py" <<'P'
import struct, sys

def fields(data):
    at = 0
    def varint():
        nonlocal at
        n = shift = 0
        while True:
            byte = data[at]
            at += 1
            n |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return n
    while at < len(data):
        key = varint()
        kind = key & 7
        if kind == 0:
            value = varint()
        else:
            size = varint() if kind == 2 else {1: 8, 5: 4}[kind]
            value = data[at:at + size]
            at += size
        yield key >> 3, kind, value

for _, _, packet in fields(open(sys.argv[1], 'rb').read()):
    for number, _, event in fields(packet):
        if number != 11:
            continue
        for number, _, note in fields(event):
            if number == 4:
                for number, kind, value in fields(note):
                    if (number, kind) == (5, 1):
                        print(struct.unpack('<d', value)[0])
P
mount_tree
s=$S/s
mkdir "$s"
put 'real:*' "$s/user/events"
put start "$s/control"
"$work/real" || fail "the program"
put stop "$s/control"
cat "$s/export/perfetto" >"$work/perfetto" || fail "export/perfetto"
is "doubles" "1.5 1.0 0.0 -0.0 1e+300 inf -inf nan 0.1 " \
	"$(python3 "$work/reals.py" "$work/perfetto" | tr '\n' ' ')"
rmdir "$s"
echo "$checks checks"
