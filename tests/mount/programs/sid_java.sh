#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 2400
#
# Beside LTTng 2.16 and babeltrace2 2.1.2, as Debian sid has them (see sid.sh): what this LTTng
# records of its agents for Java, of java.util.logging and log4j, with contexts of the application,
# in CTF 2 and 1.8. `input` shows it with the text of this babeltrace2, byte for byte. (Debian does
# not build the agent for Log4j 2.)
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/sid.sh"
need_sid
sid_install java default-jdk-headless liblttng-ust-agent-java liblttng-ust-agent-java-jni \
	liblog4j1.2-java
mount_tree -o tz=UTC
jars=/usr/share/java
classes=$jars/log4j-1.2.jar
for part in common jul log4j; do classes=$classes:$jars/lttng-ust-agent-$part.jar; done
cp "$here/java/Logs.java" "$work/"
cat >"$work/record" <<'END'
javac -proc:none -cp "$1" -d /mnt /mnt/Logs.java || exit 1
lttng-sessiond --no-kernel --daemonize >/mnt/sessiond.log 2>&1 || exit 1
trap 'kill $(cat /run/lttng/lttng-sessiond.pid)' EXIT
for format in ctf-2 ctf-1.8; do
	lttng -n create $format --output=/mnt/$format --trace-format=$format || exit 1
	for d in -j -l; do
		lttng -n enable-event -s $format $d -a || exit 1
	done
	# (They are in all channels of programs: of log4j, too.)
	for c in turn user load open none; do
		lttng -n add-context -s $format -j -t "\$app.app:$c" || exit 1
	done
	lttng -n start $format || exit 1
done
java -Djava.library.path=/usr/lib/$(gcc -print-multiarch)/jni -cp "$1:/mnt" Logs || exit 1
for format in ctf-2 ctf-1.8; do
	lttng -n destroy $format
	TZ=UTC babeltrace2 /mnt/$format >/mnt/$format.text 2>/mnt/$format.err ||
		{ cat /mnt/$format.err; exit 1; }
done
END
sid record "$classes" >"$work/out" 2>&1 ||
	fail "LTTng does not record: $(tail -n 5 "$work/out"; tail -n 5 "$work/sessiond.log")"
for t in ctf-2 ctf-1.8; do
	mkdir "$S/$t" && put "$work/$t" "$S/$t/input"
	cat "$S/$t/text" >"$work/have"
	cmp "$work/$t.text" "$work/have" ||
		fail "the text of '$t': $(diff "$work/$t.text" "$work/have" | cut -c1-300 | head -n 6)"
	is "$t: messages" "j1000 j900 j800 j500 l40000 l30000 l10000" \
		"$(echo $(sed -n 's/.* lttng_[a-z0-9]*:event: .* msg = "\([^"]*\)".*/\1/p' "$work/have"))"
	has "$(cat "$work/have")" 'app[:_]user = { "otto" }'
	rmdir "$S/$t"
done
echo "$checks checks"
