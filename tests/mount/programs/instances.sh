#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# An instance whose arguments have other types than its class is left out, as LTTng's
# library leaves it out: its fields would be read through a pointer to something else. `status` of
# the process and LTTNG_UST_DEBUG say so. With our headers, and of an unmodified program with the
# library of $BUILD/lttng.
. "$(dirname "$0")/../../lib/mount.sh"
command -v g++ >/dev/null || skip "there is no g++"
mount_tree
why='requests:wrong is left out: its arguments are not those of its class'

# run NAME COMMAND…
run() {
	name=$1
	shift
	mkdir "$S/$name" || fail "mkdir $name"
	put 'requests:*' "$S/$name/user/events"
	put start "$S/$name/control"
	mkfifo "$work/$name.end"
	LTTNG_UST_DEBUG=1 "$@" <"$work/$name.end" 2>"$work/$name.debug" &
	pid=$!
	exec 3>"$work/$name.end"
	recorded() { [ "$(key events_recorded "$S/$name/status")" = 3 ]; }
	within 10 recorded ||
		fail "$name: recorded $(key events_recorded "$S/$name/status") of 3"
	is "$name: begin" 3 "$(grep -c ' requests:begin: .*{ id = 7 }' "$S/$name/text")"
	for file in "$MNT/apps/$pid/status" "$S/$name/status"; do
		grep -q "^problem .*$why" "$file" || fail "$name: $(cat "$file")"
	done
	grep -q 'requests:wrong .*its arguments are not those of its class' "$work/$name.debug" ||
		fail "$name: LTTNG_UST_DEBUG: $(cat "$work/$name.debug")"
	exec 3>&-
	wait $pid || fail "$name: exit status $?"
	is "$name: text" 3 "$(grep -c . "$S/$name/text")"
	rmdir "$S/$name" || fail "rmdir $name"
}

for std in c++11 c++17; do
	for cxx in g++ clang++; do
		command -v $cxx >/dev/null || continue
		$cxx -std=$std -Wall -Wextra -Werror -I"$top/ustlib/lttng" -I"$top/ustlib" \
			-I"$here/instances" -o "$work/$cxx$std" "$here/instances/main.cc" \
			-L"$BUILD" -ltrail -Wl,-rpath,"$BUILD" || fail "$cxx $std"
		run "$cxx-$std" "$work/$cxx$std"
	done
done
if printf '#include <lttng/tracepoint.h>\n' | g++ -E -x c++ - >/dev/null 2>&1; then
	g++ -w -I"$here/instances" -o "$work/unmodified" "$here/instances/main.cc" \
		-llttng-ust -ldl || fail "with LTTng's headers"
	run drop-in env LD_LIBRARY_PATH="$BUILD/lttng" "$work/unmodified"
fi
echo "$checks checks"
