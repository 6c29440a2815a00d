#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# Blobs of programs with LTTng-UST's macros, rebuilt and compiled: with CTF 2 they are BLOBs with
# their media types, in text as babeltrace2 2.1 prints them; with CTF 1.8 arrays of bytes. JSON has
# base64 in both. The daemon's death changes nothing of that.
. "$(dirname "$0")/../../lib/mount.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
python3 -c 'import json' 2>/dev/null || skip "there is no python3"
cp -r "$here/compat" "$work/src"
gcc -O2 -Wall -Wextra -Werror -I"$work/src" -I"$top/ustlib/lttng" -I"$top/ustlib" -o "$work/rebuilt" \
	"$work/src/blob.c" -L"$BUILD" -ltrail -Wl,-rpath,"$BUILD" || fail "the rebuilt program"
gcc -std=gnu11 -D_GNU_SOURCE -O1 -w -I"$top" -o "$work/compiled" "$here/drop_in/blobs.c" \
	-L"$BUILD/lttng" -l:liblttng-ust.so.1 -Wl,--allow-shlib-undefined ||
	fail "the compiled program"
mount_tree -o tz=UTC

lines() { # FILE: the text, without times and CPUs
	sed 's/^\[[^]]*\] ([^)]*) [^ ]* \([^ ]*\): { cpu_id = [0-9]* }, /\1 /' "$1"
}
want_text() { # VERSION
	for p in compat_blob new; do
		if [ "$1" = 2 ]; then
			printf '%s:blob { begin = { %s }, _all_length = %s, all = { %s} }\n' \
				$p '89 50' 4 '89 50 4e 47 ' $p '00 ff' 0 ''
		else
			printf '%s:blob { begin = [ %s ], _all_length = %s, all = [ %s] }\n' \
				$p '[0] = 0x89, [1] = 0x50' 4 \
				'[0] = 0x89, [1] = 0x50, [2] = 0x4E, [3] = 0x47 ' \
				$p '[0] = 0x0, [1] = 0xFF' 0 ''
		fi
	done
}
want_json() {
	for p in compat_blob new; do
		printf '%s {"begin":"%s","all":"%s"}\n' $p iVA= iVBORw== $p AP8= ''
	done
}

for version in 1.8 2; do
	s=$S/v$version
	mkdir "$s" "$s/user/channels/c" && put "$version" "$s/ctf_version" &&
		put '*:blob' "$s/user/channels/c/events" && put start "$s/control"
	"$work/rebuilt" || fail "the rebuilt program ended with $?"
	mkfifo "$work/end"
	: >"$work/out"                  # what an earlier round said must not be found
	LD_LIBRARY_PATH=$BUILD/lttng "$work/compiled" <"$work/end" >"$work/out" &
	program=$!
	exec 3>"$work/end"
	within 60 grep -q hit "$work/out" || fail "the compiled program does not run"
	has "$(cat "$MNT/available/user/fields")" \
		'^new:blob { blob image/png begin\[2\]; blob image/png all\[\]; nowrite blob first\[1\] }'
	has "$(cat "$MNT/available/user.json")" '"type":"blob","media_type":"image/png","length":2'
	exec 3>&-
	wait $program || fail "the compiled program ended with $?"
	rm "$work/end"
	put stop "$s/control"
done

judge() {
	for version in 1.8 2; do
		s=$S/v$version
		cat "$s/text" >"$work/text"
		want_text $version >"$work/want"
		lines "$work/text" | diff "$work/want" - || fail "the text, CTF $version"
		sed 's/.*"event":"\([a-z_]*\):blob","fields":/\1 /; s/}$//' "$s/export/json" >"$work/have"
		want_json | diff - "$work/have" || fail "JSON, CTF $version"
	done
	TZ=UTC babeltrace2 "$S/v1.8/trace" >"$work/bt2" || fail "babeltrace2"
	cat "$S/v1.8/text" | cmp - "$work/bt2" || fail "text and babeltrace2 differ"
	babeltrace2 -o ctf-metadata "$(dirname "$(find "$S/v1.8/trace" -name metadata | head -n 1)")" |
		sed -n 's,^[[:blank:]]*//,//,p' | sort >"$work/have"
	sort >"$work/want" <<'END'
// dynamic length BLOB field
// dynamic length BLOB field with `image/png` media type
// static length BLOB field with `image/png` media type
// static length BLOB field with `image/png` media type
END
	diff "$work/want" "$work/have" || fail "the comments of the metadata"
	cat "$S/v2/export/json" >"$work/json"
	python3 "$top/tests/lib/judge_ctf2.py" "$S/v2/trace" "$work/json" >"$work/judged" ||
		fail "a reader of CTF 2: $(head -c 3000 "$work/judged")"
	is "media types" 3 "$(find "$S/v2/trace" -name metadata -exec cat {} + |
		grep -o '"media-type":"image/png"' | wc -l)"
	# The same from a trace on disk, where lengths are fields
	rm -rf "$work/saved" && cp -r "$S/v2/trace" "$work/saved"
	mkdir "$S/input" && put "$work/saved" "$S/input/input"
	cat "$S/input/text" | cmp - "$S/v2/text" || fail "the text of the saved trace"
	sed "s/\"_all_length\":[0-9]*,//" "$S/input/export/json" | diff - "$work/json" || fail "JSON of the saved trace"
	rmdir "$S/input"
}

judge
kill -KILL $(daemon_pids)
within 10 daemon_ended
end_dead_mount "$MNT"
mount_tree -o tz=UTC
judge
