# SPDX-License-Identifier: GPL-2.0-or-later
#
# What a line costs in other languages, a part of run: an event of trailfs beside the usual logger
# of the language, which writes the same line to /dev/null. Each program prints `NAME NS`, by
# the CPU time of the process. LINES (200000; Python: a tenth): of each.

language_row() { # WHAT OURS THEIRS
	local ours theirs
	ours=$(awk -v n="$2" '$1 == n { print $2 }' "$work/lines")
	theirs=$(awk -v n="$3" '$1 == n { print $2 }' "$work/lines")
	row "  $1" "$ours" "$theirs" "$(ratio "$ours" "$theirs")"
}

rust_lines() {
	local registry=/usr/share/cargo/registry
	ls -d $registry/tracing-subscriber-0.3* >/dev/null 2>&1 && command -v cargo >/dev/null ||
		{ echo "  Rust is left out: no cargo, or no crate tracing-subscriber"; return; }
	mkdir -p "$work/rust/src" "$work/rust/.cargo"
	cp tests/bench/languages/lines.rs "$work/rust/src/main.rs"
	cat >"$work/rust/Cargo.toml" <<END
[package]
name = "lines"
version = "0.1.0"
edition = "2018"
[dependencies]
trail = { path = "$PWD/ustlib/rust", features = ["tracing"] }
tracing = { version = "0.1", default-features = false, features = ["std"] }
tracing-subscriber = { version = "0.3", default-features = false, features = ["fmt", "registry"] }
END
	printf '[source.crates-io]\nreplace-with = "d"\n[source.d]\ndirectory = "%s"\n' $registry \
		>"$work/rust/.cargo/config.toml"
	(cd "$work/rust" && PATH=/usr/bin:$PATH CARGO_HOME=$work/cargo \
		RUSTFLAGS="-L native=$BUILD -C link-arg=-Wl,-rpath,$BUILD" \
		cargo build --release --offline >"$work/cargo.out" 2>&1) ||
		die "cargo: $(tail -n 5 "$work/cargo.out")"
	"$work/rust/target/release/lines" "$lines" >"$work/lines" 2>/dev/null || die "lines.rs"
	language_row "Rust: trail! (theirs: tracing's fmt)" trail fmt
	language_row "Rust: trail::Layer (theirs: tracing's fmt)" layer fmt
}

go_lines() {
	command -v go >/dev/null || { echo "  Go is left out: it is not installed"; return; }
	mkdir -p "$work/go"
	cp tests/bench/languages/lines.go "$work/go/"
	(cd "$work/go" && export GOCACHE="$work/gocache" GOPROXY=off CGO_CFLAGS="-I$OLDPWD/ustlib" \
		CGO_LDFLAGS="-L$BUILD -Wl,-rpath,$BUILD" && go mod init lines &&
		go mod edit -require=trail@v0.0.0 "-replace=trail@v0.0.0=$OLDPWD/ustlib/go" &&
		go build -o lines .) >"$work/go.out" 2>&1 || die "go: $(tail -n 5 "$work/go.out")"
	"$work/go/lines" "$lines" >"$work/lines" 2>/dev/null || die "lines.go"
	language_row "Go: Record (theirs: log.Printf)" trail log
}

python_lines() {
	PYTHONPATH=ustlib/python LD_LIBRARY_PATH=$BUILD python3 tests/bench/languages/lines.py \
		$((lines / 10)) >"$work/lines" || die "lines.py"
	language_row "Python: trail.Event (theirs: logging.FileHandler)" trail logging
	language_row "Python: trail.Handler (theirs: logging.FileHandler)" handler logging
}

languages() {
	local lines=${LINES:-200000}
	note "languages"
	heading "other languages: CPU time of a line, ns (theirs is the usual logger, to /dev/null)"
	start_trailfs
	mkdir "$mnt/sessions/lines" && mkdir "$mnt/sessions/lines/user/channels/channel0" &&
		echo overwrite >"$mnt/sessions/lines/user/channels/channel0/loss_mode" || die "no session"
	printf '%s\n' 'lines:*' 'rust:*' 'python:*' >"$mnt/sessions/lines/user/events"
	echo start >"$mnt/sessions/lines/control" || die "not started"
	rust_lines
	go_lines
	python_lines
	grep -q '^events_recorded [1-9]' "$mnt/sessions/lines/status" || die "nothing is recorded"
	stop_trailfs
}
