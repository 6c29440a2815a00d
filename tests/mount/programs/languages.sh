#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# Rust's crate (ustlib/rust) and Go's example (docs/examples/trail.go), built without crates or
# modules of others: what their programs record.
. "$(dirname "$0")/../../lib/mount.sh"
# Of the distribution, if there are several
PATH=/usr/bin:$PATH
mount_tree
mkdir "$S/s" && printf 'rusty:*\nmy_app:*\n' >"$S/s/user/events" &&
	put start "$S/s/control" || fail "session"
: >"$work/want"

# (rustup's cargo is a link that looks below HOME for the real one, which the test makes private.)
RUSTUP_HOME=${RUSTUP_HOME:-${HOME:-/root}/.rustup}
export RUSTUP_HOME
if cargo --version >/dev/null 2>&1 && rustc --version >/dev/null 2>&1; then
	mkdir -p "$work/rusty/src"
	cp "$here/languages/main.rs" "$work/rusty/src/"
	cat >"$work/rusty/Cargo.toml" <<END
[package]
name = "rusty"
version = "0.1.0"
edition = "2018"
[dependencies]
trail = { path = "$top/ustlib/rust" }
END
	(cd "$work/rusty" && HOME=$work CARGO_HOME=$work/cargo CARGO_TARGET_DIR=$work/target \
		RUSTFLAGS="-D warnings -L native=$BUILD -C link-arg=-Wl,-rpath,$BUILD" \
		timeout 500 cargo build --offline >"$work/cargo.out" 2>&1) ||
			fail "cargo: $(tail -n 20 "$work/cargo.out")"
	timeout 100 "$work/target/debug/rusty" || fail "the program in Rust: exit status $?"
	cat >>"$work/want" <<'END'
rusty:none { }
rusty:all { a = -1, b = 18446744073709551615, c = 0.5, d = 1, e = "/über", f = "cut" }
rusty:loop { n = 0 }
rusty:loop { n = 1 }
rusty:loop { n = 2 }
rusty:many { a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8, i = 9, j = 10, k = 11, l = "x" }
END
	languages="Rust"
fi
if command -v go >/dev/null; then
	mkdir "$work/go"
	(cd "$work/go" && cp "$top/docs/examples/trail.go" . &&
		HOME=$work GO111MODULE=off GOCACHE=$work/go/cache CGO_CFLAGS="-I$top/ustlib" \
		CGO_LDFLAGS="-L$BUILD -Wl,-rpath,$BUILD" \
		timeout 500 go build -o "$work/gopher" trail.go >"$work/go.out" 2>&1) ||
			fail "go: $(tail -n 20 "$work/go.out")"
	timeout 100 "$work/gopher" || fail "the program in Go: exit status $?"
	cat >>"$work/want" <<'END'
my_app:request { id = 42, path = "/index.html", ms = 1.5 }
my_app:request { id = -1, path = "/goroutine", ms = 0 }
END
	languages="${languages-} Go"
fi
[ -n "${languages-}" ] || skip "there is neither cargo and rustc nor go"
put stop "$S/s/control"
cat "$S/s/text" >"$work/text"
sed 's/^\[[^]]*\] ([^)]*) [^ ]* \([^ ]*\): { cpu_id = [0-9]* }, /\1 /' "$work/text" |
	diff - "$work/want" >"$work/diff" || fail "$languages: $(cat "$work/diff")"
checks=$((checks + $(wc -l <"$work/want")))
echo "$checks checks: $languages"
