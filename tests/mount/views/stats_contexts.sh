#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# `stats` has the process and the thread of each event where a context without a fixed size comes
# before their numbers: one of an application.
. "$(dirname "$0")/../../lib/mount.sh"

PAIRS=$BUILD/tests/mount/views/pairs
[ -x "$PAIRS" ] || skip "there is no pairs"
mount_tree

# try NAME CONTEXT FIELD: the text has FIELD before the process
try() {
	s=$S/$1
	mkdir "$s"
	echo "$2 vpid vtid procname" >"$s/user/contexts" || fail "contexts: $(cat "$s/error")"
	echo 'work:*' >"$s/user/events"
	put start "$s/control"
	"$PAIRS" 20 2 && "$PAIRS" 10 1 || fail "pairs"
	put stop "$s/control"
	cat "$s/text" >"$work/text" && cat "$s/stats" >"$work/table" || fail "cannot read $1"
	grep -q "$3 = .*vpid = " "$work/text" || fail "$1: $(head -1 "$work/text")"
	sed 's/.*vpid = \([0-9]*\), vtid.*procname = "\([^"]*\)".*/\1 \2/' "$work/text" | sort |
		uniq -c | awk '{ print $1, $2, $3 }' | tr -d '"' | sort >"$work/want"
	awk '$1 == "process" { print $3, $5, $8 }' "$work/table" | tr -d '"' | sort >"$work/have"
	is "processes, $1" "$(cat "$work/want")" "$(cat "$work/have")"
	is "pairs, $1" thread "$(awk '$1 == "pair" && $NF == "work:inner" { print $3 }' "$work/table")"
	rmdir "$s"
}
try app '$app.nothing:here' app_nothing_here
