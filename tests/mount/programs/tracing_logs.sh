#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 300
#
# Rust's trail::Layer with what is difficult for it (logs/logs.rs): values that cannot be printed,
# or that log; two layers; names that no event can have; and more combinations than there are events,
# whose common events have the levels of what they record.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/languages.sh"
PATH=/usr/bin:$PATH
cargo --version >/dev/null 2>&1 && rustc --version >/dev/null 2>&1 ||
	skip "there is no cargo, or no rustc"
ls -d "$registry"/tracing-subscriber-0.3* >/dev/null 2>&1 ||
	skip "there is no crate tracing-subscriber"
mount_tree
session() { # NAME RULE…
	s=$S/$1
	shift
	mkdir "$s" && printf '%s\n' "$@" >"$s/user/events" && put start "$s/control" || fail "session"
}
session s 'rust:*' 'my_app:*'
session errors 'rust:* loglevel <= err'
session filtered 'rust:logs if x == 7'
build_rust logs "$here/logs/logs.rs" '"tracing"' '
tracing = { version = "0.1", default-features = false, features = ["std"] }
tracing-subscriber = { version = "0.3", default-features = false, features = ["registry", "std"] }'
events() {
	put stop "$S/$1/control"
	is "$1: lost" 0 "$(key events_discarded "$S/$1/status")"
	sed 's/^\[[^]]*\] ([^)]*) [^ ]* \([^ ]*\): { cpu_id = [0-9]* }, /\1 /' "$S/$1/text" >"$work/$1"
}
events s
# (Each layer prints a value that is a record of its own.)
awk '/message = "nested"/ { nested++; next } /"many"/ || !(NR in had) && $0 != last { print }
	{ last = $0 }' "$work/s" | grep -v many >"$work/have"
cat >"$work/want" <<'END'
rust:logs { message = "fails", why = "part" }
rust:logs { message = "panics", why = "" }
rust:logs.span_begin { }
rust:logs.span_begin { late = 3, shown = "logs" }
rust:logs.span_end { }
rust:logs { message = "generic", x = "text" }
rust:logs { message = "generic", x = 7 }
rust:logs { message = "generic", x = 1.5 }
rust:_ { message = "no target", type = 1 }
rust:logs { message = "nul\\x00", text = "a\\x00b" }
my_app:keywords { type = 1, fn = "x" }
END
diff "$work/have" "$work/want" >"$work/diff" || fail "$(cat "$work/diff")"
is "of each value" 136 "$(grep -c '"many".*= 2 }$\|many.*=2" }$' "$work/s")"
is "of each value" 136 "$(grep -c '"many".*= 3 }$\|many.*=3" }$' "$work/s")"
has "$(cat "$work/s")" '^rust:tracing { target = "logs", level = "DEBUG", fields = .*bq=3" }'
events errors
is "errors" 136 "$(wc -l <"$work/errors")"
has "$(cat "$work/errors")" '^rust:tracing { target = "logs", level = "ERROR", fields = .*bq=2" }'
events filtered
is "those with the value" 'rust:logs { message = "generic", x = 7 }' "$(sort -u "$work/filtered")"
echo "$((checks + $(wc -l <"$work/want"))) checks"
