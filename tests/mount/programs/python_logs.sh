#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 100
#
# Python's trail.Handler with what is difficult for it (logs/logs.py): the program neither prints
# nor hangs, and each record is in the trace or counted as lost.
. "$(dirname "$0")/../../lib/mount.sh"
command -v python3 >/dev/null || skip "there is no python3"
PYTHONDONTWRITEBYTECODE=1 PYTHONUTF8=1
export PYTHONDONTWRITEBYTECODE PYTHONUTF8
run() {
	PYTHONPATH=$top/ustlib/python LD_LIBRARY_PATH=$BUILD \
		timeout 60 python3 -W ignore "$here/logs/logs.py"
}

mount_tree
mkdir "$S/s" && put '*' "$S/s/user/events" && put start "$S/s/control" || fail "session"
run >"$work/out" 2>&1 || fail "exit status $?: $(cat "$work/out")"
is "what it prints" "" "$(cat "$work/out")"
put stop "$S/s/control"
sed -n 's/^\[[^]]*\] ([^)]*) [^ ]* \([^ ]*\): { cpu_id = [0-9]* }, /\1 /p' "$S/s/text" |
	sed 's/f0=0 .* f60=60/f0=0 f60=60/' >"$work/have"
cat >"$work/want" <<'END'
python:hard { level = 20, logger = "hard", message = "nul\\x00", text = "a\\x00b", _ = 1, __ = 2, ___ = 3 }
python:logging { level = 40, logger = "hard", message = "wide", extra = "f0=0 f60=60" }
python:hard { level = 20, logger = "hard", message = "inner", k = "s" }
python:hard { level = 20, logger = "hard", message = "outer", k = "s" }
python:hard { level = 20, logger = "hard", message = "child", child = 1 }
python:hard { level = 20, logger = "hard", message = "thread", other = 1 }
hard:flag { flag = 1 }
hard:flag { flag = 0 }
python:logging { level = 50, logger = "hard", message = "full", extra = "full=1" }
END
diff "$work/have" "$work/want" >"$work/diff" || fail "$(cat "$work/diff")"
# Three records, and four values of a flag
is "lost" 7 "$(key events_discarded "$S/s/status")"
echo "$((checks + $(wc -l <"$work/want"))) checks"
