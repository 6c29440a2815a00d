#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 60
#
# Python's module trail: a logging handler and events of one's own, by libtrail alone; in a program
# that was there before the daemon, one that starts while a session is active, and one without a
# session.
. "$(dirname "$0")/../../lib/mount.sh"
command -v python3 >/dev/null || skip "there is no python3"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
PYTHONDONTWRITEBYTECODE=1 PYTHONUTF8=1
export PYTHONDONTWRITEBYTECODE PYTHONUTF8
log() { PYTHONPATH=$top/ustlib/python LD_LIBRARY_PATH=$BUILD timeout 100 python3 "$here/python/log.py" "$@"; }

log 0 >"$work/alone" 2>&1 || fail "without a daemon: $(cat "$work/alone")"
is "what it prints without a daemon" ready "$(cat "$work/alone")"

mkdir -p "$TRAIL_RUNTIME_DIR/apps"
[ "$(id -u)" != 0 ] || chmod 1777 "$TRAIL_RUNTIME_DIR/apps"
mkfifo "$work/go"
log 1 <"$work/go" >"$work/first" 2>&1 &
first=$!
exec 3>"$work/go"
within 60 grep -q ready "$work/first"
mount_tree
log 0 >"$work/alone" 2>&1 || fail "without a session: $(cat "$work/alone")"

cat >"$work/want" <<'END2'
python:shop.orders { level = 10, logger = "shop.orders", message = "none" }
python:shop.orders { level = 20, logger = "shop.orders", message = "paid 1 of 2", user = "ann", sum = 2.5, n = -7, new = 1 }
python:shop.orders { level = 30, logger = "shop.orders", message = "big", n = "9223372036854775808", none = "None", a_b = 1, level_ = 3 }
python:shop.orders { level = 20, logger = "shop.orders", message = "again", user = "b\\x00b", sum = 0.25, n = 1, new = 0 }
END2
printf 'python:shop.orders { level = 40, logger = "shop.orders", message = "long %s" }\n' \
	"$(printf '%3000s' | tr ' ' x)" >>"$work/want"
cat >>"$work/want" <<'END2'
my_app:request { id = 42, ms = 1.5, path = "/ä", ok = 1 }
my_app:cart { items = "[1, 2.5]", text = "None" }
my_app:request { id = -1, ms = 0, path = "thread", ok = 0 }
my_app:request { id = 2, ms = 0, path = "child", ok = 1 }
END2
judge() {
	same_text "$S/$1"
	sed 's/^\[[^]]*\] ([^)]*) [^ ]* \([^ ]*\): { cpu_id = [0-9]* }, /\1 /' "$work/text" >"$work/have"
	grep -v -e ZeroDivision -e layout "$work/have" | diff - "$work/want" >"$work/diff" ||
		fail "$1: $(cut -c1-300 "$work/diff")"
	has "$(cat "$work/have")" 'level = 50, .*failed\\nTraceback.*ZeroDivisionError'
	is "$1: layouts" 120 "$(grep -c layout "$work/have")"
	has "$(tail -n 1 "$work/have")" \
		'^python:logging { level = 20, logger = "shop.orders", message = "layout", extra = "k119=119" }'
	has "$(cat "$work/have")" '^python:shop.orders {.*"layout", k0 = 0 }'
	is "$1: lost" 6 "$(key events_discarded "$S/$1/status")"
}
mkdir "$S/all" "$S/some" && put '*' "$S/all/user/events" &&
	put 'python:shop.* loglevel <= warning if logger == "shop.*"' "$S/some/user/events" &&
	put start "$S/all/control" && put start "$S/some/control" || fail "sessions"
echo >&3
exec 3>&-
wait $first || fail "the first: $(cat "$work/first")"
put stop "$S/all/control"
put stop "$S/some/control"
judge all
is "only warnings" '30 40 50' "$(sed -n 's/.*{ level = \([0-9]*\).*/\1/p' "$S/some/text" | xargs)"
put clear "$S/all/control"
put start "$S/all/control"
log 0 >"$work/second" 2>&1 || fail "the second: $(cat "$work/second")"
put stop "$S/all/control"
judge all

# Where make install puts it, it is found.
for prefix in /usr /usr/local "$work/private"; do
	make -C "$top" -n install PREFIX="$prefix" DESTDIR="$work" >"$work/install" 2>&1 ||
		fail "make -n install: $(tail -n 3 "$work/install")"
	grep -q "ustlib/python/trail.py $work$prefix/lib/.*python" "$work/install" ||
		fail "$prefix: $(grep python "$work/install")"
done
echo "$checks checks"
