/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Resources of OTLP, and the lines, which have the records of all resources, of one kind. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/json.h"
#include "metadata/program.h"
#include "tracer/format/export/otlp.h"
#include "tracer/session/session.h"

#define LINE_BYTES (64u << 10)  /* of the records of a line, about */
#define RESOURCES_MAX 4096u     /* further services of a trace are its first one */

static const char service_name[] = "service.name";
static const struct { const char *env, *key; } env_keys[] = {
	{ "hostname", "host.name" },
	{ "vpid", "process.pid" },
	{ "procname", "process.executable.name" },
	{ "sysname", "os.name" },
	{ "kernel_release", "os.version" },
};

/* The resource has an attribute of this key. */
static bool has_key(const struct otlp_resource *r, const char *key, size_t n)
{
	struct md_buf escaped = MD_BUF_INIT;
	bool found = false;

	md_json_escape_put(key, n, &escaped);
	md_buf_str(&escaped);
	for (size_t at = 0; !r->keys.failed && !escaped.failed && !found && at < r->keys.len;) {
		found = !strcmp(r->keys.data + at, escaped.data);
		at += strlen(r->keys.data + at) + 1;
	}
	md_buf_deinit(&escaped);
	return found;
}

static void add_key(struct otlp_resource *r, const char *key)
{
	md_json_escape_put(key, strlen(key), &r->keys);
	md_buf_putc(&r->keys, '\0');
	r->json.failed |= r->keys.failed;
}

static void put_attribute(struct otlp_resource *r, const char *key, const char *value, size_t n)
{
	add_key(r, key);
	otlp_put_string(&r->json, key, value, n);
}

static void put_env(struct otlp_resource *r, const struct md_env *e)
{
	char key[160];

	snprintf(key, sizeof(key), "ctf.env.%.140s", e->name);
	for (size_t i = 0; i < sizeof(env_keys) / sizeof(*env_keys); i++)
		if (!strcmp(env_keys[i].env, e->name))
			snprintf(key, sizeof(key), "%s", env_keys[i].key);
	if (has_key(r, key, strlen(key)))
		return;
	if (e->value)
		put_attribute(r, key, e->value, strlen(e->value));
	else
		otlp_put_number(&r->json, key, e->number);
}

static int digit(char c)
{
	c = (char)tolower((unsigned char)c);
	return isdigit((unsigned char)c) ? c - '0' : isxdigit((unsigned char)c) ? c - 'a' + 10 : -1;
}

/* Decodes %XX in n bytes, in place. Returns how many they are then. */
static size_t decode(char *s, size_t n)
{
	size_t to = 0;

	for (size_t i = 0; i < n; i++) {
		int high = s[i] == '%' && n - i > 2 ? digit(s[i + 1]) : -1,
		    low = high >= 0 ? digit(s[i + 2]) : -1;

		s[to++] = low < 0 ? s[i] : (char)(high << 4 | low);
		i += low < 0 ? 0 : 2;
	}
	return to;
}

/* The attributes KEY=VALUE,…, as the variable OTEL_RESOURCE_ATTRIBUTES has them. */
static void put_attributes(struct otlp_resource *r)
{
	char *all = strdup(r->attributes), *rest = all, *key, *value;
	size_t n;

	if (!all)
		r->json.failed = true;
	while (rest && (key = strsep(&rest, ","))) {
		value = strchr(key, '=');
		if (!value || value == key)
			continue;
		n = decode(key, (size_t)(value - key));
		if (has_key(r, key, n))
			continue;
		*value++ = 0;
		key[n] = 0;
		/* (A key with a NUL byte ends there.) */
		if (*key && !has_key(r, key, strlen(key)))
			put_attribute(r, key, value, decode(value, strlen(value)));
	}
	free(all);
}

static void describe_resource(struct otlp_resource *r)
{
	static const char unknown[] = "unknown_service";
	struct trace *t = r->trace;

	if (*r->service)
		put_attribute(r, service_name, r->service, strlen(r->service));
	put_attributes(r);
	if (!has_key(r, service_name, strlen(service_name)))
		put_attribute(r, service_name, unknown, strlen(unknown));
	pthread_mutex_lock(&t->lock);
	for (uint32_t i = 0; i < t->md->env_count; i++)
		put_env(r, &t->md->env[i]);
	pthread_mutex_unlock(&t->lock);
}

static void free_resource(struct otlp_resource *r)
{
	trace_put(r->trace);
	free(r->service);
	free(r->attributes);
	md_buf_deinit(&r->json);
	md_buf_deinit(&r->keys);
	for (int kind = 0; kind < OTLP_KINDS; kind++)
		md_buf_deinit(&r->records[kind]);
	free(r);
}

static struct otlp_resource *add_resource(struct otlp_lines *v, struct trace *t,
					  const char *service, const char *attributes)
{
	struct otlp_resource *r = calloc(1, sizeof(*r)), **all;

	if (r)
		*r = (struct otlp_resource){ .trace = trace_get(t), .service = strdup(service),
					     .attributes = strdup(attributes) };
	all = realloc(v->all, (v->count + 1) * sizeof(struct otlp_resource *));
	if (all)
		v->all = all;
	if (!r || !all || !r->service || !r->attributes) {
		if (r)
			free_resource(r);
		v->m->err = -ENOMEM;
		return NULL;
	}
	describe_resource(r);
	return v->all[v->count++] = r;
}

static bool is_resource(const struct otlp_resource *r, const struct trace *t, const char *service,
			const char *attributes)
{
	return r->trace == t && !strcmp(r->service, service) &&
	       !strcmp(r->attributes, attributes);
}

struct otlp_resource *otlp_resource_find(struct otlp_lines *v, struct trace *t,
					 const char *service, const char *attributes)
{
	struct otlp_resource *r = v->last;

	if (r && is_resource(r, t, service, attributes))
		return r;
	for (uint32_t i = 0; i < v->count; i++) {
		r = v->all[i];
		if (is_resource(r, t, service, attributes) ||
		    (r->trace == t && v->count >= RESOURCES_MAX))
			return v->last = r;
	}
	return v->last = add_resource(v, t, service, attributes);
}

struct md_buf *otlp_record_begin(struct otlp_lines *v, struct otlp_resource *r,
				 enum otlp_kind kind)
{
	struct md_buf *out = &r->records[kind];

	if (out->len)
		md_buf_putc(out, ',');
	v->bytes -= out->len;
	md_buf_putc(out, '{');
	return out;
}

void otlp_record_end(struct otlp_lines *v, struct md_buf *out)
{
	md_buf_puts(out, "]}");
	v->bytes += out->len;
	v->m->out.failed |= out->failed;
	if (v->bytes >= LINE_BYTES)
		otlp_lines_flush(v);
}

static void put_line(struct otlp_lines *v, int kind)
{
	static const char *const names[OTLP_KINDS][3] = {
		[OTLP_SPANS] = { "resourceSpans", "scopeSpans", "spans" },
		[OTLP_LOGS] = { "resourceLogs", "scopeLogs", "logRecords" },
	};
	struct md_buf *out = &v->m->out;
	bool any = false;

	for (uint32_t i = 0; i < v->count; i++) {
		struct otlp_resource *r = v->all[i];

		if (!r->records[kind].len)
			continue;
		if (any)
			md_buf_putc(out, ',');
		else
			md_buf_printf(out, "{\"%s\":[", names[kind][0]);
		any = true;
		md_buf_puts(out, "{\"resource\":{\"attributes\":[");
		md_buf_put(out, r->json.data, r->json.len);
		md_buf_printf(out, "]},\"%s\":[{\"scope\":{\"name\":\"trailfs\"},\"%s\":[",
			      names[kind][1], names[kind][2]);
		md_buf_put(out, r->records[kind].data, r->records[kind].len);
		md_buf_puts(out, "]}]}");
		out->failed |= r->records[kind].failed || r->json.failed;
		md_buf_reset(&r->records[kind]);
	}
	if (any)
		md_buf_puts(out, "]}\n");
}

void otlp_lines_flush(struct otlp_lines *v)
{
	for (int kind = 0; kind < OTLP_KINDS; kind++)
		put_line(v, kind);
	v->bytes = 0;
}

void otlp_lines_deinit(struct otlp_lines *v)
{
	for (uint32_t i = 0; i < v->count; i++)
		free_resource(v->all[i]);
	free(v->all);
}
