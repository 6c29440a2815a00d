/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's state dump: its events, and all of its parts except processes (processes.c). */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "metadata/number.h"
#include "tracer/kernel/statedump/internal.h"
#include "tracer/kernel/statedump/statedump.h"

/* Types of fields, one letter each. */
enum {
	U8 = 'b', U16 = 'h', S32 = 'd', U32 = 'u', X32 = 'x', O32 = 'o', BE32 = 'n', X64 = 'p',
	STRING = 's', COMM = 'c',
	TEXT = 't',             /* after its length */
	STACK = 'a',            /* addresses, after their number */
};

#define SAMPLE_FIELDS "by\0pid\0tid\0"
#define STACK_FIELDS "callstack_kernel\0callstack_user"

static const struct layout {
	const char *name;
	const char *types;      /* one letter for each field */
	const char *fields;     /* names, a NUL between */
} layouts[] = {
	[KDUMP_START] = { "lttng_statedump_start", "", "" },
	[KDUMP_END] = { "lttng_statedump_end", "", "" },
	[KDUMP_PROCESS_STATE] = { "lttng_statedump_process_state", "dddcddddup",
		"tid\0pid\0ppid\0name\0type\0mode\0submode\0status\0cpu\0file_table_address" },
	[KDUMP_PROCESS_PID_NS] = { "lttng_statedump_process_pid_ns", "dddddu",
		"tid\0vtid\0vpid\0vppid\0ns_level\0ns_inum" },
	[KDUMP_PROCESS_USER_NS] = { "lttng_statedump_process_user_ns", "duudu",
		"tid\0vuid\0vgid\0ns_level\0ns_inum" },
	[KDUMP_PROCESS_CGROUP_NS] = { "lttng_statedump_process_cgroup_ns", "du", "tid\0ns_inum" },
	[KDUMP_PROCESS_IPC_NS] = { "lttng_statedump_process_ipc_ns", "du", "tid\0ns_inum" },
	[KDUMP_PROCESS_MNT_NS] = { "lttng_statedump_process_mnt_ns", "du", "tid\0ns_inum" },
	[KDUMP_PROCESS_NET_NS] = { "lttng_statedump_process_net_ns", "du", "tid\0ns_inum" },
	[KDUMP_PROCESS_TIME_NS] = { "lttng_statedump_process_time_ns", "du", "tid\0ns_inum" },
	[KDUMP_PROCESS_UTS_NS] = { "lttng_statedump_process_uts_ns", "du", "tid\0ns_inum" },
	[KDUMP_PROCESS_MAPPING] = { "lttng_statedump_process_mapping", "dpppss",
		"pid\0start\0size\0offset\0build_id\0path" },
	[KDUMP_FILE_DESCRIPTOR] = { "lttng_statedump_file_descriptor", "pdoxs",
		"file_table_address\0fd\0flags\0fmode\0filename" },
	[KDUMP_BLOCK_DEVICE] = { "lttng_statedump_block_device", "us", "dev\0diskname" },
	[KDUMP_NETWORK_INTERFACE] = { "lttng_statedump_network_interface", "sn",
		"name\0address_ipv4" },
	[KDUMP_INTERRUPT] = { "lttng_statedump_interrupt", "ussd", "irq\0name\0action\0tid" },
	[KDUMP_CPU_TOPOLOGY] = { "lttng_statedump_cpu_topology", "shsbbshhh",
		"architecture\0cpu_id\0vendor\0family\0model\0model_name\0physical_id\0core_id\0"
		"cores" },
	[KDUMP_LOGGER] = { "lttng_logger", "t", "msg" },
	[KDUMP_SAMPLE_CPU] = { "cpu", "sddaa", SAMPLE_FIELDS STACK_FIELDS },
	[KDUMP_SAMPLE_CYCLES] = { "cycles", "sddaa", SAMPLE_FIELDS STACK_FIELDS },
	[KDUMP_SAMPLE_FAULTS] = { "faults", "sddpaa", SAMPLE_FIELDS "address\0" STACK_FIELDS },
};

const char *kdump_system(enum kdump_type type)
{
	return type >= KDUMP_SAMPLE_CPU ? "sample"
	       : type == KDUMP_LOGGER	? "lttng_logger"
					: "lttng_statedump";
}

const char *kdump_name(enum kdump_type type)
{
	return layouts[type].name;
}

const char *kdump_event_name(enum kdump_type type)
{
	return type >= KDUMP_SAMPLE_CPU ? "trail:sample" : layouts[type].name;
}

static int set_type(struct md_type *t, char letter)
{
	static const struct md_type address = { .kind = MD_INT, .size = 8, .base = 16 };

	switch (letter) {
	case STRING:
		*t = (struct md_type){ .kind = MD_STRING };
		return 0;
	case COMM:
		return md_type_array(t, 16, &md_char);
	case TEXT:
		return md_type_sequence(t, 8, &md_char);
	case STACK:
		return md_type_sequence(t, 4, &address);
	default:
		*t = (struct md_type){ .kind = MD_INT, .base = 10,
				       .is_signed = letter == S32, .big_endian = letter == BE32 };
		t->size = letter == U8 ? 1 : letter == U16 ? 2 : letter == X64 ? 8 : 4;
		if (letter == X32 || letter == X64 || letter == BE32)
			t->base = 16;
		else if (letter == O32)
			t->base = 8;
		return 0;
	}
}

struct md_event *kdump_event(enum kdump_type type)
{
	const struct layout *l = &layouts[type];
	struct md_event *e = md_event_create(kdump_event_name(type), MD_LOGLEVEL_NONE,
					     (uint32_t)strlen(l->types));
	const char *name = l->fields;

	for (uint32_t i = 0; e && i < e->field_count; i++) {
		e->fields[i].name = strdup(name);
		if (!e->fields[i].name || set_type(&e->fields[i].type, l->types[i])) {
			md_event_destroy(e);
			return NULL;
		}
		name += strlen(name) + 1;
	}
	return e;
}

void kdump_filter_event(enum kdump_type type, struct kdump_fields *out)
{
	const struct layout *l = &layouts[type];
	const char *name = l->fields;

	out->event = (struct filter_event){ .fields = out->fields, .strings = l->fields,
					    .field_count = (uint32_t)strlen(l->types) };
	for (uint32_t i = 0; i < out->event.field_count; i++) {
		struct md_type t = { 0 };

		/* If memory is short, filters take the field for missing. */
		set_type(&t, l->types[i]);
		out->fields[i] = filter_field_of(&t, (uint32_t)(name - l->fields));
		md_type_deinit(&t);
		name += strlen(name) + 1;
	}
}

int kdump_find(const char *system, const char *name)
{
	for (int i = 0; i < KDUMP_TYPES; i++)
		if (!strcmp(layouts[i].name, name) &&
		    !strcmp(kdump_system((enum kdump_type)i), system))
			return i;
	return -1;
}

int kdump_emit(struct kdump_sink *sink, enum kdump_type type, int32_t tid, ...)
{
	uint8_t payload[KDUMP_PAYLOAD_MAX], *p = payload;
	va_list ap;

	va_start(ap, tid);
	for (const char *t = layouts[type].types; *t; t++) {
		const char *s;
		uint64_t v;
		size_t n;

		if (*t == STRING || *t == COMM) {
			s = va_arg(ap, const char *);
			n = strnlen(s, *t == COMM ? 15 : 4096);
			memcpy(p, s, n);
			memset(p + n, 0, *t == COMM ? 16 - n : 1);
			p += *t == COMM ? 16 : n + 1;
			continue;
		}
		if (*t == TEXT) {
			s = va_arg(ap, const char *);
			v = strnlen(s, 4096);
			memcpy(p, &v, sizeof(v));
			memcpy(p + sizeof(v), s, v);
			p += sizeof(v) + v;
			continue;
		}
		/* (BE32 is what the host reads in memory.) */
		v = va_arg(ap, uint64_t);
		n = *t == U8 ? 1 : *t == U16 ? 2 : *t == X64 ? 8 : 4;
		memcpy(p, (const uint8_t *)&v + md_low_bytes(sizeof(v), (uint32_t)n), n);
		p += n;
	}
	va_end(ap);
	return sink->event(sink, type, tid, payload, (size_t)(p - payload));
}

ssize_t kdump_read(int dir, const char *path, char *text, size_t size)
{
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	ssize_t got = 0, all = 0;

	if (fd < 0)
		return -1;
	while ((size_t)all < size - 1 && (got = read(fd, text + all, size - 1 - (size_t)all)) > 0)
		all += got;
	close(fd);
	text[all] = '\0';
	return got < 0 ? -1 : all;
}

/* Calls each for the names in a directory, until one returns another value than 0. */
static int visit_names(struct kdump_sink *sink, const char *path,
		     int (*each)(struct kdump_sink *, int dir, const char *name))
{
	DIR *d = opendir(path);
	struct dirent *e;
	int ret = 0;

	while (d && !ret && (e = readdir(d)))
		if (e->d_name[0] != '.')
			ret = each(sink, dirfd(d), e->d_name);
	if (d)
		closedir(d);
	return ret;
}

static int emit_block_device(struct kdump_sink *sink, int dir, const char *name)
{
	char path[300], text[64];
	unsigned int major, minor;

	snprintf(path, sizeof(path), "%s/dev", name);
	if (kdump_read(dir, path, text, sizeof(text)) < 0 ||
	    sscanf(text, "%u:%u", &major, &minor) != 2)
		return 0;
	/* The kernel's own dev_t: 12 and 20 bits. */
	return kdump_emit(sink, KDUMP_BLOCK_DEVICE, 0, (uint64_t)(major << 20 | (minor & 0xfffff)),
			  name);
}

static int emit_interrupt(struct kdump_sink *sink, int dir, const char *name)
{
	char path[300], chip[256], actions[2048], *p, *save = NULL;
	int ret = 0;

	snprintf(path, sizeof(path), "%s/actions", name);
	if (kdump_read(dir, path, actions, sizeof(actions)) <= 0)
		return 0;
	snprintf(path, sizeof(path), "%s/chip_name", name);
	if (kdump_read(dir, path, chip, sizeof(chip)) < 0)
		chip[0] = '\0';
	chip[strcspn(chip, "\n")] = '\0';
	/* A shared interrupt has several actions: one event each. */
	for (p = strtok_r(actions, ",\n", &save); p && !ret; p = strtok_r(NULL, ",\n", &save))
		ret = kdump_emit(sink, KDUMP_INTERRUPT, 0, (uint64_t)strtoul(name, NULL, 10),
				 *chip ? chip : "unnamed_irq_chip", p, (uint64_t)0);
	return ret;
}

static int emit_network_interfaces(struct kdump_sink *sink)
{
	struct ifaddrs *all, *a, *b;
	int ret = 0;

	if (getifaddrs(&all))
		return 0;
	for (a = all; a && !ret; a = a->ifa_next) {
		bool has_other = false;
		uint32_t address = 0;

		if (a->ifa_addr && a->ifa_addr->sa_family == AF_INET) {
			memcpy(&address, &((struct sockaddr_in *)(void *)a->ifa_addr)->sin_addr,
			       sizeof(address));
		} else {
			/*
			 * An interface without an IPv4 address has one event, for its first entry.
			 */
			for (b = all; b && !has_other; b = b->ifa_next)
				has_other = !strcmp(a->ifa_name, b->ifa_name) &&
					    ((b->ifa_addr && b->ifa_addr->sa_family == AF_INET) ||
					     (b != a && b->ifa_addr &&
					      b->ifa_addr->sa_family == AF_PACKET));
			if (has_other)
				continue;
		}
		ret = kdump_emit(sink, KDUMP_NETWORK_INTERFACE, 0, a->ifa_name, (uint64_t)address);
	}
	freeifaddrs(all);
	return ret;
}

struct cpu {
	char vendor[64], model_name[128];
	uint64_t id, family, model, physical, core, cores;
	bool any;
};

static int emit_cpu(struct kdump_sink *sink, const struct cpu *c, const char *architecture)
{
	return c->any ? kdump_emit(sink, KDUMP_CPU_TOPOLOGY, 0, architecture, c->id, c->vendor,
				   c->family, c->model, c->model_name, c->physical, c->core,
				   c->cores)
		      : 0;
}

static void parse_cpu_line(struct cpu *c, const char *key, char *value)
{
	static const struct {
		const char *key;
		size_t at;
	} numbers[] = {
		{ "processor", offsetof(struct cpu, id) },
		{ "cpu family", offsetof(struct cpu, family) },
		{ "model", offsetof(struct cpu, model) },
		{ "physical id", offsetof(struct cpu, physical) },
		{ "core id", offsetof(struct cpu, core) },
		{ "cpu cores", offsetof(struct cpu, cores) },
	};
	uint64_t number = strtoull(value, NULL, 10);

	value[strcspn(value, "\n")] = '\0';
	if (!strcmp(key, "vendor_id"))
		snprintf(c->vendor, sizeof(c->vendor), "%s", value);
	if (!strcmp(key, "model name"))
		snprintf(c->model_name, sizeof(c->model_name), "%s", value);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (!strcmp(key, numbers[i].key))
			memcpy((char *)c + numbers[i].at, &number, sizeof(number));
}

static int emit_cpu_topology(struct kdump_sink *sink)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[4096], *colon, *end;
	struct utsname u = { 0 };
	struct cpu c = { 0 };
	int ret = 0;

	uname(&u);
#if defined(__x86_64__) || defined(__i386__)
	strcpy(u.machine, "x86");       /* LTTng's name for both */
#endif
	while (f && !ret && fgets(line, sizeof(line), f)) {
		colon = strchr(line, ':');
		if (!colon)
			continue;
		for (end = colon; end > line && (end[-1] == '\t' || end[-1] == ' '); end--)
			;
		*end = '\0';
		if (!strcmp(line, "processor")) {
			ret = emit_cpu(sink, &c, u.machine);
			c = (struct cpu){ .any = true };
		}
		parse_cpu_line(&c, line, colon + 1 + (colon[1] == ' '));
	}
	if (f)
		fclose(f);
	return ret ? ret : emit_cpu(sink, &c, u.machine);
}

int kstatedump(struct kdump_sink *sink)
{
	int ret = kdump_emit(sink, KDUMP_START, 0);

	if (!ret)
		ret = kdump_processes(sink);
	if (!ret)
		ret = visit_names(sink, "/sys/class/block", emit_block_device);
	if (!ret)
		ret = emit_network_interfaces(sink);
	if (!ret)
		ret = visit_names(sink, "/sys/kernel/irq", emit_interrupt);
	if (!ret)
		ret = emit_cpu_topology(sink);
	return ret ? ret : kdump_emit(sink, KDUMP_END, 0);
}
