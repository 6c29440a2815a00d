#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# Programs that were compiled with LTTng-UST's headers say what they have loaded, with the libraries
# of $BUILD/lttng alone: lttng_ust_statedump at their start, at a session's start and in children,
# lttng_ust_lib when libraries come and go. preload/lttng.events has what LTTng-UST 2.13 writes into
# the metadata of these events.
. "$(dirname "$0")/../../lib/mount.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
printf '#include <lttng/tracepoint.h>\n' | gcc -E - >/dev/null 2>&1 ||
	skip "liblttng-ust-dev is not installed"
id=0123456789abcdef0123456789abcdef01234567
gcc -O1 -w -I"$here/compat" -DCOMPAT_FROM='"l"' -Wl,--build-id=0x$id -o "$work/loaded" \
	"$here/drop_in/loaded.c" -llttng-ust -llttng-ust-common -ldl || fail "loaded.c does not build"
gcc -O1 -w -I"$here/compat" -DCOMPAT_FROM='"p"' -fPIC -shared -o "$work/plugin.so" \
	"$here/compat/tick_provider.c" -llttng-ust || fail "plugin.so does not build"
cp "$work/plugin.so" "$work/next.so"
LD_LIBRARY_PATH=$BUILD/lttng
export LD_LIBRARY_PATH
unset LTTNG_UST_WITHOUT_BADDR_STATEDUMP LTTNG_UST_WITHOUT_PROCNAME_STATEDUMP
mount_tree

# session NAME RULE…
session() {
	name=$1
	shift
	mkdir "$S/$name" "$S/$name/user/channels/c" || fail "session $name"
	printf '%s\n' "$@" >"$S/$name/user/channels/c/events" || fail "rules of $name"
}
# done_with NAME: of an active session: $work/have is its text without times
done_with() {
	put stop "$S/$1/control"
	same_text "$S/$1"
	is "$1: discarded" 0 "$(key events_discarded "$S/$1/status")"
	sed 's/^\[[^]]*\] ([^)]*) [^ ]* \([^ ]*\): { cpu_id = [0-9]* }, /\1 /' "$work/text" >"$work/have"
	find "$S/$1/trace" -name metadata -exec cat {} + >"$work/metadata"
	rmdir "$S/$1" || fail "rmdir $1"
}
count() { grep -c "$1" "$work/have"; }
# mapped FILE: of the map in $work/map, where the file begins, and where its last page ends
mapped() {
	awk -v f="$1" '$6 == f { split($1, at, "-"); if (!begin) begin = at[1]; end = at[2] }
		END { print begin, end }' "$work/map"
}
# placed EVENT FILE: the event has the file where the map has it. Its end may be in the anonymous
# page that follows.
placed() {
	line=$(grep "^$1 .*path = \"$2\"" "$work/have" | tail -n 1) && [ "$line" ] || fail "no $1 of $2: $(cat "$work/have")"
	set -- "$1" "$2" $(mapped "$2")
	[ -n "${4-}" ] || fail "$2 is not in the map: $(cat "$work/map")"
	base=$(printf '%s' "$line" | sed 's/.*baddr = 0x\([0-9A-F]*\),.*/\1/')
	size=$(printf '%s' "$line" | sed 's/.*memsz = \([0-9]*\),.*/\1/')
	is "$1: base of $2" "$((0x$3))" "$((0x$base))"
	[ $((0x$base + size)) -gt $((0x$4 - 4096)) ] && [ $((0x$base + size)) -le $((0x$4 + 65536)) ] ||
		fail "$1: size of $2: $line, mapped $3 to $4"
	checks=$((checks + 1))
}
libc=$(ldd "$work/loaded" | sed -n 's/.*=> \(.*libc\.so\.6\) .*/\1/p')
libc=$(readlink -f "$libc")
bytes=$(printf '%s' $id | sed 's/../0x& /g; s/0x0\([0-9a-f]\)/0x\1/g' | tr abcdef ABCDEF |
	awk '{ for (i = 1; i <= NF; i++) printf "%s[%d] = %s", (i > 1 ? ", " : ""), i - 1, $i }')

# ---- at the start of a program ----

session start 'lttng_ust_statedump:*'
put start "$S/start/control"
timeout 100 "$work/loaded" >"$work/map" || fail "loaded: exit status $?"
done_with start
is "first" "lttng_ust_statedump:start { }" "$(sed -n 1p "$work/have")"
is "second" 'lttng_ust_statedump:procname { procname = "loaded" }' "$(sed -n 2p "$work/have")"
is "last" "lttng_ust_statedump:end { }" "$(tail -n 1 "$work/have")"
is "dumps" 1 "$(count ':start {')"
is "no library came" 0 "$(count 'lttng_ust_lib:')"
placed lttng_ust_statedump:bin_info "$work/loaded"
has "$line" 'is_pic = 1, has_build_id = 1, has_debug_link = 0 }$'
has "$(cat "$work/have")" "^lttng_ust_statedump:build_id { baddr = 0x$base, _build_id_length = 20, build_id = \\[ $(printf '%s' "$bytes" | sed 's/[][]/\\&/g') \\] }\$"
placed lttng_ust_statedump:bin_info "$libc"
has "$line" 'is_pic = 1'
if readelf -S "$libc" 2>/dev/null | grep -q gnu_debuglink; then
	has "$(cat "$work/have")" "^lttng_ust_statedump:debug_link { baddr = 0x$base, crc = [1-9][0-9]*, filename = \".*\" }\$"
fi
awk '/^event \{/ { name = level = fields = ""; on = 1; next }
	on && /name = / { split($0, part, "\""); name = part[2] }
	on && /loglevel = / { level = $3; sub(";", "", level) }
	on && /integer|string/ { field = $0; sub(/^[ \t]*/, "", field); fields = fields " " field }
	on && /^\};/ { print name " " level fields; on = 0 }' "$work/metadata" | sort -u >"$work/defined"
[ "$(wc -l <"$work/defined")" -ge 5 ] || fail "definitions: $(cat "$work/defined")"
sort "$here/preload/lttng.events" | comm -23 "$work/defined" - >"$work/other"
is "not as LTTng has it" "" "$(cat "$work/other")"

# Of one event alone
session one 'lttng_ust_statedump:bin_info'
put start "$S/one/control"
timeout 100 "$work/loaded" >"$work/map" || fail "loaded: exit status $?"
done_with one
placed lttng_ust_statedump:bin_info "$libc"
is "only that" 0 "$(grep -vc '^lttng_ust_statedump:bin_info ' "$work/have")"

# LTTng's variables
session without 'lttng_ust_*'
put start "$S/without/control"
LTTNG_UST_WITHOUT_BADDR_STATEDUMP=1 LTTNG_UST_WITHOUT_PROCNAME_STATEDUMP=1 timeout 100 \
	"$work/loaded" >"$work/map" || fail "loaded: exit status $?"
done_with without
is "without" "lttng_ust_statedump:start { } lttng_ust_statedump:end { }" "$(echo $(cat "$work/have"))"

# ---- at the start of a session, while the program hits nothing; names of addresses ----

session later 'lttng_ust_statedump:*' 'compat_tick:*'
put 'vpid ip' "$S/later/user/channels/c/contexts"
mkfifo "$work/in"
"$work/loaded" wait hit <"$work/in" >"$work/map" &
waits=$!
exec 3>"$work/in"
is_mapped() { grep -q vsyscall "$work/map" || grep -q vdso "$work/map"; }
within 60 is_mapped || fail "the program does not start"
put start "$S/later/control"
is_dumped() { grep -q 'lttng_ust_statedump:end' "$S/later/text"; }
within 60 is_dumped || fail "no dump: $(cat "$S/later/text")"
put 'regenerate statedump' "$S/later/control"
is_dumped_again() { [ "$(grep -c 'lttng_ust_statedump:end' "$S/later/text")" = 2 ]; }
within 60 is_dumped_again || fail "no second dump: $(cat "$S/later/text")"
exec 3>&-
wait $waits || fail "loaded: exit status $?"
grep compat_tick "$S/later/text.symbols" >"$work/symbols"
has "$(cat "$work/symbols")" 'ip = "[a-z]*+0x[0-9a-f]* (loaded)"'
put stop "$S/later/control"
sed 's/{ vpid = [0-9]*, ip = [^}]* }, //' "$S/later/text" >"$work/text"
sed 's/^\[[^]]*\] ([^)]*) [^ ]* \([^ ]*\): { cpu_id = [0-9]* }, /\1 /' "$work/text" >"$work/have"
is "dumps" "2 2" "$(count ':start {') $(count ':end {')"
placed lttng_ust_statedump:bin_info "$work/loaded"
placed lttng_ust_statedump:bin_info "$libc"
rmdir "$S/later"

# ---- libraries that come and go; children ----

session lib 'lttng_ust_lib:*' 'lttng_ust_statedump:*'
put start "$S/lib/control"
timeout 100 "$work/loaded" "$work/plugin.so" - "$work/next.so" fork >"$work/map" ||
	fail "loaded: exit status $?: $(cat "$work/map")"
done_with lib
placed lttng_ust_lib:load "$work/next.so"
is "loads" 1 "$(count "^lttng_ust_lib:load .*\"$work/plugin.so\"")"
is "unloads" 1 "$(count '^lttng_ust_lib:unload ')"
is "dumps with the child's" "2 2" "$(count ':start {') $(count ':end {')"
is "of the program" 2 "$(count "^lttng_ust_statedump:bin_info .*\"$work/loaded\"")"
is "of the plug-in, the child's" 1 "$(count "^lttng_ust_statedump:bin_info .*\"$work/next.so\"")"

# ---- beside the helper, which does more: once ----

session helper 'lttng_ust_statedump:*' 'lttng_ust_lib:*' 'lttng_ust_dl:*'
put start "$S/helper/control"
timeout 100 env LD_PRELOAD="$BUILD/libtrail-dl.so" "$work/loaded" "$work/plugin.so" - >"$work/map" ||
	fail "loaded: exit status $?"
done_with helper
is "dumps beside the helper" "1 1" "$(count ':start {') $(count ':end {')"
is "load" 1 "$(count "^lttng_ust_lib:load .*\"$work/plugin.so\"")"
is "unload" 1 "$(count '^lttng_ust_lib:unload ')"
echo "$checks checks"
