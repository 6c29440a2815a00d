#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# Packages of Debian that were compiled against LTTng-UST, unmodified, with the libraries of
# $BUILD/lttng: their programs run and their events are recorded, or if they need hardware, their
# tracepoints are listed (the table of docs/lttng-programs.md). What is not installed is left out;
# make soak installs it.
. "$(dirname "$0")/../../lib/mount.sh"
[ -e "$BUILD/lttng/liblttng-ust.so.1" ] || fail "there is no $BUILD/lttng"
libs=/usr/lib/$(gcc -print-multiarch 2>/dev/null)
HOME=$work/home XDG_RUNTIME_DIR=$work/run
export HOME XDG_RUNTIME_DIR
unset DISPLAY WAYLAND_DISPLAY
mkdir -p "$HOME/.local/share/applications" "$XDG_RUNTIME_DIR" && chmod 700 "$XDG_RUNTIME_DIR"
mount_tree
mkdir "$S/s" && put '*' "$S/s/user/events" && put start "$S/s/control" || fail "session"
rows=$(sed -n 's/^| `\([^`]*\)`.* | `\([A-Za-z_]*:[^ `]*\)` | \([a-z]*\) |$/\1 \2 \3/p' \
	"$top/docs/lttng-programs.md")
[ -n "$rows" ] || fail "no rows in docs/lttng-programs.md"

# start COMMAND…: in the background, in a process group of its own, with our libraries
started=
start() {
	LD_LIBRARY_PATH=$BUILD/lttng setsid "$@" </dev/null >>"$work/programs.log" 2>&1 &
	started="$started $!"
}
# (mir_demo_server may wait for ever after SIGTERM, when its display ends at that time.)
end_started() {
	for p in $started; do kill -s KILL -- "-$p" 2>/dev/null; done
	wait
	started=
}
# have PATH…: they exist, or are commands
have() {
	for f in "$@"; do
		case $f in /*) [ -e "$f" ] || return ;; *) command -v "$f" >/dev/null || return ;; esac
	done
}

# Each starts what hits the event, and fails if it is not installed.
run_python() {
	have python3 "$libs/liblttng-ust-python-agent.so.1" && start python3 -c '
import ctypes
agent = ctypes.CDLL("liblttng-ust-python-agent.so.1")
agent.py_tracepoint(b"now", b"some words", b"a.logger", b"function", 12, 30, 5, b"a thread")'
}
run_java() {
	jar=/usr/share/java/liblttng-ust-java.jar
	have javac "$jar" "$libs/jni/liblttng-ust-java.so" || return
	cat >"$work/Hits.java" <<'JAVA'
public class Hits {
	public static void main(String[] args) {
		org.lttng.ust.LTTngUst.init();
		org.lttng.ust.LTTngUst.tracepointIntInt("two numbers", 3, -4);
	}
}
JAVA
	start java -Djava.library.path="$libs/jni" -cp "$jar" "$work/Hits.java"
}
run_profiler() { have lomiri-app-launch-tracepoints && start lomiri-app-launch-tracepoints; }
run_launch() {
	have lomiri-app-launch dbus-run-session || return
	printf '[Desktop Entry]\nName=app\nExec=/bin/true\nType=Application\nX-Lomiri-Touch=true\n' \
		>"$HOME/.local/share/applications/app.desktop"
	start dbus-run-session -- lomiri-app-launch app
}
# A display, in $DISPLAY of what is started then
run_display() {
	rm -f "$work/display"
	start Xvfb -displayfd 5 -screen 0 320x240x24 5>"$work/display"
	within 60 test -s "$work/display" || fail "Xvfb: $(tail -n 5 "$work/programs.log")"
	shown=DISPLAY=:$(cat "$work/display")
}
run_metrics() {
	have lomiri-ui-toolkit-launcher Xvfb || return
	run_display
	printf 'import QtQuick 2.0\nItem { width: 40; height: 40 }\n' >"$work/item.qml"
	start env "$shown" lomiri-ui-toolkit-launcher --metrics-logging lttng "$work/item.qml"
}
# Its reports say what it tries before it finds that there is no display.
run_mir() {
	have mir_demo_server &&
		start mir_demo_server --shared-library-prober-report=lttng
}
run_compositor() {
	have mir_demo_server mir_demo_client_wayland Xvfb "$libs/mir/server-platform" || return
	run_display
	start env "$shown" mir_demo_server --scene-report=lttng
	socket() { [ -S "$XDG_RUNTIME_DIR/wayland-0" ]; }
	within 60 socket || fail "mir_demo_server: $(tail -n 5 "$work/programs.log")"
	start env WAYLAND_DISPLAY=wayland-0 mir_demo_client_wayland
}
# Loads a library, and waits.
run_load() {
	have python3 "$1" && start python3 -c '
import ctypes, sys, time
ctypes.CDLL(sys.argv[1])
time.sleep(1000)' "$1"
}
run_camera() { run_load "$libs/libcamera.so.0.0.3"; }
run_qtmirserver() { run_load "$libs/libqtmirserver.so.2"; }
run_qtmir() { run_load "$libs/qt5/qml/QtMir/Application/libqtmirapplicationplugin.so"; }
run_agents() { false; }

recorded() { grep -q " $1: " "$S/s/text"; }
listed() { grep -q "^$1" "$MNT/available/user/tracepoints"; }
seen= absent=
while read -r package event how; do
	command -v "run_$how" >/dev/null || fail "the table names '$how', which there is not"
	if "run_$how"; then
		check=recorded
		case $how in camera | qtmir | qtmirserver) check=listed ;; esac
		within 60 $check "$event" ||
			fail "$package: no $event: $(cut -c1-300 "$work/programs.log" | tail -n 20)"
		checks=$((checks + 1))
		seen="$seen $package"
	else
		absent="$absent $package"
	fi
	end_started
done <<END
$rows
END
put stop "$S/s/control"
[ -n "$seen" ] || skip "none of these is installed:$absent"
echo "$checks packages:$seen; not installed, or tested elsewhere:$absent"
