/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * left_out.c - what `make static` has in place of the rooms of tracer/format/ that make and read
 * files for other programs (without EXPORTS=1, IMPORTS=1), of relays (without RELAY=1), metrics,
 * samples, BPF, agents of loggers, zlib and liblzma. There are no files in export/ but `json`;
 * `input` and rules on samples are refused with a sentence; `compress` knows none but `none`. Who
 * calls the rest gets EOPNOTSUPP, or nothing.
 */
#include <errno.h>
#include <lzma.h>
#include <stdint.h>
#include <zlib.h>

#include "tracer/app/agent/agent.h"
#include "tracer/app/agent/agent_rule.h"
#include "tracer/app/agent/agents.h"
#include "tracer/app/agent/server.h"
#include "tracer/format/export/export.h"
#include "tracer/format/export/files.h"
#include "tracer/format/export/lket.h"
#include "tracer/format/export/ltt.h"
#include "tracer/format/foreign/foreign.h"
#include "tracer/kernel/backend/backend.h"
#include "tracer/kernel/count/count.h"
#include "tracer/kernel/kernel.h"
#include "tracer/kernel/sample/sampler.h"
#include "tracer/output/relay/relay.h"
#include "tracer/output/relay/url.h"
#include "tracer/output/sink.h"
#include "tracer/view/metrics/metrics.h"

#ifdef WITHOUT_EXPORTS
const struct session_part export_part = { .name = "export" };

void export_close(struct export_view *v)
{
	(void)v;
}

int otlp_pipe_open(struct session *s, struct pipe_view **out)
{
	(void)s, (void)out;
	return -EOPNOTSUPP;
}

int lket_export_open(struct session *s, struct export_files **out)
{
	(void)s, (void)out;
	return -EOPNOTSUPP;
}

int ltt_export_open(struct session *s, struct export_files **out)
{
	(void)s, (void)out;
	return -EOPNOTSUPP;
}

void export_files_close(struct export_files *l)
{
	(void)l;
}

const char *export_files_path(const struct export_files *l, size_t i, uint64_t *size)
{
	(void)l, (void)i, (void)size;
	return NULL;
}

ssize_t export_files_read(const struct export_files *l, size_t i, uint64_t offset, void *buf,
			  size_t size)
{
	(void)l, (void)i, (void)offset, (void)buf, (void)size;
	return -EOPNOTSUPP;
}

#endif

/* ---- traces of others ---- */

#ifdef WITHOUT_IMPORTS
const struct session_part import_part = { .name = "input" };

void input_show(const void *session, struct md_buf *out)
{
	(void)session, (void)out;
}

int input_store(void *session, const char *value, bool replace, struct tr_err *err)
{
	(void)session, (void)value, (void)replace;
	return tr_fail(err, -EOPNOTSUPP,
		       "this build was made without imports: it reads no traces of others");
}

struct foreign *foreign_get(struct session *s, int *ret)
{
	(void)s;
	*ret = 0;
	return NULL;
}

void foreign_put(struct foreign *f)
{
	(void)f;
}

int foreign_main(void)
{
	return 1;
}

#endif

/* ---- metrics ---- */

int session_metrics(struct session *s, bool plain, struct md_buf *out)
{
	(void)s, (void)plain, (void)out;
	return -EOPNOTSUPP;
}

int tracer_metrics(struct tracer *t, const struct owner *viewer, bool plain, struct md_buf *out)
{
	(void)t, (void)viewer, (void)plain, (void)out;
	return -EOPNOTSUPP;
}

/* ---- samples ---- */

int sampler_check_rules(const struct rule_list *l, struct tr_err *err)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->rules[i].line && sample_kind(l->rules[i].pattern) >= 0)
			return tr_fail(err, -EOPNOTSUPP, "this build takes no samples");
	return 0;
}

int ksampling_apply(struct kchannel *kc, bool active, struct tr_err *err)
{
	(void)kc, (void)active, (void)err;
	return 0;
}

void ksampling_close(struct kchannel *kc)
{
	(void)kc;
}

void ksampling_drain(struct kchannel *kc)
{
	(void)kc;
}

void ksampling_end(struct tracer *t)
{
	(void)t;
}

/* ---- BPF ---- */

static int probe_bpf(const char *owner, struct backend **out, struct tr_err *err)
{
	(void)owner, (void)out;
	return tr_fail(err, -EOPNOTSUPP, "this build has no BPF");
}

const struct backend_ops bpf_backend = { .name = "bpf", .probe = probe_bpf };

int counts_open(const struct count_spec *spec, struct keeper *keeper, bool adopt,
		struct counts **out)
{
	(void)spec, (void)keeper, (void)adopt, (void)out;
	return -EOPNOTSUPP;
}

void counts_close(struct counts *c, bool keep)
{
	(void)c, (void)keep;
}

void counts_enable(struct counts *c, bool on)
{
	(void)c, (void)on;
}

void counts_clear(struct counts *c)
{
	(void)c;
}

int64_t counts_since(const struct counts *c)
{
	(void)c;
	return 0;
}

uint64_t counts_memory(const struct counts *c)
{
	(void)c;
	return 0;
}

const struct md_stream *counts_class(const struct counts *c)
{
	(void)c;
	return NULL;
}

int counts_read(struct counts *c,
		void (*fn)(void *arg, const struct md_occurrence *o, const struct count_result *r),
		void *arg, uint64_t *left_out, uint64_t *missed)
{
	(void)c, (void)fn, (void)arg, (void)left_out, (void)missed;
	return -EOPNOTSUPP;
}

void counts_keep(void)
{
}

/* ---- agents ---- */

const struct session_part agent_part = { .name = "agent" };
const struct tracer_room agent_room = { 0 };

int agent_rule_parse(struct scan *s, const struct agent_kind *k, const char *const *stops,
		     struct rule *out)
{
	(void)k, (void)stops, (void)out;
	return scan_fail(s, s->at, "this build has no agents of loggers");
}

int agent_events_show(struct session *s, enum agent_domain domain, struct md_buf *out)
{
	(void)s, (void)domain, (void)out;
	return 0;
}

int agent_events_store(struct session *s, enum agent_domain domain, const char *text, bool replace,
		       struct tr_err *err)
{
	(void)s, (void)domain, (void)text, (void)replace;
	return tr_fail(err, -EOPNOTSUPP, "this build has no agents of loggers");
}

int agent_contexts_store(struct session *s, enum agent_domain domain, const char *text,
			 bool replace, struct tr_err *err)
{
	return agent_events_store(s, domain, text, replace, err);
}

void agents_open(struct tracer *t)
{
	(void)t;
}

void agents_close(struct tracer *t)
{
	(void)t;
}

void agents_settle(struct session *s)
{
	(void)s;
}

void agents_follow(struct session *s)
{
	(void)s;
}

void agents_show_status(struct session *s, struct md_buf *out)
{
	(void)s, (void)out;
}

void available_loggers(struct tracer *t, uid_t viewer, enum agent_domain domain, bool json,
		       struct md_buf *out)
{
	(void)t, (void)viewer, (void)domain, (void)json, (void)out;
}

/* ---- relays, without RELAY=1: each address is refused, so there is no sender ---- */

#ifdef WITHOUT_RELAY
bool relay_takes(const char *text)
{
	return relay_url_is(text);
}

int relay_address(const char *text, char **shown, struct tr_err *err)
{
	(void)text, (void)shown;
	return tr_fail(err, -EOPNOTSUPP, "this build was made without relays");
}

static int refuse_relay(struct output *o, const char *value, struct tr_err *err)
{
	(void)o;
	return relay_address(value, NULL, err);
}

const struct output_sink relay_sink = { .takes = relay_takes, .attach = refuse_relay };

const char *relay_explain(int err)
{
	(void)err;
	return "this build was made without relays";
}

int relay_sender_open(const struct relay_delivery *d, struct relay_sender **out)
{
	(void)d, (void)out;
	return -EOPNOTSUPP;
}

const char *relay_sender_path(const struct relay_sender *s)
{
	(void)s;
	return "";
}

int relay_sender_add(struct relay_sender *s, const char *dir, const char *channel, size_t *number)
{
	(void)s, (void)dir, (void)channel, (void)number;
	return -EOPNOTSUPP;
}

int relay_sender_metadata(struct relay_sender *s, size_t number, const uint8_t uuid[16],
			  const char *text, size_t size)
{
	(void)s, (void)number, (void)uuid, (void)text, (void)size;
	return -EOPNOTSUPP;
}

int relay_sender_packet(struct relay_sender *s, size_t number, uint64_t size)
{
	(void)s, (void)number, (void)size;
	return -EOPNOTSUPP;
}

int relay_sender_bytes(struct relay_sender *s, const void *bytes, size_t size)
{
	(void)s, (void)bytes, (void)size;
	return -EOPNOTSUPP;
}

int relay_sender_finish(struct relay_sender *s)
{
	(void)s;
	return -EOPNOTSUPP;
}

void relay_sender_close(struct relay_sender *s)
{
	(void)s;
}
#endif

/* ---- compression; the CRC of ISO 3309 ---- */

uLong crc32_z(uLong crc, const Bytef *data, z_size_t n)
{
	uint32_t c = ~(uint32_t)crc;

	while (n--) {
		c ^= *data++;
		for (int bit = 0; bit < 8; bit++)
			c = c >> 1 ^ (c & 1 ? UINT32_C(0xedb88320) : 0);
	}
	return ~c;
}

int deflateInit2_(z_streamp z, int level, int method, int bits, int memory, int strategy,
		  const char *version, int size)
{
	(void)z, (void)level, (void)method, (void)bits, (void)memory, (void)strategy;
	(void)version, (void)size;
	return Z_STREAM_ERROR;
}

int deflate(z_streamp z, int flush)
{
	(void)z, (void)flush;
	return Z_STREAM_ERROR;
}

int deflateEnd(z_streamp z)
{
	(void)z;
	return Z_OK;
}

int inflateInit2_(z_streamp z, int bits, const char *version, int size)
{
	(void)z, (void)bits, (void)version, (void)size;
	return Z_STREAM_ERROR;
}

int inflate(z_streamp z, int flush)
{
	(void)z, (void)flush;
	return Z_STREAM_ERROR;
}

int inflateEnd(z_streamp z)
{
	(void)z;
	return Z_OK;
}

lzma_ret lzma_easy_buffer_encode(uint32_t preset, lzma_check check, const lzma_allocator *a,
				 const uint8_t *in, size_t in_size, uint8_t *out, size_t *out_pos,
				 size_t out_size)
{
	(void)preset, (void)check, (void)a, (void)in, (void)in_size, (void)out, (void)out_pos;
	(void)out_size;
	return LZMA_OPTIONS_ERROR;
}

lzma_ret lzma_stream_decoder(lzma_stream *z, uint64_t memory, uint32_t flags)
{
	(void)z, (void)memory, (void)flags;
	return LZMA_OPTIONS_ERROR;
}

lzma_ret lzma_code(lzma_stream *z, lzma_action action)
{
	(void)z, (void)action;
	return LZMA_OPTIONS_ERROR;
}

void lzma_end(lzma_stream *z)
{
	(void)z;
}
