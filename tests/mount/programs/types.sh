#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Enumerations, lengths of all sizes, URIs, fields that are for filters only (types.c): what text
# and metadata show, and babeltrace2 agrees; they outlive the daemon.
. "$(dirname "$0")/../../lib/mount.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
types=$BUILD/tests/mount/programs/types
[ -x "$types" ] || skip "there is no $types"
mount_tree -o tz=UTC
mkdir "$S/s" || fail mkdir
echo 'types:*' >"$S/s/user/events" || fail rules
echo start >"$S/s/control" || fail start

compare() {
	cat "$S/s/text" >"$work/text" || fail text
	same_text "$S/s"
	sed 's/^\[[^]]*\] ([^)]*) [^ ]* \([^ ]*\): { cpu_id = [0-9]* }, /\1 /' "$work/text" \
		>"$work/have"
	diff "$work/have" "$1" >"$work/diff" || fail "$(cut -c1-300 "$work/diff" | head -n 20)"
	checks=$((checks + 1))
}

cat >"$work/want" <<'END'
types:enums { colour = ( "RED" : container = 0 ), again = ( "RED" : container = 0x0 ), net = ( "FIRST" : container = 0 ), huge = ( "FIRST" : container = 0 ), none = 0, f = 1.5 }
types:enums { colour = ( "GREEN", "TEN AND LESS" : container = 1 ), again = ( "GREEN", "TEN AND LESS" : container = 0x1 ), net = ( <unknown> : container = 1 ), huge = ( <unknown> : container = 1 ), none = 1, f = 1.5 }
types:enums { colour = ( "TEN AND LESS" : container = 2 ), again = ( "TEN AND LESS" : container = 0x2 ), net = ( <unknown> : container = 2 ), huge = ( <unknown> : container = 2 ), none = 2, f = 1.5 }
types:enums { colour = ( "OTHER \"ones\"\\", "TEN AND LESS" : container = 5 ), again = ( "OTHER \"ones\"\\", "TEN AND LESS" : container = 0x5 ), net = ( <unknown> : container = 5 ), huge = ( <unknown> : container = 5 ), none = 5, f = 1.5 }
types:enums { colour = ( "OTHER \"ones\"\\", "TEN AND LESS" : container = 7 ), again = ( "OTHER \"ones\"\\", "TEN AND LESS" : container = 0x7 ), net = ( "" : container = 7 ), huge = ( "" : container = 7 ), none = 7, f = 1.5 }
types:enums { colour = ( "OTHER \"ones\"\\", "TEN AND LESS" : container = 10 ), again = ( "OTHER \"ones\"\\", "TEN AND LESS" : container = 0xA ), net = ( <unknown> : container = 10 ), huge = ( <unknown> : container = 10 ), none = 10, f = 1.5 }
types:enums { colour = ( "ELEVEN" : container = 11 ), again = ( "ELEVEN" : container = 0xB ), net = ( <unknown> : container = 11 ), huge = ( <unknown> : container = 11 ), none = 11, f = 1.5 }
types:enums { colour = ( <unknown> : container = 12 ), again = ( <unknown> : container = 0xC ), net = ( <unknown> : container = 12 ), huge = ( <unknown> : container = 12 ), none = 12, f = 1.5 }
types:enums { colour = ( "BELOW" : container = -1 ), again = ( "BELOW" : container = 0xFF ), net = ( <unknown> : container = 65535 ), huge = ( "MOST" : container = 18446744073709551615 ), none = 255, f = 1.5 }
types:enums { colour = ( <unknown> : container = -11 ), again = ( <unknown> : container = 0xF5 ), net = ( <unknown> : container = 65525 ), huge = ( <unknown> : container = 18446744073709551605 ), none = 245, f = 1.5 }
types:enums { colour = ( <unknown> : container = 200 ), again = ( <unknown> : container = 0xC8 ), net = ( <unknown> : container = 200 ), huge = ( <unknown> : container = 200 ), none = 200, f = 1.5 }
types:sequences { _s1_length = 2, s1 = [ [0] = 0x1, [1] = 0xFFFE ], _s2_length = 4, s2 = "text", _s4_length = 1, s4 = [ [0] = 9 ], _s8_length = 3, s8 = [ [0] = -1, [1] = 0, [2] = 7 ], last = 255 }
types:sequences { _s1_length = 2, s1 = [ [0] = 0x1, [1] = 0xFFFE ], _s2_length = 4, s2 = "more", _s4_length = 1, s4 = [ [0] = 9 ], _s8_length = 3, s8 = [ [0] = -1, [1] = 0, [2] = 7 ], last = 254 }
types:hidden { seen = 42 }
types:hidden { seen = 42 }
END
"$types" || fail "exit status $?"
compare "$work/want"

# As LTTng writes them
meta=$(cat "$(find "$S/s/trace" -name metadata)" | tr -d '\0')
has "$meta" '	model.emf.uri = "http://example.com/doc?\\"a\\"";'
is "events with a URI" 1 "$(printf '%s\n' "$meta" | grep -c 'model.emf')"
has "$meta" '		enum : integer { size = 32; align = 8; signed = 1; encoding = none; base = 10; } {'
has "$meta" '			"OTHER \\"ones\\"\\\\" = 5 ... 10,'
has "$meta" '			"ELEVEN" = 11,'
has "$meta" '			"BELOW" = -10 ... -1,'
has "$meta" '			"MOST" = 18446744073709551615,'
has "$meta" 'integer { size = 8; align = 8; signed = 0; encoding = none; base = 10; } _none;'
has "$meta" 'integer { size = 8; align = 8; signed = 0; encoding = none; base = 10; } __s1_length;'
has "$meta" 'integer { size = 16; align = 8; signed = 0; encoding = none; base = 10; } __s2_length;'
has "$meta" 'integer { size = 32; align = 8; signed = 0; encoding = none; base = 10; } __s4_length;'
has "$meta" 'integer { size = 64; align = 8; signed = 0; encoding = none; base = 10; } __s8_length;'
is "fields that are not recorded" 0 "$(printf '%s\n' "$meta" | grep -c 'unseen\|_text;')"
is "labels that cover nothing" 0 "$(printf '%s\n' "$meta" | grep -c '"empty"')"

# The classes are on disk: another daemon knows them, and takes the same program's events for the
# same.
kill -9 "$(daemon_pids)"
within 15 daemon_ended || fail "the daemon does not end"
mount_tree -o tz=UTC
cat "$work/want" "$work/want" >"$work/twice"
"$types" || fail "exit status $?"
compare "$work/twice"
is "no class is there twice" 3 \
	"$(cat "$(find "$S/s/trace" -name metadata)" | tr -d '\0' | grep -c 'name = "types:')"
echo stop >"$S/s/control"
rmdir "$S/s" || fail rmdir
echo "$checks checks"
