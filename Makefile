# SPDX-License-Identifier: GPL-2.0-or-later
#
# make help lists the targets. Variables:
#
#   CC, CXX          compilers (gcc and clang are tested)
#   SAN=1            AddressSanitizer and UBSan for the daemon and its tests; SAN=thread: ThreadSanitizer
#   COVERAGE=1       count which lines of the daemon run (make coverage)
#   WERROR=1         warnings are errors
#   V=1              show all commands, and all that the tests print
#   DESTDIR, PREFIX  for install (PREFIX is /usr/local)
#   RELAY=1          for static: outputs may be addresses of relays; EXPORTS=1: the files of export/;
#                    IMPORTS=1: traces of others in `input`
#   TESTS            what `tests/run` is to run: "unit", "mount", a name pattern (check only)
#
# Each combination of compiler, SAN and COVERAGE has its own build directory: build, build-san, build-clang, build-clang-san, ….
#
# There are no lists of sources: a room is all its files. A test program may say what it is linked with, within its
# first ten lines:
#
#   /* LINK: core trail pthread */
#
# core is the daemon's library, trail the application's, trail-static the same as an archive, none is nothing, any other
# word W is -lW. The default is core for tests in unit/ and tests named adversarial/fuzz_* and bench/text_*, and trail for the rest. Programs with core are
# sanitized by SAN, the others stand for other people's programs and are not. A source tests/…/lib*.c becomes a shared
# object lib*.so beside the programs (for dlopen).

VERSION = 0.2.0
SOVERSION = 0

ifeq ($(origin CC),default)
CC = gcc
endif
ifeq ($(origin CXX),default)
CXX = $(if $(findstring clang,$(CC)),$(subst clang,clang++,$(CC)),g++)
endif
AR ?= ar
PKG_CONFIG ?= pkg-config
INSTALL ?= install

PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
DATADIR ?= $(PREFIX)/share/trailfs
INCLUDEDIR ?= $(PREFIX)/include
MANDIR ?= $(PREFIX)/share/man
DOCDIR ?= $(PREFIX)/share/doc/trailfs
# Where that Python looks for modules below PREFIX
PYTHON ?= python3
PYTHONDIR ?= $(or $(shell $(PYTHON) -c 'import site; print(next((p for p in site.getsitepackages() \
	if p.startswith("$(PREFIX)/lib/")), ""))' 2>/dev/null),$(PREFIX)/lib/python3/dist-packages)
# These are looked for there, and not below /usr/local
TMPFILESDIR ?= $(if $(filter /usr/local,$(PREFIX)),/etc/tmpfiles.d,$(PREFIX)/lib/tmpfiles.d)
SYSUSERSDIR ?= $(if $(filter /usr/local,$(PREFIX)),/etc/sysusers.d,$(PREFIX)/lib/sysusers.d)
UNITDIR ?= $(PREFIX)/lib/systemd/system

# ---- where and how to build ----

san_thread := $(filter thread,$(SAN))
comma := ,
sanitize := $(if $(filter-out 0,$(SAN)),$(if $(san_thread),thread,address$(comma)undefined))

compiler := $(notdir $(firstword $(CC)))
B := build$(if $(filter-out gcc cc,$(compiler)),-$(compiler))$(if $(sanitize),$(if $(san_thread),-tsan,-san))$(if $(COVERAGE),-coverage)

# valgrind of Debian 12 does not read what clang writes as DWARF 5.
CFLAGS ?= -O2 -g$(if $(findstring clang,$(CC)), -gdwarf-4)
WARNINGS = -Wall -Wextra -Wshadow $(if $(filter-out 0,$(WERROR)),-Werror)
C_WARNINGS = -Wstrict-prototypes -Wmissing-prototypes $(UNUSED)
SANFLAGS = $(if $(sanitize),-fsanitize=$(sanitize) -fno-sanitize-recover=undefined -fno-omit-frame-pointer) \
	$(if $(COVERAGE),--coverage -fprofile-update=atomic)
# Products are the same wherever the sources are: debuggers look for these from the working directory.
MAPFLAGS = -ffile-prefix-map=$(CURDIR)=.
# -MD, not -MMD: trail.h counts as a system header.
DEPFLAGS = -MD -MP

ALL_CFLAGS = -std=gnu11 -D_GNU_SOURCE= $(CFLAGS) $(MAPFLAGS) $(WARNINGS) $(C_WARNINGS) -I. $(DEPFLAGS)
ALL_CXXFLAGS = -std=c++17 $(CFLAGS) $(MAPFLAGS) $(WARNINGS) -I. $(DEPFLAGS)

# ATOMIC_LIBS, LARGE_FILES and LONG_TIMES, see below
-include $B/libs.mk
THREAD_LIBS = $(strip -lpthread $(ATOMIC_LIBS))

PACKAGES = fuse3 liburcu uuid zlib liblzma
pkg = $(shell $(PKG_CONFIG) $(1) 2>/dev/null)
PKG_CFLAGS := $(call pkg,--cflags $(PACKAGES))
# Optional: without it there is no export/trace.sqlite (tracer.h looks for its header, too).
SQLITE_LIBS := $(or $(call pkg,--libs sqlite3),$(if $(wildcard /usr/include/sqlite3.h),-lsqlite3))
CORE_LIBS := $(or $(call pkg,--libs liburcu uuid zlib liblzma),-lurcu -luuid -lz -llzma) $(SQLITE_LIBS) -ldl $(THREAD_LIBS)
FS_LIBS := $(or $(call pkg,--libs fuse3),-lfuse3)
LTTNG_LIBS := $(call pkg,--libs lttng-ust)
LTTNG_CTL_LIBS := $(call pkg,--libs lttng-ctl)

# ---- what there is ----

CORE_SRC := $(sort $(wildcard metadata/*.c tracer/*.c tracer/*/*.c tracer/*/*/*.c))
FS_SRC := $(sort $(wildcard fs/*/*.c))
LIB_SRC := $(sort $(wildcard ustlib/*.c ustlib/base/*.c ustlib/context/*.c ustlib/front/*.c))
ifneq ($(STATIC),)
# For `make static`: what a target board does without, and another C library
LEFT_OUT := $(wildcard tracer/view/metrics/*.c tracer/kernel/sampling.c tracer/kernel/sample/*.c \
	tracer/kernel/count/*.c tracer/kernel/programs/*.c) \
	$(addprefix tracer/app/agent/,server.c link.c port_file.c tcp_table.c agent_events.c agent_rule.c)
ifeq ($(RELAY),)
LEFT_OUT += $(filter-out %/url.c,$(wildcard tracer/output/relay/*.c))
CPPFLAGS += -DWITHOUT_RELAY
endif
ifeq ($(EXPORTS),)
LEFT_OUT += $(foreach d,export picture parquet maker,$(wildcard tracer/format/$d/*.c))
CPPFLAGS += -DWITHOUT_EXPORTS
endif
ifeq ($(IMPORTS),)
LEFT_OUT += $(foreach d,foreign import,$(wildcard tracer/format/$d/*.c))
CPPFLAGS += -DWITHOUT_IMPORTS
endif
CORE_SRC := $(filter-out $(LEFT_OUT),$(CORE_SRC)) tools/static/left_out.c
CFLAGS := -Os -fno-pie -fno-asynchronous-unwind-tables -ffunction-sections -fdata-sections
CPPFLAGS += -include tools/static/musl.h -DWITHOUT_COMPRESSION
PKG_CFLAGS := -idirafter build-musl-libs/include -Ibuild-musl-libs/include/fuse3
LIB_PATHS = -idirafter build-musl-libs/include
CORE_LIBS := build-musl-libs/libuuid.a $(THREAD_LIBS)
FS_LIBS := build-musl-libs/libfuse3.a -static -Wl,--gc-sections,-z,noseparate-code,-z,norelro -s
# What the rows of export/ use; what gcc finds at -Os only, wrongly
UNUSED := -Wno-unused-function -Wno-unused-const-variable -Wno-type-limits -Wno-maybe-uninitialized
endif
TEST_SRC := $(wildcard tests/*.c tests/lib/*.c $(foreach d,tests/unit/* tests/mount/* tests/adversarial, \
	$d/*.c $d/*.cc) tests/vm/*.c)
BENCH_SRC := $(wildcard tests/bench/*.c)
TOOL_SRC := $(wildcard tools/*.c)

objects = $(addsuffix .o,$(addprefix $B/,$(basename $(1))))
CORE_OBJ := $(call objects,$(CORE_SRC))
FS_OBJ := $(call objects,$(FS_SRC))
LIB_OBJ := $(call objects,$(LIB_SRC))

SONAME = libtrail.so.$(SOVERSION)
PRELOADS = libc pthread cyg-profile cyg-profile-fast dl
PRELOAD_LIBS = $(patsubst %,$B/libtrail-%.so,$(PRELOADS))
DROP_IN = liblttng-ust.so.1
PRODUCTS = $B/trailfs $B/tools/trail-recover $B/libtrail.so $B/libtrail.a $B/trail.pc $B/lttng-ust.pc $(PRELOAD_LIBS) $B/lttng/$(DROP_IN) $B/lttng

# "SOURCE=word,word" for each program that declares its libraries
PROGRAM_SRC := $(TEST_SRC) $(BENCH_SRC) $(TOOL_SRC)
LINKS := $(if $(PROGRAM_SRC),$(shell awk 'FNR <= 10 && $$1 == "/*" && $$2 == "LINK:" { \
	s = FILENAME "="; for (i = 3; i < NF; i++) s = s (i > 3 ? "," : "") $$i; print s }' $(PROGRAM_SRC)))
default_link = $(if $(filter tests/unit/% tests/bench/text_% tests/adversarial/fuzz_%,$(1)),core,trail)
declared = $(subst $(comma), ,$(patsubst $(1)=%,%,$(filter $(1)=%,$(LINKS))))
libs_of = $(or $(call declared,$(1)),$(call default_link,$(1)))

# A word of LINK as prerequisites, and as libraries
word_file = $(if $(filter core,$(1)),$B/libtrailcore.a)$(if $(filter trail,$(1)),$B/libtrail.so)$(if \
	$(filter trail-static,$(1)),$B/libtrail.a)
word_libs = $(if $(filter core,$(1)),$B/libtrailcore.a $(CORE_LIBS))$(if $(filter trail,$(1)),-L$B -ltrail)$(if \
	$(filter trail-static,$(1)),$B/libtrail.a)$(addprefix -l,$(filter-out core trail trail-static none,$(1)))

# Programs that need what this machine does not have are left out
lacks = $(strip $(if $(filter lttng-ust,$(call libs_of,$(1))),$(if $(LTTNG_LIBS),,no)) $(if \
	$(filter lttng-ctl,$(call libs_of,$(1))),$(if $(LTTNG_CTL_LIBS),,no)))
buildable = $(foreach s,$(1),$(if $(call lacks,$(s)),,$(s)))
program = $(if $(filter lib%,$(notdir $(1))),$B/$(basename $(1)).so,$B/$(basename $(1)))
programs = $(foreach s,$(call buildable,$(1)),$(call program,$(s)))

# ---- targets ----

.PHONY: all abi dist deb static tests java demo check check-built unit coverage mount vm san layers bench soak install install-dkms uninstall clean help deps
.DELETE_ON_ERROR:
.SECONDARY:
ifeq ($(filter-out 0,$(V)),)
.SILENT:
endif
# What a rule makes: the only line that it shows without V=1. Objects and test programs show none.
made = @echo '  $(patsubst $(CURDIR)/%,%,$@)'
MAKEFLAGS += --no-print-directory

all: $(PRODUCTS)			## the daemon and the library

TEST_PROGRAMS := $(call programs,$(TEST_SRC))
OTHERS = $B/tests/other/rows/trailfs $B/tests/other/version/trailfs
tests: $(TEST_PROGRAMS) $(OTHERS) $B/tools/demo_app			## the test programs, without running them

deps:
	@tools/deps.sh build test $(if $(findstring clang,$(CC)),clang)

# After deps, make begins anew: what pkg-config says may have changed.
check:					## say and install what is missing, build, run all tests
	@tools/deps.sh --announce build test $(if $(findstring clang,$(CC)),clang) multilib vm analyses
	@echo 'make check: $(if $(TESTS),,all tests take about 10 to 30 minutes on 2 CPUs$(if $(sanitize), without a sanitizer$(comma) and several times that with one); )make check-built installs nothing'
	@$(MAKE) deps
	@tools/deps.sh --try multilib vm
	@tools/deps.sh --try analyses
	@$(MAKE) $(if $(findstring -j,$(MAKEFLAGS)),,-j$$(nproc)) check-built

check-built: all tests			## all tests, with the packages that are installed
	@$(RUN) $(TESTS)

RUN = BUILD=$(abspath $B) CC='$(CC)' CXX='$(CXX)' SAN='$(SAN)' tests/run

unit: $B/tests/reap $(filter $B/tests/unit/%,$(TEST_PROGRAMS))	## the unit tests (no root, no mount)
	@$(RUN) unit

coverage:				## functions of rooms that no unit test reaches, by gcov
	@$(MAKE) COVERAGE=1 coverage-built

coverage-built: $B/tests/reap $(filter $B/tests/unit/%,$(TEST_PROGRAMS))
	@find $B -name '*.gcda' -delete
	@$(RUN) unit; failed=$$?; BUILD=$(abspath $B) tests/coverage.sh; exit $$failed

mount: all $(OTHERS) $B/tests/reap $(filter $B/tests/mount/% $B/tests/lib/%,$(TEST_PROGRAMS))	## the tests on a mounted tree
	@$(RUN) mount

san:					## all tests with AddressSanitizer and UBSan
	@$(MAKE) check SAN=1

layers:					## who may include whom, how long files and functions may be
	@tests/layers.sh

vm: all tests				## the tests in guests with other kernels
	@$(RUN) vm

soak: all tests				## the long tests: adversarial, guests, SQL, packages, programs for LTTng: hours
	@tools/deps.sh --try soak
	@tools/deps.sh --try cross
	@tools/deps.sh --try programs
	@SOAK=1 $(RUN) adversarial vm sql_server packages languages agents_ verdicts recovery/undying recovery/upgrade programs/sid views/map_counts views/map_in_kernel \
		output/reclaim programs/process tree/exhausted triggers/trigger_events project/deb project/recipes project/release project/static \
		programs/containers

bench: deps				## costs beside LTTng-UST, babeltrace2, perf and trace-cmd
	@tools/deps.sh --try vm bench analyses
	@$(MAKE) bench-built

.PHONY: bench-built bench-programs coverage-built demo-built FORCE
# Lines for a debugger, and no types: programs of tests are not shipped, and there are hundreds.
$B/tests/%.o: CFLAGS := $(patsubst -g,-g1,$(CFLAGS))
# LTTng-UST's macros, ours
$B/tests/bench/bench_compat.o: CPPFLAGS += -Iustlib/lttng

bench-programs: $(call programs,$(BENCH_SRC)) $(addprefix $B/tests/,adversarial/tree_storm lib/ticker)

bench-built: all bench-programs	## make bench, with the packages that are installed
	@BUILD=$(abspath $B) CC='$(CC)' tests/bench/run

demo:					## mount, trace a real program, compare with babeltrace2, unmount
	@tools/deps.sh build test
	@$(MAKE) demo-built

demo-built: all $B/tools/demo_app	## make demo, with the packages that are installed
	@BUILD=$(abspath $B) tools/demo.sh

help:					## this list
	@sed -n 's/^\([a-z-]*\):.*## *\(.*\)/  make \1|\2/p' Makefile | while IFS='|' read -r t d; do printf '%-20s %s\n' "$$t" "$$d"; done

clean:					## remove the build directories
	rm -rf build build-*

# ---- one static binary for target boards, with musl (tools/static/) ----

# (What is left out is no prerequisite of what is built.)
STATIC_B = build-musl-gcc$(if $(RELAY),-relay)$(if $(EXPORTS),-exports)$(if $(IMPORTS),-imports)
static:					## build-musl-gcc/trailfs, static and small, and libtrail, with musl
	@mkdir -p build-musl-libs && exec 9>build-musl-libs/lock && flock 9 && \
		tools/static/libs.sh build-musl-libs && \
		$(MAKE) CC=musl-gcc STATIC=1 SAN= B=$(STATIC_B) $(addprefix $(STATIC_B)/,trailfs libtrail.so libtrail.a)
	@ls -l $(STATIC_B)/trailfs

# ---- what else is linked: with some compilers, atomic operations on bytes are functions of libatomic ----
# On processors of 32 bits, the daemon's files have sizes of 64 bits, as libfuse wants it. Its core has times of 64
# bits, too; fs/ has those of libfuse.

$B/libs.mk:
	@mkdir -p $(@D)
	@echo 'char c, d; int main(void) { return __atomic_exchange_n(&c, 1, 5) + __atomic_fetch_or(&c, 1, 5) + \
		__atomic_compare_exchange_n(&c, &d, 1, 0, 5, 5); }' > $@.c
	@for l in '' -latomic; do ! $(CC) $(CFLAGS) $(LDFLAGS) -o $@.test $@.c $$l 2>/dev/null || \
		{ echo "ATOMIC_LIBS := $$l" > $@; break; }; done
	@echo 'char few[sizeof(long) == 4 ? 1 : -1];' > $@.c
	@! $(CC) $(CFLAGS) -c -o $@.test $@.c 2>/dev/null || printf '%s\n' "LARGE_FILES := -D_FILE_OFFSET_BITS=64" \
		"LONG_TIMES := -D_TIME_BITS=64" >> $@
	@rm -f $@.c $@.test

# ---- the daemon ----

$(CORE_OBJ) $(FS_OBJ): $B/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(SANFLAGS) $(LARGE_FILES) $(if $(filter fs/%,$<),,$(LONG_TIMES)) \
		-DTRAILFS_VERSION='"$(VERSION)"' $(PKG_CFLAGS) $(CPPFLAGS) -c -o $@ $<

# Most steps of an event are of few kinds: branches are predicted, and cost less than a jump table.
$B/tracer/format/import/packet.o: CFLAGS += -fno-jump-tables

# q, not r: files of two rooms may have the same name.
# It has the page within it.
$B/tracer/format/picture/page.o: tracer/format/picture/page.html
$B/tracer/format/picture/report_page.o: tracer/format/picture/report.html
$B/fs/tree/readme.o: docs/schema.json
$B/tracer/format/picture/flame.o: tracer/format/picture/flame.js

$B/libtrailcore.a: $(CORE_OBJ)
	$(made)
	@rm -f $@
	$(AR) qcsD $@ $^

$B/trailfs: $(FS_OBJ) $B/libtrailcore.a
	$(made)
	$(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) -Wl,--as-needed -o $@ $^ $(FS_LIBS) $(CORE_LIBS)

# ---- the same daemon with other rows in its tree, and with another version of the hand-over: for tests of upgrades ----

$B/tests/other/rows/root.o: fs/tree/root.c
$B/tests/other/version/handover.o: fs/base/handover.c
$B/tests/other/rows/root.o $B/tests/other/version/handover.o:
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(SANFLAGS) $(LARGE_FILES) -DTRAILFS_VERSION='"$(VERSION)+other"' -DOTHER_ROWS -DHANDOVER_VERSION=1000u $(PKG_CFLAGS) $(CPPFLAGS) -c -o $@ $<

$B/tests/other/rows/trailfs: $B/tests/other/rows/root.o $(filter-out $B/fs/tree/root.o,$(FS_OBJ)) $B/libtrailcore.a
$B/tests/other/version/trailfs: $B/tests/other/version/handover.o $(filter-out $B/fs/base/handover.o,$(FS_OBJ)) $B/libtrailcore.a
$(OTHERS):
	$(made)
	$(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) -Wl,--as-needed -o $@ $^ $(FS_LIBS) $(CORE_LIBS)

# ---- the library: never sanitized, never unloaded ----

LIB_CFLAGS = -fPIC -fvisibility=hidden -Iustlib $(LIB_PATHS)

$(LIB_OBJ): $B/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(LIB_CFLAGS) $(CPPFLAGS) -c -o $@ $<

$B/$(SONAME): $(LIB_OBJ)
	$(made)
	$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(SONAME) -Wl,-z,nodelete -Wl,-z,defs -o $@ $^ $(THREAD_LIBS)

$B/libtrail.so: $B/$(SONAME)
	@ln -sf $(SONAME) $@

# What stands in for functions of libc would stand in its way in an archive; a static program loads no plug-in.
$B/libtrail.a: $(filter-out $B/ustlib/interpose.o $B/ustlib/plugin.o,$(LIB_OBJ))
	$(made)
	@rm -f $@
	$(AR) rcsD $@ $^

# ---- what is preloaded beside it: ustlib/preload/NAME.c is libtrail-NAME.so. Never sanitized nor unloaded either ----

# That malloc is defined by means of malloc is not for the compiler to find out.
PRELOAD_CFLAGS = -fno-builtin-malloc -fno-builtin-calloc -fno-builtin-realloc -fno-builtin-free

$(call objects,$(wildcard ustlib/preload/*.c)): $B/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(LIB_CFLAGS) $(PRELOAD_CFLAGS) $(CPPFLAGS) -c -o $@ $<

$B/libtrail-dl.so: $(addprefix $B/ustlib/preload/,dump.o loaded.o elf.o runpath.o)

$(PRELOAD_LIBS): $B/libtrail-%.so: $B/ustlib/preload/%.o $B/libtrail.so
	$(made)
	$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(@F) -Wl,-z,nodelete -Wl,-z,defs -Wl,-rpath,'$$ORIGIN' -o $@ \
		$(filter %.o,$^) -L$B -ltrail -ldl $(THREAD_LIBS)

# ---- LTTng-UST's libraries for programs that were compiled against them: one object with three names, and those of the
# helpers. Each directory with it has libtrail.so.0, too: the run path is that of the name it was found by. ----

DROP_IN_OBJ := $(call objects,$(wildcard ustlib/drop-in/*.c))
# What it shares with libtrail-dl.so
DROP_IN_SHARED = $(addprefix $B/ustlib/preload/,dump.o loaded.o elf.o)
DROP_IN_NAMES = liblttng-ust-tracepoint.so.1 liblttng-ust-common.so.1 liblttng-ust.so.0 liblttng-ust-tracepoint.so.0
DROP_IN_HELPERS = $(foreach v,0 1,$(foreach h,$(LTTNG_HELPERS),liblttng-ust-$(subst =,.so.$(v)=,$(h))))
# $(1): where libtrail is, seen from the directory $(2)
drop_in_links = for n in $(DROP_IN_NAMES); do ln -sf $(DROP_IN) $(2)/$$n || exit 1; done; \
	for h in $(DROP_IN_HELPERS); do ln -sf $(1)/$${h\#*=} $(2)/$${h%%=*} || exit 1; done; \
	ln -sf $(1)/$(SONAME) $(2)/$(SONAME)

$(DROP_IN_OBJ): $B/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(LIB_CFLAGS) $(CPPFLAGS) -c -o $@ $<

$B/lttng: $B/lttng/$(DROP_IN)
	@$(call drop_in_links,..,$@)
	@touch $@

$B/lttng/$(DROP_IN): $(DROP_IN_OBJ) $(DROP_IN_SHARED) $B/libtrail.so
	$(made)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(DROP_IN) -Wl,-z,nodelete -Wl,-z,defs -Wl,-rpath,'$$ORIGIN' -o $@ \
		$(DROP_IN_OBJ) $(DROP_IN_SHARED) -L$B -ltrail -ldl $(THREAD_LIBS)

# ---- the appender of Log4j 2, for LTTng's classes of Java agents: only by `make java` ----

JAVAC ?= javac
JAVADIR ?= $(PREFIX)/share/java
# Where a distribution has the jars that it is compiled with
JARS ?= /usr/share/java
JAVA_SRC := $(wildcard ustlib/java/org/lttng/ust/agent/log4j2/*.java)
JAVA_PRODUCTS = $B/java/trail-log4j2.jar $B/lttng/libtrail-log4j2-jni.so
JAVA_CLASSPATH = $(JARS)/lttng-ust-agent-common.jar:$(JARS)/log4j-api.jar:$(JARS)/log4j-core.jar
JAVA_INCLUDE = $(abspath $(shell dirname "$$(readlink -f "$$(command -v $(JAVAC))")")/../include)

java: $(JAVA_PRODUCTS)			## the appender of Log4j 2 (needs a JDK, log4j and LTTng's jars)

# log4j-core.jar has the annotation processor that lists the plug-in.
$B/java/trail-log4j2.jar: $(JAVA_SRC)
	$(made)
	@rm -rf $(@D)/classes && mkdir -p $(@D)/classes
	$(JAVAC) --release 8 -Xlint:-options -Xlint:-processing -cp $(JAVA_CLASSPATH) -d $(@D)/classes $^
	@printf 'Class-Path: %s\n' $(JARS)/lttng-ust-agent-common.jar > $(@D)/manifest
	jar cfm $@ $(@D)/manifest -C $(@D)/classes .

$B/lttng/libtrail-log4j2-jni.so: ustlib/java/log4j2.c $B/libtrail.so $B/lttng
	$(made)
	$(CC) $(ALL_CFLAGS) $(LIB_CFLAGS) -I$(JAVA_INCLUDE) -I$(JAVA_INCLUDE)/linux $(CPPFLAGS) $(LDFLAGS) -shared \
		-Wl,-soname,$(@F) -Wl,-z,defs -Wl,-rpath,'$$ORIGIN' -o $@ $< -L$B -ltrail -ldl

# Anew each time: PREFIX may have changed.
$B/trail.pc $B/lttng-ust.pc: $B/%.pc: ustlib/%.pc.in FORCE
	@mkdir -p $(@D)
	@sed 's,@PREFIX@,$(PREFIX),; s,@LIBDIR@,$(LIBDIR),; s,@INCLUDEDIR@,$(INCLUDEDIR),; s,@VERSION@,$(VERSION),; s,@LIBS@,$(THREAD_LIBS),' \
		$< > $@

# ---- test programs ----

# $(1) source, $(2) its words
define program_rule
$(basename $B/$(1)).o: $(1)
	@mkdir -p $$(@D)
	$(if $(filter %.cc,$(1)),$$(CXX) $$(ALL_CXXFLAGS),$$(CC) $$(ALL_CFLAGS)) -Iustlib $(if $(filter lib%,$(notdir $(1))),-fPIC) \
		$(if $(filter core,$(2)),$$(SANFLAGS) $$(LARGE_FILES) $$(LONG_TIMES)) $$(CPPFLAGS) -c -o $$@ $$<

$(call program,$(1)): $(basename $B/$(1)).o $(foreach w,$(2),$(call word_file,$(w)))
	$(if $(filter %.cc,$(1)),$$(CXX),$$(CC)) $$(CFLAGS) $(if $(filter lib%,$(notdir $(1))),-shared) $(if \
		$(filter core,$(2)),$$(SANFLAGS)) $$(LDFLAGS) -o $$@ $$< -Wl,-rpath,'$$$$ORIGIN/../..:$$$$ORIGIN/..:$$$$ORIGIN/../../..' \
		-Wl,--as-needed $(foreach w,$(2),$(call word_libs,$(w))) -lm $(THREAD_LIBS)
endef
$(foreach s,$(call buildable,$(PROGRAM_SRC)),$(eval $(call program_rule,$(s),$(call libs_of,$(s)))))

# ---- documents ----

docs/seeds.md: data/seeds tools/seeds-table.sh
	tools/seeds-table.sh >$@.new && mv $@.new $@

# ---- installation ----

HEADERS = $(wildcard ustlib/trail/*.h)
DOCUMENTS = $(wildcard docs/*.md docs/*.svg docs/*.png) docs/CHANGES docs/CONTRIBUTING docs/trailfs.conf docs/schema.json

# For programs with LTTng-UST trace points: what they look for, where a real LTTng-UST has nothing
LTTNG_HEADERS = $(wildcard ustlib/lttng/lttng/*.h)
LTTNG_INCLUDEDIR = $(INCLUDEDIR)/trail-lttng
LTTNG_LIBDIR = $(LIBDIR)/trail
# LTTng-UST's names of the libraries that are preloaded, for command lines that its manual has
LTTNG_HELPERS = libc-wrapper=libtrail-libc.so pthread-wrapper=libtrail-pthread.so cyg-profile=libtrail-cyg-profile.so 	cyg-profile-fast=libtrail-cyg-profile-fast.so dl=libtrail-dl.so fork=$(SONAME) fd=$(SONAME)

install: all				## to PREFIX below DESTDIR; makes /run/trailfs and the group only with PREFIX /usr or /usr/local
	$(INSTALL) -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(INCLUDEDIR)/trail \
		$(DESTDIR)$(MANDIR)/man1 $(DESTDIR)$(MANDIR)/man3 $(DESTDIR)$(MANDIR)/man4 $(DESTDIR)$(MANDIR)/man8 $(DESTDIR)$(DOCDIR) $(DESTDIR)$(TMPFILESDIR)
	$(INSTALL) -m 755 $B/trailfs $B/tools/trail-recover $(DESTDIR)$(BINDIR)/
	$(INSTALL) -d $(DESTDIR)$(DATADIR)/groups
	$(INSTALL) -m 644 $(wildcard data/groups/*.ini) $(DESTDIR)$(DATADIR)/groups/
	$(INSTALL) -m 755 tools/packaging/service $(DESTDIR)$(DATADIR)/
	$(INSTALL) -m 755 $B/$(SONAME) $(DESTDIR)$(LIBDIR)/
	ln -sf $(SONAME) $(DESTDIR)$(LIBDIR)/libtrail.so
	$(INSTALL) -m 755 $(PRELOAD_LIBS) $(DESTDIR)$(LIBDIR)/
	$(INSTALL) -m 644 $B/libtrail.a $(DESTDIR)$(LIBDIR)/
	$(INSTALL) -m 644 $B/trail.pc $(DESTDIR)$(LIBDIR)/pkgconfig/
	$(INSTALL) -m 644 $(HEADERS) $(DESTDIR)$(INCLUDEDIR)/trail/
	$(INSTALL) -d $(DESTDIR)$(LTTNG_INCLUDEDIR)/lttng $(DESTDIR)$(LTTNG_LIBDIR)/pkgconfig
	$(INSTALL) -m 644 $(LTTNG_HEADERS) $(DESTDIR)$(LTTNG_INCLUDEDIR)/lttng/
	$(INSTALL) -d $(DESTDIR)$(LTTNG_INCLUDEDIR)/lttng/tp
	$(INSTALL) -m 644 $(wildcard ustlib/lttng/lttng/tp/*.h) $(DESTDIR)$(LTTNG_INCLUDEDIR)/lttng/tp/
	ln -sfn $(shell realpath -m --relative-to=$(LTTNG_LIBDIR) $(LTTNG_INCLUDEDIR)) $(DESTDIR)$(LTTNG_LIBDIR)/include
	ln -sfn ../trail $(DESTDIR)$(LTTNG_INCLUDEDIR)/trail
	$(INSTALL) -m 644 $B/lttng-ust.pc $(DESTDIR)$(LTTNG_LIBDIR)/pkgconfig/
	ln -sf ../$(SONAME) $(DESTDIR)$(LTTNG_LIBDIR)/liblttng-ust.so
	ln -sf ../$(SONAME) $(DESTDIR)$(LTTNG_LIBDIR)/liblttng-ust-common.so
	ln -sf ../$(SONAME) $(DESTDIR)$(LTTNG_LIBDIR)/$(SONAME)
	for h in $(LTTNG_HELPERS); do \
		ln -sf ../$${h#*=} $(DESTDIR)$(LTTNG_LIBDIR)/liblttng-ust-$${h%%=*}.so || exit 1; \
		[ -e $(DESTDIR)$(LIBDIR)/liblttng-ust-$${h%%=*}.so ] || \
			ln -sf $${h#*=} $(DESTDIR)$(LIBDIR)/liblttng-ust-$${h%%=*}.so || exit 1; \
	done
	$(INSTALL) -d $(DESTDIR)$(LTTNG_LIBDIR)/lttng
	$(INSTALL) -m 755 $B/lttng/$(DROP_IN) $(DESTDIR)$(LTTNG_LIBDIR)/lttng/
	$(call drop_in_links,../..,$(DESTDIR)$(LTTNG_LIBDIR)/lttng)
	if [ -e $B/java/trail-log4j2.jar ]; then \
		$(INSTALL) -m 755 $B/lttng/libtrail-log4j2-jni.so $(DESTDIR)$(LTTNG_LIBDIR)/lttng/ && \
		$(INSTALL) -d $(DESTDIR)$(JAVADIR) && $(INSTALL) -m 644 $B/java/trail-log4j2.jar $(DESTDIR)$(JAVADIR)/; \
	fi
	$(INSTALL) -m 755 tools/trail-gen-tp $(DESTDIR)$(BINDIR)/
	ln -sf $(BINDIR)/trail-gen-tp $(DESTDIR)$(LTTNG_LIBDIR)/lttng-gen-tp
	$(INSTALL) -d $(DESTDIR)$(DATADIR)/rust/src
	$(INSTALL) -m 644 ustlib/rust/Cargo.toml $(DESTDIR)$(DATADIR)/rust/
	$(INSTALL) -m 644 ustlib/rust/src/*.rs $(DESTDIR)$(DATADIR)/rust/src/
	$(INSTALL) -d $(DESTDIR)$(DATADIR)/go
	$(INSTALL) -m 644 ustlib/go/go.mod ustlib/go/*.go $(DESTDIR)$(DATADIR)/go/
	$(INSTALL) -d $(DESTDIR)$(PYTHONDIR)
	$(INSTALL) -m 644 ustlib/python/trail.py $(DESTDIR)$(PYTHONDIR)/
	$(INSTALL) -m 644 docs/trail-recover.1 $(DESTDIR)$(MANDIR)/man1/
	$(INSTALL) -m 644 docs/trail.3 docs/trail-preload.3 docs/trail-lttng.3 docs/trail-python.3 $(DESTDIR)$(MANDIR)/man3/
	$(INSTALL) -m 644 docs/trail-python.3 $(DESTDIR)$(MANDIR)/man3/trail_event_create.3
	$(INSTALL) -m 644 docs/trailfs.4 docs/trailfs-*.4 $(DESTDIR)$(MANDIR)/man4/
	$(INSTALL) -m 644 docs/trailfs.8 $(DESTDIR)$(MANDIR)/man8/
	$(INSTALL) -m 644 README.md LICENSE $(DOCUMENTS) $(DESTDIR)$(DOCDIR)/
	$(INSTALL) -d $(DESTDIR)$(DOCDIR)/examples $(DESTDIR)$(SYSUSERSDIR) $(DESTDIR)$(UNITDIR)
	$(INSTALL) -m 644 docs/examples/tmpfiles.conf $(DESTDIR)$(TMPFILESDIR)/trailfs.conf
	$(INSTALL) -m 644 docs/examples/sysusers.conf $(DESTDIR)$(SYSUSERSDIR)/trailfs.conf
	sed 's,@BINDIR@,$(BINDIR),' docs/examples/trailfs.service >$(DESTDIR)$(UNITDIR)/trailfs.service
	chmod 644 $(DESTDIR)$(UNITDIR)/trailfs.service
	$(INSTALL) -m 644 $(filter-out %/trailfs.service,$(wildcard docs/examples/*)) $(DESTDIR)$(DOCDIR)/examples/
# These say where things are.
	sed -i 's,/usr/local/share/trailfs,$(DATADIR),; s,/usr/local/bin/trailfs,$(BINDIR)/trailfs,' \
		$(addprefix $(DESTDIR)$(MANDIR)/man3/,trail-python.3 trail_event_create.3) \
		$(addprefix $(DESTDIR)$(DOCDIR)/examples/,trail.go trail.rs trailfs.init trailfs.openrc)
	@echo 'installed below $(DESTDIR)$(PREFIX)'
# Not for a package (DESTDIR), nor for a private PREFIX: these belong to the whole system.
	$(if $(DESTDIR),,@tools/installed.sh$(if $(filter /usr /usr/local,$(patsubst %/,%,$(PREFIX))), --system) '$(BINDIR)' '$(LIBDIR)' '$(MANDIR)' '$(UNITDIR)' '$(PYTHONDIR)')

KMOD_SRC = $(DESTDIR)/usr/src/trailfs-$(VERSION)

install-dkms:				## the source of the kernel module to /usr/src, for dkms
	$(INSTALL) -d $(KMOD_SRC)/tracer/abi
	cp -r kmod $(KMOD_SRC)/
	$(INSTALL) -m 644 $(wildcard tracer/abi/*.h tracer/abi/*.def) $(KMOD_SRC)/tracer/abi/
	sed 's,@VERSION@,$(VERSION),' kmod/dkms.conf > $(KMOD_SRC)/dkms.conf

# ---- a release ----

# What a release is made of
SOURCES = fs tracer kmod ustlib metadata tools tests docs data Makefile README README.md LICENSE
DIST = trailfs-$(VERSION)
# The day that docs/CHANGES has for this version; files of a release have no other time.
EPOCH := $(or $(SOURCE_DATE_EPOCH),$(shell date -u -d "$$(sed -n 's/^$(VERSION) (\(.*\))$$/\1/p' docs/CHANGES)" +%s 2>/dev/null))

# From git, what is committed is listed, with the contents that the files have now.
dist:					## BUILD/trailfs-VERSION.tar.xz, the same bytes each time
	@mkdir -p $B
	{ [ -e .git ] && git ls-files -z -- $(SOURCES) || find $(SOURCES) ! -type d ! -name '*.pyc' -print0; } | \
		sort -z | tar --null -T - -c --format=ustar --owner=0 --group=0 --numeric-owner --mode=u+w,go-w,a+rX \
		--mtime=@$(EPOCH) --transform 's,^,$(DIST)/,S' | xz -T1 >$B/$(DIST).tar.xz
	@echo '  $B/$(DIST).tar.xz'

# The list of what libtrail offers programs; tests/mount/project/abi.sh compares it with data/libtrail.abi.
abi: $B/libtrail.so			## accept the interface of libtrail as it is now
	@CC='$(CC)' tools/abi.sh $B/libtrail.so.$(SOVERSION) >data/libtrail.abi.new && mv data/libtrail.abi.new data/libtrail.abi

# The sources in a directory of their own, so that nothing is built or changed here.
DEB_SRC = $B/deb/trailfs-$(VERSION)

deb:					## Debian packages of this release, in BUILD/deb; needs dpkg-dev, debhelper, dh-dkms and dh-python
	@for c in dpkg-buildpackage dh dh_dkms dh_python3; do command -v $$c >/dev/null || { \
		echo "make deb: there is no $$c: apt install dpkg-dev debhelper dh-dkms dh-python" >&2; exit 1; }; done
	rm -rf $B/deb && mkdir -p $(DEB_SRC)
	cp -a $(SOURCES) $(DEB_SRC)/
	cp -a tools/debian $(DEB_SRC)/debian
	{ echo 'trailfs ($(VERSION)) unstable; urgency=medium'; echo; echo '  * See /usr/share/doc/trailfs/CHANGES in trailfs-doc.'; \
		echo; echo " -- trailfs maintainers <trailfs@example.org>  $$(date -u -R -d @$(EPOCH))"; } >$(DEB_SRC)/debian/changelog
	cd $(DEB_SRC) && env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS DEB_BUILD_OPTIONS="parallel=$$(nproc)" dpkg-buildpackage -b -us -uc -d
	@ls $B/deb/*.deb

uninstall:				## remove what install installed
	rm -f $(DESTDIR)$(BINDIR)/trailfs $(DESTDIR)$(LIBDIR)/$(SONAME) $(DESTDIR)$(LIBDIR)/libtrail.so \
		$(addprefix $(DESTDIR)$(LIBDIR)/,$(notdir $(PRELOAD_LIBS))) \
		$(DESTDIR)$(LIBDIR)/libtrail.a $(DESTDIR)$(LIBDIR)/pkgconfig/trail.pc $(DESTDIR)$(MANDIR)/man3/trail-preload.3 \
		$(DESTDIR)$(MANDIR)/man3/trail.3 \
		$(DESTDIR)$(MANDIR)/man4/trailfs.4 $(DESTDIR)$(MANDIR)/man4/trailfs-*.4 $(DESTDIR)$(MANDIR)/man8/trailfs.8 $(DESTDIR)$(TMPFILESDIR)/trailfs.conf \
		$(DESTDIR)$(SYSUSERSDIR)/trailfs.conf $(DESTDIR)$(UNITDIR)/trailfs.service
	rm -f $(DESTDIR)$(BINDIR)/trail-recover $(DESTDIR)$(MANDIR)/man1/trail-recover.1
	rm -f $(DESTDIR)$(BINDIR)/trail-gen-tp $(DESTDIR)$(MANDIR)/man3/trail-lttng.3
	rm -f $(DESTDIR)$(PYTHONDIR)/trail.py $(DESTDIR)$(PYTHONDIR)/__pycache__/trail.*.pyc $(addprefix $(DESTDIR)$(MANDIR)/man3/,trail-python.3 trail_event_create.3) $(DESTDIR)$(JAVADIR)/trail-log4j2.jar
	for h in $(LTTNG_HELPERS); do \
		l=$(DESTDIR)$(LIBDIR)/liblttng-ust-$${h%%=*}.so; \
		[ "$$(readlink $$l)" != $${h#*=} ] || rm -f $$l; \
	done
	rm -rf $(DESTDIR)$(DATADIR) $(DESTDIR)$(INCLUDEDIR)/trail $(DESTDIR)$(LTTNG_INCLUDEDIR) $(DESTDIR)$(LTTNG_LIBDIR) $(DESTDIR)$(DOCDIR)

-include $(wildcard $B/*/*.d $B/*/*/*.d $B/*/*/*/*.d)
