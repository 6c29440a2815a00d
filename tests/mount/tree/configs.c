/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: none */
/*
 * Configurations of sessions, made at random, against a mounted tree.
 *
 *   configs SESSIONS round N SEED [kernel]     N whole sessions: what is read back is what was
 *                                              written, in the session and in a copy of it
 *   configs SESSIONS spoil SECONDS SEED        spoilt ones: refused, and nothing is changed; or
 *                                              taken, and then read back and taken again
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MOST (256 * 1024)

static uint64_t state;
static char text[MOST], again[MOST], third[MOST];
static size_t len;
static const char *sessions;

static uint32_t rnd(uint32_t n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % n;
}

static void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	len += (size_t)vsnprintf(text + len, MOST - len, fmt, ap);
	va_end(ap);
}

static void fail(const char *what)
{
	char path[512];

	printf("FAILED: %s (%s)\n--- written\n%s\n--- read\n%s\n", what, strerror(errno), text,
	       again);
	snprintf(path, sizeof(path), "cat %s/a/error %s/b/error", sessions, sessions);
	if (system(path))
		exit(2);
	exit(1);
}

/* ---- the tree ---- */

static void make(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", sessions, name);
	if (mkdir(path, 0700) < 0)
		fail("mkdir");
}

static void drop(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", sessions, name);
	if (rmdir(path) < 0)
		fail("rmdir");
}

/* In pieces of any size. Returns 0 or the error of close or of a write. */
static int load(const char *name, const char *from, size_t n)
{
	char path[512];
	int fd, err = 0;

	snprintf(path, sizeof(path), "%s/%s/config", sessions, name);
	fd = open(path, O_WRONLY | O_TRUNC);
	if (fd < 0)
		fail("open config");
	while (n && !err) {
		size_t part = 1 + rnd(rnd(2) ? 10000 : 700);
		ssize_t done = write(fd, from, part < n ? part : n);

		if (done < 0) {
			err = errno;
		} else {
			from += done;
			n -= (size_t)done;
		}
	}
	if (close(fd) < 0 && !err)
		err = errno;
	return err;
}

static size_t show(const char *name, char *to)
{
	char path[512];
	size_t n = 0;
	ssize_t part;
	int fd;

	snprintf(path, sizeof(path), "%s/%s/config", sessions, name);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		fail("open config to read");
	while ((part = read(fd, to + n, MOST - 1 - n)) > 0)
		n += (size_t)part;
	if (part < 0)
		fail("read config");
	to[n] = 0;
	close(fd);
	return n;
}

/* Takes lines `NAME =` of settings out of shown that are not in what was written. */
static void leave_out_new(char *shown)
{
	static const char *const names[] = {
#define SETTING(name, ...) "\n" name " =",
#include "tracer/session/session_settings.def"
#define SETTING(name, ...) "\n" name " =",
#include "tracer/session/channel_settings.def"
	};
	char *line, *next;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strstr(text, names[i]))
			continue;
		while ((line = strstr(shown, names[i]))) {
			next = strchr(line + 1, '\n');
			memmove(line, next ? next : "", next ? strlen(next) + 1 : 1);
		}
	}
}

/* ---- sessions as config shows them ---- */

#define PICK(list) (list)[rnd(sizeof(list) / sizeof(*(list)))]

static void say_string(void)
{
	static const char *const parts[] = {
		" ; ", "# ", "[x]", " = ", ": ", "é",   "\\\\", "\\\"",
		"\\n", "*b", "a b", "'",   "%s", "\\t", "  ",   "\xe2\x82\xac",
	};
	uint32_t n = rnd(10) ? rnd(6) : 400 + rnd(600);

	say("\"");
	for (uint32_t i = 0; i < n; i++)
		say("%s", PICK(parts));
	say("x\"");
}

static void say_rule(uint32_t number)
{
	static const char *const levels[] = { "warning", "<= err", "debug_line", "info..emerg",
					      "debug.." };

	say("events = %s", rnd(5) ? "" : "~");
	if (rnd(8))
		say("p%u:%s%u", number, rnd(2) ? "e" : "e*", rnd(100));
	else
		say("p%u:*", number);
	if (!rnd(3))
		say(" except p%u:x%s", number, rnd(2) ? "" : ",q:*");
	if (!rnd(3))
		say(" loglevel %s", PICK(levels));
	if (!rnd(2)) {
		say(" if id%u == %u && s != ", rnd(5), rnd(100000));
		say_string();
	}
	say("\n");
}

static void say_ids(const char *key)
{
	uint32_t id = 0, n = rnd(4);

	if (!rnd(2)) {
		say("%s = *\n", key);
		return;
	}
	if (!n)
		say("%s =\n", key);
	for (; n; n--)
		say("%s = %u\n", key, id += 1 + rnd(1000));
}

/* Channel names begin with the number, so that they differ. */
static void say_name(uint32_t number)
{
	static const char inside[] = "abcXYZ019_.:@+-";
	uint32_t n = rnd(4) ? rnd(12) : rnd(127);

	say("name = %u", number);
	for (uint32_t i = 0; i < n; i++)
		say("%c", inside[rnd(sizeof(inside) - 1)]);
	say("\n");
}

static void say_channel(uint32_t number)
{
	static const char *const contexts[] = { "vpid", "vtid",     "procname", "cpu_id",
						"ip",   "$app.a:b", "vuid" };
	static const char *const losses[] = { "default", "discard" };
	uint32_t rules = rnd(5), first = rnd(7), count = rnd(3), any = rnd(3);

	say("\n[user channel]\n");
	say_name(number);
	if (!rules)
		say("events =\n");
	while (rules)
		say_rule(rules--);
	if (!count)
		say("contexts =\n");
	for (; count; count--)
		say("contexts = %s\n", contexts[first++ % 7]);
	say("enabled = %u\nsubbuf_size = %u\nsubbuf_count = %u\n", rnd(2), 4096u << rnd(17),
	    2u << rnd(12));
	say("loss_mode = %s\n", any ? PICK(losses) : "overwrite");
	say("switch_period = %u\nread_period = %u\n", rnd(3600000), rnd(3600000));
	say("monitor_period = %u\n", 1000 + rnd(3600000));
	say("file_size = %u\nfile_count = %u\n", rnd(2) * rnd(1u << 31), rnd(1000));
	say("buffering = %s\n", any && rnd(2) ? "process" : "user");
	if (rnd(2))
		say("memory_max_age = %u\nbuffer_preallocation = on_demand\n",
		    100000 + rnd(1000000));
	else
		say("memory_max_age = off\nbuffer_preallocation = %s\n",
		    rnd(2) ? "preallocate" : "on_demand");
	if (any && rnd(2))
		say("blocking_timeout = inf\n");
	else
		say("blocking_timeout = %u\n", any ? rnd(1000000) : 0);
}

static void say_kernel_channel(uint32_t number)
{
	say("\n[kernel channel]\n");
	say_name(number);
	say("events = %s\n", rnd(2) ? "sched:sched_switch" : "syscall:openat if flags == 1");
	say("contexts =%s\nenabled = %u\nsubbuf_size = %u\nsubbuf_count = %u\nloss_mode = "
	    "%s\nswitch_period = %u\nread_period = 0\n"
	    "monitor_period = 1000000\nfile_size = 0\nfile_count = %u\n"
	    "memory_max_age = off\nbackend = auto\n",
	    rnd(2) ? " tid" : "", rnd(2), 4096u << rnd(10), 2u << rnd(5),
	    rnd(2) ? "discard" : "overwrite", rnd(1000), rnd(1000));
}

static void say_session(int kernel)
{
	uint32_t n = rnd(4), places = rnd(3);

	len = 0;
	say("[session]\nsnapshot_max_size = %u\n", rnd(2) * rnd(1u << 31));
	for (uint32_t i = 0; i < places; i++)
		say("snapshot_outputs = net://host%u:%u:%u/a%s\n", i, 1 + rnd(65535),
		    1 + rnd(65535), rnd(2) ? " max-size 4096" : "");
	say("%soutput =\ninput =\nchecksum = %s\ncompress = %s\nrotate_size = %u\n"
	    "clock = %s\nctf_version = %s\n"
	    "metadata = %s\nlive_period = %u\nrotate_period = %u\n\n[user]\n",
	    places ? "" : "snapshot_outputs =\n", rnd(2) ? "none" : "crc32",
	    rnd(2) ? "none" : rnd(2) ? "gzip" : "xz", rnd(2) * rnd(1u << 31),
	    rnd(2) ? "mono" : "tai", rnd(2) ? "1.8" : "2", rnd(2) ? "text" : "packets",
	    rnd(2) * (10000 + rnd(1u << 31)), rnd(2) * (10000 + rnd(1u << 31)));
	say_ids("track/vpid");
	say_ids("track/vuid");
	say_ids("track/vgid");
	say("track/cgroup =%s\n", rnd(2) ? " *" : rnd(2) ? "" : " /a\ntrack/cgroup = \"/c d\"");
	for (uint32_t i = 0; i < n; i++)
		say_channel(i);
	if (!kernel)
		return;
	say("\n[kernel]\n");
	say_ids("track/pid");
	say("track/vpid = *\ntrack/uid = *\ntrack/vuid = *\ntrack/gid = *\ntrack/vgid = *\n"
	    "track/cgroup = *\n");
	for (n = rnd(3); n; n--)
		say_kernel_channel(n);
}

static void one_round(int kernel)
{
	say_session(kernel);
	make("a");
	make("b");
	again[0] = 0;
	if (load("a", text, len))
		fail("a whole configuration is refused");
	show("a", again);
	strcpy(third, again);
	leave_out_new(third);
	if (strcmp(text, third))
		fail("what is read back is not what was written");
	if (load("b", again, strlen(again)))
		fail("what was read is refused");
	show("b", third);
	if (strcmp(again, third))
		fail("the copy is another session");
	drop("a");
	drop("b");
}

/* ---- spoilt ones ---- */

static void insert(size_t at, const char *what, size_t n)
{
	if (len + n >= MOST)
		return;
	memmove(text + at + n, text + at, len - at);
	memcpy(text + at, what, n);
	len += n;
}

static const char *const words[] = {
	/* clang-format off */
	"[", "]", "=", ":", "\n", " ", "\n ", "[user channel]\n", "[session]\n", "[nothing]\n",
	"name = x\n", "name =\n", "events", "contexts", "#", ";", "\"", "\\", "\xff",
	"\xef\xbb\xbf", "= inf\n", "track/", "/", "start = maybe\n", "start = no\n",
	"99999999999999999999", "-1", "\r\n", "[kernel]\n", "!p:*", "~", "if (((((", "0", "$ctx.",
	"{", "\t",
	/* clang-format on */
};

static void spoil(void)
{
	static char much[70000];
	size_t at = rnd((uint32_t)len + 1), n;
	const char *word;

	switch (rnd(8)) {
	case 0:
		text[at ? at - 1 : 0] = (char)rnd(256);
		break;
	case 1:
		n = rnd(200);
		n = n < len - at ? n : len - at;
		memmove(text + at, text + at + n, len - at - n);
		len -= n;
		break;
	case 2:         /* a piece of itself */
		n = rnd(300);
		n = n < len - at ? n : len - at;
		memcpy(much, text + at, n);
		insert(rnd((uint32_t)len + 1), much, n);
		break;
	case 3:
		len = at;
		break;
	case 4:
		n = 1 + rnd(rnd(4) ? 300 : sizeof(much));
		memset(much, 'x', n);
		insert(at, much, n);
		break;
	default:
		word = PICK(words);
		insert(at, word, strlen(word));
		break;
	}
	text[len] = 0;
}

static void one_spoilt(const char *empty, unsigned long *taken)
{
	int err;

	say_session(0);
	for (uint32_t n = 1 + rnd(4); n; n--)
		spoil();
	make("a");
	err = load("a", text, len);
	show("a", again);
	if (err && strcmp(again, empty))
		fail("refused, and yet something changed");
	if (err && err != EINVAL && err != EEXIST && err != ENOENT && err != ENAMETOOLONG &&
	    err != EOPNOTSUPP && err != ENOSPC && err != E2BIG && err != EACCES && err != EXDEV)
		fail("a strange error");
	if (!err) {
		++*taken;
		make("b");
		if (load("b", again, strlen(again)))
			fail("what was read is refused");
		show("b", third);
		if (strcmp(again, third))
			fail("the copy is another session");
		drop("b");
	}
	drop("a");
}

int main(int argc, char **argv)
{
	static char empty[MOST];
	unsigned long n, done = 0, taken = 0;
	time_t end;

	if (argc < 5)
		return 2;
	sessions = argv[1];
	n = strtoul(argv[3], NULL, 0);
	state = strtoul(argv[4], NULL, 0);
	if (!strcmp(argv[2], "round")) {
		for (; done < n; done++)
			one_round(argc > 5);
		printf("%lu sessions\n", done);
		return 0;
	}
	make("empty");
	show("empty", empty);
	drop("empty");
	for (end = time(NULL) + (time_t)n; time(NULL) < end; done++)
		one_spoilt(empty, &taken);
	printf("%lu spoilt, %lu of them taken\n", done, taken);
	return !taken;
}
