#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A name or a text with a control of the direction of text does not reorder a line of `stats`, `top`
# or of a map on a terminal: it is shown as `_`, as other control characters are. `text` has it as
# babeltrace2 prints it, and JSON has it for programs.
. "$(dirname "$0")/../../lib/mount.sh"
ticker=$BUILD/tests/lib/ticker
HOSTILE=$BUILD/tests/mount/views/hostile
turn=$(printf '\342\200\256')
mount_tree -o tz=UTC
s=$S/s
mkdir "$s" "$s/user/maps/m"
printf '%s\n' 'tick:*' 'hostile:*' >"$s/user/events"
printf '%s\n' vpid procname >"$s/user/contexts"
printf '%s\n' 'tick:* by $ctx.procname' 'hostile:text by text' >"$s/user/maps/m/rules"
put start "$s/control"
ln -s "$ticker" "$work/a${turn}b"
"$work/a${turn}b" 10 0
"$HOSTILE"
put stop "$s/control"
for f in stats top user/maps/m/values; do
	cat "$s/$f" >"$work/shown" || fail "cannot read $f"
	is "$f has none" 0 "$(grep -c "$turn" "$work/shown")"
	is "$f has the name" 1 "$(($(grep -c '[" ]a_b\|a_txt.exe' "$work/shown") > 0))"
done
has "$(cat "$s/user/maps/m/values")" 'a_txt.exe'
cat "$s/text" >"$work/text"
is "text has it" 1 "$(($(grep -c "procname = \"a${turn}b\"" "$work/text") > 0))"
has "$(cat "$s/stats.json")" "\"procname\":\"a${turn}b\""
if command -v babeltrace2 >/dev/null; then
	babeltrace2 "$s/trace" 2>/dev/null >"$work/theirs"
	cmp "$work/theirs" "$work/text" || fail "another text than babeltrace2's"
	checks=$((checks + 1))
fi
echo "$checks checks"
