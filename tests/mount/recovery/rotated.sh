#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Programs read text and pipes of sessions with an output, whose chunks rotate, and the daemon is
# killed. The next daemon continues where they are, also in a chunk that is in the archives by then:
# each gets each event once, and the size of a text that is open never shrinks.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/next_daemon.sh"
command -v python3 >/dev/null || skip "there is no python3"
ticker=$BUILD/tests/lib/ticker
reader=
trap 'code=$?; kill $reader 2>/dev/null; (exit $code); clean_up' EXIT

mount_first
cat >"$work/reader.py" <<'END'
import os, re, select, sys
root, asks, answers = sys.argv[1:]
asks, answers = open(asks, "w"), open(answers)
FORMS = ("text", "pipe", "pipe.json", "export/json", "text.symbols")
SIZED = ("text", "text.symbols", "export/json")

def ask(*words):
    print(*words, file=asks, flush=True)
    answers.readline()

class Session:
    def __init__(self, name):
        self.name, self.dir, self.count, self.numbers = name, root + "/" + name, 0, []
        ask("make", name)
        self.tick(300)
        self.fds = {f: os.open(self.dir + "/" + f, os.O_RDONLY | os.O_NONBLOCK) for f in FORMS}
        self.got = dict.fromkeys(FORMS, b"")
    def tick(self, n):
        ask("tick", n)
        self.numbers += range(n)
    def rotate(self):
        ask("rotate", self.name)
    def read(self, form, most):
        """Reads up to that many bytes. False: the end for now."""
        try:
            b = os.read(self.fds[form], most)
        except BlockingIOError:
            return False
        except OSError as e:
            sys.exit("%s: %s: %s" % (self.name, form, e))
        self.got[form] += b
        return b != b""
    def found(self, form):
        return [int(n) for n in re.findall(rb'(?:\bn = |"n":)(\d+)', self.got[form])]
    def read_all(self):
        for form in FORMS:
            # (A pipe looks for events at most once in its period.)
            while self.read(form, 65536) or len(self.found(form)) < len(self.numbers):
                select.select([], [], [], 0.01)
    def replace(self):
        ask("replace")
        for form in SIZED:
            size = os.stat(self.dir + "/" + form).st_size
            if size < len(self.got[form]):
                sys.exit("%s: %s has shrunk: %d < %d" %
                         (self.name, form, size, len(self.got[form])))
    def check(self):
        self.read_all()
        for form in FORMS:
            if self.found(form) != self.numbers:
                sys.exit("%s: %s: %d events of %d, or others" %
                         (self.name, form, len(self.found(form)), len(self.numbers)))
            os.close(self.fds[form])

s = Session("all_read")                 # nothing newer than the archive
s.read_all()
s.rotate()
s.replace()
s.tick(20)
s.check()

s = Session("in_next")                  # readers are in the chunk after it
s.read_all()
s.rotate()
s.tick(20)
s.read_all()
s.replace()
s.tick(20)
s.check()

s = Session("one_line")                 # … and have one line of it
s.read_all()
s.rotate()
s.tick(1)
s.read_all()
s.replace()
s.tick(20)
s.check()

s = Session("in_archive")               # readers are in an archive, and two chunks follow
for form in FORMS:
    s.read(form, 9001)
s.rotate()
s.tick(20)
s.rotate()
s.tick(20)
s.replace()
s.tick(20)
s.replace()
s.check()
END
mkfifo "$work/asks" "$work/answers"
python3 "$work/reader.py" "$S" "$work/asks" "$work/answers" 2>"$work/reader.err" &
reader=$!
exec 7<"$work/asks" 8>"$work/answers"
while read -r verb word <&7; do
	case $verb in
	make)
		mkdir "$S/$word" || fail mkdir
		put "$work/out.$word" "$S/$word/output"
		put 'tick:*' "$S/$word/user/events"
		put start "$S/$word/control" ;;
	tick) taskset -c "$first_cpu" "$ticker" "$word" 0 >/dev/null || fail ticker ;;
	rotate)
		put rotate "$S/$word/control"
		rotated() { [ "$(key rotation "$S/$word/status")" = idle ]; }
		within 20 rotated || fail "no rotation" ;;
	replace)
		replace ;;
	esac
	checks=$((checks + 1))
	echo go >&8
done
wait "$reader" || fail "$(cat "$work/reader.err")"
echo "$checks checks"
