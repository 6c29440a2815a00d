/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "fs/tree/rows.h"
#include "tracer/face/tracer.h"

/* docs/schema.json */
extern const char schema_begin[] __attribute__((visibility("hidden")));
extern const char schema_end[] __attribute__((visibility("hidden")));
__asm__(".section .rodata\n"
	"schema_begin: .incbin \"docs/schema.json\"\n"
	"schema_end: .previous\n");

void schema_print(struct md_buf *out)
{
	md_buf_put(out, schema_begin, (size_t)(schema_end - schema_begin));
}

static const char readme_head[] =
	"trailfs: tracing with mkdir, echo, cat and tail\n"
	"\n"
	"    mkdir sessions/web && cd sessions/web    make a session\n"
	"    echo 'my_app:*' > user/events            which events of programs it records\n"
	"    echo start > control                     record\n"
	"    tail -f text                             watch\n"
	"    cat pipe | head -n 5                     or wait for the next five events\n"
	"    echo stop > control                      when this returns, recording ended\n"
	"    babeltrace2 trace; cp -r trace ~/saved   a CTF trace; a copy is a save\n"
	"    cd / && rmdir …/sessions/web             remove the session and its events\n"
	"\n"
	"Programs are built with `#include <trail/trail.h>` and -ltrail. They need no\n"
	"restart when recording starts.\n"
	"\n"
	"FOR SCRIPTS AND AGENTS: all that can be done here is found by reading\n"
	"    find . -maxdepth 2                  what there is; nothing blocks but pipe,\n"
	"                                        wait, streams/ and notifications\n"
	"    cat status.json                     this daemon, as a JSON object\n"
	"    cat available/user/fields           events of programs that run, with types\n"
	"    cat available/kernel/events/sched/sched_switch   the fields of one event\n"
	"    mkdir sessions/S; cd sessions/S     EEXIST: take another name\n"
	"    cat control config                  the verbs that work now; all settings\n"
	"    printf 'RULE\\n' > user/events       an error number means: nothing changed;\n"
	"    cat error                           a sentence, with the place in the rule\n"
	"    cat rules.json                      0 tracepoints: nothing has this name yet\n"
	"    echo start > control                returns when recording has begun\n"
	"    cat status.json                     problem, advice, unmatched: what to do\n"
	"    cat counts.json                     how many events of each name, and losses\n"
	"    head -n 20 export/json              events, one JSON object per line\n"
	"    cat stats.json                      rates, and times between begin and end\n"
	"    mkdir user/maps/M                   sums and histograms: rules, values.json\n"
	"    echo stop > control                 then all is complete; rmdir ends it\n"
	"    schema.json is the JSON Schema of status, counts, stats and rules.json, and\n"
	"    of available/user.json and kernel.json: events with types, contexts.\n"
	"\n"
	"FILES\n"
	"    version, status       about this daemon; `status` has its counters;\n"
	"                          status.json: as JSON\n"
	"    metrics               counters of the daemon and of the sessions that you\n"
	"                          may read, for Prometheus (OpenMetrics);\n"
	"                          metrics.prom: for the node exporter and promtool\n"
	"    error                 your last mistakes outside sessions and triggers\n"
	"    log                   each line written becomes the event trail:log in your\n"
	"                          own and in root's sessions that enabled it\n"
	"    available/user/       what running programs offer: tracepoints (`provider:\n"
	"                          name loglevel`), fields, contexts\n"
	"    available/kernel/     what the kernel offers: events/SYSTEM/EVENT (fields),\n"
	"                          tracepoints, syscalls, contexts, groups (hooks for\n"
	"                          rules @NAME, and what records each); with trail.ko\n"
	"                          also `probes`: who records each of them\n"
	"                          tracepoint\n"
	"    apps/PID/             programs: comm, uid, tracepoints, fields, status; you\n"
	"                          see your own, root sees all\n"
	"    sessions/NAME/        mkdir makes one, rmdir removes it. Private at first:\n"
	"                          chmod g+rx or g+rwx and chgrp share it\n"
	"      control             start, stop, clear, rotate, snapshot [NAME]\n"
	"                          [last TIME] [after TIME], regenerate\n"
	"                          metadata|statedump. A read shows the verbs that are\n"
	"                          accepted now\n"
	"      status, error       its state and counters; your last mistakes in it\n"
	"      counts              how often each event was recorded; `-` is not known\n"
	"      status.json counts.json stats.json rules.json\n"
	"                          the same as JSON\n"
	"      metrics             the same and all maps, for Prometheus (OpenMetrics);\n"
	"                          metrics.prom: for the node exporter and promtool\n"
	"      stats               rates by event and process, times of entry/exit pairs\n"
	"      top                 the rates of the last second\n"
	"      wait                a read returns when something in `status`, except its\n"
	"                          counters, has changed since the open\n";

static const char readme_files[] =
	"      archives/           earlier chunks, each a trace, in the output directory\n"
	"      user/events         event rules of channel0, which the first rule makes\n"
	"      user/rules          how many tracepoints each rule matches now, and its\n"
	"                          hits: a misspelt rule has 0, and for a misspelt\n"
	"                          field `status` has a line unknown_field\n"
	"      user/contexts       what each event of channel0 has besides its fields:\n"
	"                          vpid vtid procname perf:thread:NAME\n"
	"                          $app.provider:name … Other channels have their own\n"
	"      user/track/         vpid, vuid, vgid, cgroup (paths as /proc/PID/cgroup\n"
	"                          has them): only these processes are recorded;\n"
	"                          `*` is all, empty is none\n";

static const char readme_domains[] =
	"      user/maps/NAME/     mkdir makes a map, which aggregates events and does\n"
	"                          not record them: rules, values, values.json, clear,\n"
	"                          buffer_size, max_keys.\n"
	"                          A rule: web:req by path count, sum(ms), hist(ms)\n"
	"      jul/, log4j/, log4j2/, python/\n"
	"                          events (loggers), contexts: what programs log\n"
	"      kernel/             the same for the kernel (root and group `tracing`):\n"
	"                          events, rules, contexts (pid tid ppid procname cpu_id;\n"
	"                          with the module all of available/kernel/contexts),\n"
	"                          track/pid and track/cgroup (with children; with the\n"
	"                          module vpid uid vuid gid vgid, too), channels/NAME\n"
	"                          with streams/cpuN and backend (auto tracefs bpf\n"
	"                          module), maps/NAME\n"
	"      text                every event held, by time; never blocks; tail -f\n"
	"                          follows it; lines WARNING: say what was lost, and\n"
	"                          where; all other forms say it, too\n"
	"      pipe                the same, but a read waits for the next event, and\n"
	"                          ends when the session has stopped\n"
	"      text.symbols        text, and the functions that callstacks and ip are in;\n"
	"                          pipe.symbols: as pipe\n"
	"      export/json         as text, one JSON object per line; pipe.json: as pipe;\n"
	"                          export/json.symbols: with the names of text.symbols\n";

static const struct { const char *name, *help; } exports[] = {
#ifndef WITHOUT_EXPORTS
#define EXPORT(form, file, make, help) { "export/" file, help },
#include "tracer/session/exports.def"
	{ "export/lket/", "what is held as binary files of LKET" },
	{ "export/ltt/", "… as a trace directory of LTT 0.7" },
#endif
};

static const char readme_traces[] =
	"      trace/              the session as a CTF trace directory, as it was when\n"
	"                          your program first read it\n"
	"      snapshots/NAME/     mkdir copies the buffers into such a directory; it\n"
	"                          stays until rmdir. With an output it is also copied\n"
	"                          there, to snapshots/NAME-DATE-TIME-N\n";

static const char readme_rest[] =
	"      config              all settings as an INI file: cat config > f saves\n"
	"                          them; mkdir another, cat f > config loads them. Files\n"
	"                          NAME.ini in /etc/trailfs/sessions.d are loaded by each\n"
	"                          mount; `start = yes` starts them\n"
	"    triggers/NAME/        mkdir makes one, rmdir removes it. Private at first\n"
	"      condition           one line: event user|kernel RULE [capture FIELD, ...]\n"
	"                          session S started|stopped|destroyed\n"
	"                          rotation S ongoing|completed\n"
	"                          buffer S/DOMAIN/CHANNEL > 75%, consumed S > 10M,\n"
	"                          discarded S > 0\n"
	"      actions             one per line: notify, start S, stop S, rotate S,\n"
	"                          clear S, snapshot S [NAME] [last TIME] [after\n"
	"                          TIME] [max-size N] [output PLACE], increment\n"
	"                          S/DOMAIN/MAP KEY; each with `every N` or\n"
	"                          `once-after N`; !ACTION removes one\n"
	"      enabled             0 or 1\n"
	"      status              hits, and how often each action was executed or failed\n"
	"      notifications       a read waits for the next; notifications.json: as JSON\n"
	"      config              all settings as an INI file\n"
	"\n"
	"EVENT RULES, one per line\n"
	"    provider:name   provider:*   *   then, in this order, as you need:\n"
	"    except PATTERN,…            without these\n"
	"    loglevel warning            this level only (emerg 0 … debug 14);\n"
	"                                `<= warning`, `A..B`, `LEVEL..`\n"
	"    if id > 3 && path == \"/api/*\"\n"
	"                                a condition on fields, $ctx.NAME and\n"
	"                                $app.provider:name, up to the end of the line\n"
	"    !RULE or !PATTERN           removes rules; ~RULE disables one\n"
	"    ?RULE                       in kernel/events: waits for its event, of a\n"
	"                                module or file that is not there yet\n"
	"    An event that several rules match is recorded once per channel.\n"
	"\n"
	"    kernel/events: sched_switch  sched:*  *  syscall:openat  syscall:*\n"
	"    syscall:entry:NAME  syscall:exit:NAME; then the same as above, without\n"
	"    loglevel. `*` includes the state dump lttng_statedump_* at each start. Text\n"
	"    arguments of system calls (filename …) are recorded where the kernel has\n"
	"    event probes. lttng_logger: what is written to `log`.\n"
	"    Probes, named in the trace as the rule is written; `version` says which the\n"
	"    kernel has:\n"
	"    kprobe:SYMBOL+OFF  kretprobe:SYMBOL  uprobe:PATH:SYMBOL\n"
	"    uretprobe:PATH:SYMBOL  usdt:PATH:PROVIDER:NAME (fields arg0 …)\n"
	"    kcall:SYMBOL  ucall:PATH:SYMBOL: entry and return, two events\n"
	"    uprobe:, uretprobe: and ucall: with * in SYMBOL: an event for each function\n"
	"    function:NAME (with *): calls of kernel functions, as the event\n"
	"    function { ip, parent_ip, func, parent_func }\n"
	"    sample:cpu 99hz  sample:cycles 1000000  sample:faults: what the CPUs\n"
	"    execute, as trail:sample with callstacks\n"
	"    @process.execve  @iosyscall.read  @nfs  @*: hooks of LKET, recorded by what\n"
	"    this kernel has for them\n"
	"\n"
	"WRITING\n"
	"    One write is one unit: all its lines take effect, or none. `>` replaces a\n"
	"    list with its first write, `>>` adds to it; `echo > user/events` empties it.\n"
	"    For a list in one piece: cat > user/events <<EOF. After a failed write the\n"
	"    same open accepts no more, with the same error number. Lines that begin with\n"
	"    # are comments; words may be in double quotes, with C escapes.\n"
	"    The last line needs no newline; but the unfinished end of a write of 512\n"
	"    bytes or more waits for the next write, or for close.\n"
	"    Sizes and times take units (4M, 100ms, 2s); 0 is off, inf is unlimited.\n"
	"    Choices read as `[overwrite] discard`.\n"
	"    A mistake gives an error number, and a sentence in the `error` beside the\n"
	"    file, or above, the newest first, until your next write there succeeds.\n"
	"    After the first start a channel's contexts, sizes, modes and times are\n"
	"    EBUSY; rules, `enabled` and track/ are not.\n"
	"    Names: letters, digits and _ . : @ + -, not beginning with one of the last\n"
	"    five. Sessions 200 bytes, channels 128.\n"
	"    Files cannot be made, removed or renamed (EPERM); sizes and times of files\n"
	"    can be set, without effect. To remove a session: rmdir, not rm -r.\n"
	"\n"
	"READING\n"
	"    All that was recorded before an open is in it: nothing needs a flush. The\n"
	"    first read fixes a file's contents; a read at offset 0 renews them. poll(2)\n"
	"    reports POLLPRI on `status` when it has changed since; inotify sees nothing.\n"
	"    `pipe` and `streams` show size 0 and are no FIFOs: do not cp -r a session,\n"
	"    copy its trace/. text keeps its offsets while events come and go; a reader\n"
	"    that was overtaken continues at the oldest event held.\n"
	"    A trace image in trace/ lasts while your program has files of it open, and\n"
	"    for two seconds after its last access.\n"
	"    Times are in the zone that `version` names (mount option tz=).\n"
	"    Limits of one user (EDQUOT): the lines `user` of `status` show them.\n"
	"    Unmounting ends all sessions. If the daemon is killed, another one\n"
	"    continues with the mount, or you mount again: sessions and their events\n"
	"    are still there.\n";

static const struct { const char *name, *help; } settings[] = {
#define HELP(help, ...) help
#define SETTING(name, kind, member, ...) { name, HELP(__VA_ARGS__, ) },
#include "tracer/session/session_settings.def"
};

static const char channel_settings[] =
#define SETTING(name, kind, member, ...) name ", "
#define KERNEL_SETTING(name, kind, member, ...)
#include "tracer/session/channel_settings.def"
	;

#define INDENT 26
#define COLUMNS 79

/* An entry of FILES, with its text in lines */
static void print_entry(const char *name, const char *text, struct md_buf *out)
{
	size_t column = INDENT;

	md_buf_printf(out, "      %-*s", INDENT - 6, name);
	if (strlen(name) >= INDENT - 6)
		md_buf_printf(out, "\n%*s", INDENT, "");
	while (*text) {
		size_t len = strcspn(text, " ");

		if (column > INDENT && column + 1 + len > COLUMNS) {
			md_buf_printf(out, "\n%*s", INDENT, "");
			column = INDENT;
		}
		md_buf_printf(out, "%s%.*s", column > INDENT ? " " : "", (int)len, text);
		column += len + (column > INDENT);
		text += len + (text[len] == ' ');
	}
	md_buf_putc(out, '\n');
}

/* The settings of snapshots, or the others */
static void print_settings(bool of_snapshots, struct md_buf *out)
{
	for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++)
		if (!strncmp(settings[i].name, "snapshot", 8) == of_snapshots)
			print_entry(settings[i].name, settings[i].help, out);
}

void readme_print(struct md_buf *out)
{
	struct md_buf channel = MD_BUF_INIT;

	md_buf_printf(&channel, "mkdir makes a channel: events, contexts, %sstatus, "
		      "streams/UID/cpuN or streams/PID/cpuN (CTF packets)", channel_settings);
	md_buf_puts(out, readme_head);
	print_settings(false, out);
	md_buf_puts(out, readme_files);
	print_entry("user/channels/NAME/", md_buf_str(&channel), out);
	md_buf_puts(out, readme_domains);
	for (size_t i = 0; i < sizeof(exports) / sizeof(*exports); i++)
		print_entry(exports[i].name, exports[i].help, out);
	md_buf_puts(out, readme_traces);
	print_settings(true, out);
	md_buf_puts(out, readme_rest);
	md_buf_deinit(&channel);
}
