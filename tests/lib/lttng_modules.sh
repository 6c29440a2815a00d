# SPDX-License-Identifier: GPL-2.0-or-later
#
# For guests in which LTTng's kernel modules record. LOOP is what tests/bench/vm/modules prints.
#
#   lttng_modules_missing [LOOP]   whether they cannot be used here: prints why
#   install_lttng_modules LOOP     in a guest: puts them where lttng-sessiond finds them, which
#                                  loads them itself; or fails, and says why
#
# (libkmod reads modules.dep.bin, which busybox's depmod does not write.)

lttng_modules_missing() {
	if ! command -v depmod >/dev/null; then
		echo "there is no depmod"
	elif [ -n "${1-}" ] && ! ls "$1"/lttng/ko/*.ko >/dev/null 2>&1; then
		echo "LTTng's modules cannot be built: $(tail -n 1 "$1/lttng.log")"
	else
		return 1
	fi
}

install_lttng_modules() {
	! lttng_modules_missing "$1" >&2 || return
	m=/lib/modules/$(uname -r)
	files=$(readlink -f "$m")
	rm "$m" && mkdir -p "$m" && cp -r "$1/lttng/ko" "$m/extra" || return
	cp "$files/modules.builtin" "$files/modules.order" "$files/modules.builtin.modinfo" "$m/" \
		2>/dev/null
	depmod
}
