#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The input of a session changes while programs read it. A file that was written: a read fails and
# `error` says why, also if the text was read before; the path written again shows what the file has
# now. Another input: a program that has `text` open gets an error, not the rest of the other text.
. "$(dirname "$0")/../../lib/mount.sh"
command -v python3 >/dev/null || skip "there is no python3"
mount_tree

PYTHONPATH=$top/tests/lib python3 -B - "$work" <<'END' || fail "no traces were written"
from ctf_trace import *

for name, value, count in (("one", 1, 200000), ("two", 2, 150000), ("small", 3, 5)):
    trace(name, TYPES + "trace { major = 1; minor = 8; byte_order = le; };\n"
          "event { name = ev; fields := struct { uint32_t n; uint8_t of; }; };",
          s0=b"".join(struct.pack("<IB", i, value) for i in range(count)))
END

s=$S/s
mkdir "$s"
# fails FILE SENTENCE: a read of the whole file has an error, and the session says why
fails() {
	! cat "$s/$1" >"$work/out" 2>"$work/why" || fail "$1: $(wc -l <"$work/out") lines and no error"
	has "$(cat "$work/why")" 'Stale file handle'
	has "$(cat "$s/error")" "$2"
}
for t in one small; do
	put "$work/$t" "$s/input"
	lines=$(cat "$s/text" | wc -l)
	[ "$lines" -gt 4 ] || fail "text of $t has $lines lines"
	touch "$work/$t/s0"
	fails text 's0: offset [0-9]*: the file has changed since it was opened; write the path to `input` again'
	fails export/json 'the file has changed since it was opened'
	fails export/csv 'the file has changed since it was opened'
	put "$work/$t" "$s/input"
	is "the path again" "$lines" "$(cat "$s/text" | wc -l)"
	# Other bytes in the same place
	printf '\011' | dd of="$work/$t/s0" bs=1 seek=4 conv=notrunc 2>/dev/null
	fails text 'the file has changed since it was opened'
	put "$work/$t" "$s/input"
	is "the new bytes" "$lines 1" "$(cat "$s/text" | wc -l) $(grep -c 'of = 9 ' "$s/text")"
done

# --- replaced while it is open: at its begin, inside, and at its end
for n in 0 100000 all; do
	put "$work/one" "$s/input"
	exec 3<"$s/text"
	case $n in
	all) cat <&3 >"$work/read" ;;
	*) head -c $n <&3 >"$work/read" ;;
	esac
	put "$work/two" "$s/input"
	! cat <&3 >"$work/rest" 2>"$work/why" || fail "after $n bytes: $(wc -l <"$work/rest") lines and no error"
	has "$(cat "$work/why")" 'Stale file handle'
	is "lines of the other trace, after $n bytes" 0 "$(grep -c 'of = 2 ' "$work/rest")"
	has "$(cat "$s/error")" 'text: the input was replaced; open the file again'
	exec 3<&-
	is "the next open" 150000 "$(grep -c 'of = 2 ' "$s/text")"
done
echo "$checks checks"
