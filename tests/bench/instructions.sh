# SPDX-License-Identifier: GPL-2.0-or-later
#
# What an event costs in the kernel, for tests/bench/run: by instructions, in a guest that counts
# them (tests/vm), with trail.ko and with BPF programs beside LTTng-modules, an instance of tracefs,
# perf and bpftrace. The same on every machine, but for what a cache miss costs on it.
# LTTNG_SUITE=sid: LTTng-modules of Debian sid. BENCH_KERNEL: another of Debian's kernels than 6.1
# (tests/vm/kernel).

instructions_of() { # WHO HOW KIND: less those that the loop costs without a recording
	awk -v who="$1" -v how="$2" -v kind="$3" '
		$1 == "none" && $3 == kind { none = $4 }
		$1 == who && $2 == how && $3 == kind { n = $4 }
		END { if (n) printf "%.0f", n - none }' "$work/instructions"
}

instructions_rows() { # CASE WHAT
	for how in plain filter contexts; do
		what=$2
		[ $how = plain ] || what="  $how"
		for who in lttng ftrace perf bpftrace; do
			theirs=$(instructions_of $who $how "$1")
			[ -n "$theirs" ] || continue
			case $who in
			lttng) label='LTTng-modules' ;;
			ftrace) label='tracefs' ;;
			perf) label='perf record' ;;
			bpftrace) label='bpftrace, printed' ;;
			esac
			for by in trailfs bpf; do
				ours=$(instructions_of $by $how "$1")
				[ $by = trailfs ] || label="$label, by BPF programs"
				[ -z "$ours" ] ||
					row "  $what, $label" "$ours" "$theirs" "$(ratio "$ours" "$theirs")"
			done
		done
		[ -n "$theirs$(instructions_of lttng $how "$1")" ] ||
			row "  $what" "$(instructions_of trailfs $how "$1")" "" ""
	done
}

kernel_instructions() {
	linux=${BENCH_KERNEL:-6.1}
	heading "kernel: instructions per event, in a guest with Debian's $linux (filter: rejects; contexts: pid tid procname)"
	note "instructions: building modules"
	trail=$(BUILD=$BUILD tests/vm/modules $linux) || { echo "  left out: $trail"; return; }
	# shellcheck disable=SC2086
	loop=$(BUILD=$BUILD tests/bench/vm/modules $linux ${LTTNG_SUITE-}) ||
		{ echo "  left out: $loop"; return; }
	note "instructions: in the guest"
	VM_ICOUNT=1 VM_SECONDS=${VM_SECONDS:-900} tests/vm/boot $linux "$PWD/tests/bench/vm/guest.sh" "$trail" \
		"$loop" >"$work/guest" 2>&1
	grep '^[a-z]* [a-z]* [a-z_]* [0-9.]*$' "$work/guest" >"$work/instructions"
	[ -n "$(instructions_of trailfs plain getppid)" ] ||
		{ echo "  left out: $(tail -n 1 "$work/guest")"; return; }
	[ -n "$(instructions_of lttng plain getppid)" ] ||
		echo "  LTTng-modules are left out: $(sed -n 's/^no LTTng-modules: //p' "$work/guest")"
	row "" trailfs theirs ratio
	instructions_rows cpu_frequency "two u32 (power:cpu_frequency)"
	instructions_rows module_get "a string (module:module_get)"
	instructions_rows getppid "getppid, entry and exit"
}
