/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core trail pthread */
/*
 * Maps of a program's events: each operator, keys, pairs, settings, and the same values as text, as
 * JSON and as SQL; what is kept for the next daemon.
 */
#include <errno.h>

#include "tests/lib/live_tracer.h"
#include "tracer/view/map/maps.h"

#define ROUNDS 30u

static struct session *s;

static const char *shown(const char *map, enum map_file what)
{
	static struct md_buf out;

	md_buf_deinit(&out);
	out = (struct md_buf)MD_BUF_INIT;
	CHECK(map_show(s, DOMAIN_USER, map, what, &out) == 0);
	return md_buf_str(&out);
}

static bool shows(const char *map, enum map_file what, const char *text)
{
	const char *all = shown(map, what);
	bool found = strstr(all, text);

	if (!found)
		printf("# no `%s` in:\n%.1500s\n", text, all);
	return found;
}

static void make(const char *map, const char *rules)
{
	struct tr_err err = TR_ERR_INIT;
	int ret;

	CHECK(map_create(s, DOMAIN_USER, map, &err) == 0);
	ret = map_store_rules(s, DOMAIN_USER, map, rules, true, &err);
	CHECK(ret == 0);
	if (ret)
		printf("# %s: %s\n", map, err.sentence);
}

/*
 * Exactly ROUNDS rounds are in the map after that. An event may be on for another map: the program
 * has heard of this one when each of its rules has seen an event.
 */
static void fill(const char *map, unsigned events)
{
	bool on = live_comes_on(events);

	while (on && strstr(shown(map, MAP_JSON), "\"events\":0,"))
		live_round();

	CHECK(on);
	CHECK(map_clear(s, DOMAIN_USER, map) == 0);
	for (unsigned i = 0; on && i < ROUNDS; i++)
		if ((live_round() & events) != events)
			test_case_failed = 1;
}

static bool refuses(const char *map, const char *rules, const char *sentence)
{
	struct tr_err err = TR_ERR_INIT;
	int ret = map_store_rules(s, DOMAIN_USER, map, rules, true, &err);

	if (ret != -EINVAL || !strstr(err.sentence, sentence))
		printf("# %s%d %s\n", rules, ret, err.sentence);
	return ret == -EINVAL && strstr(err.sentence, sentence);
}

/* ---- the cases ---- */

static void operators(void)
{
	make("all", "unit:work_end by path count, sum(ms), min(ms), max(ms), avg(ms), hist(ms), "
		    "lhist(ms, 0, 1000, 100), topk(5)\n");
	CHECK(shows("all", MAP_RULES, "lhist(ms, 0, 1000, 100)"));
	live_control(s, "start\n");
	fill("all", 2);
	CHECK(shows("all", MAP_VALUES, "count"));
	CHECK(shows("all", MAP_VALUES, " 30 "));
	CHECK(shows("all", MAP_JSON, "\"count\":30"));
	CHECK(shows("all", MAP_SQL, "CREATE TABLE"));
	CHECK(shows("all", MAP_SQL, "30"));
}

/* A rule that only counts, with programs that count in shared memory. */
static void counters(void)
{
	make("counted", "unit:* by $event\n");
	fill("counted", LIVE_ALL);
	CHECK(shows("counted", MAP_JSON, "unit:work_begin"));
	CHECK(shows("counted", MAP_JSON, "unit:note"));
	CHECK(shows("counted", MAP_JSON, "30"));
}

static void keys(void)
{
	make("keys", "unit:work_begin if id > 0 by path, $ctx.procname count\n");
	fill("keys", 1);
	for (const char *const *p = (const char *const[]){ "/p0", "/p1", "/p2", NULL }; *p; p++)
		CHECK(shows("keys", MAP_VALUES, *p));
	CHECK(shows("keys", MAP_VALUES, "test_maps"));
	CHECK(shows("keys", MAP_JSON, "\"count\":10"));
}

static void pairs(void)
{
	make("pairs", "pair unit:work_begin unit:work_end on id by first.path "
		      "count, max(latency), hist(latency)\n");
	fill("pairs", 3);
	CHECK(shows("pairs", MAP_JSON, "\"count\":10"));
	CHECK(shows("pairs", MAP_VALUES, "latency"));
}

/* The rule of triggers' actions. */
static void increments(void)
{
	struct tr_err err = TR_ERR_INIT;

	make("added", "increments\n");
	CHECK(map_increment(s, DOMAIN_USER, "added", "late", 3, &err) == 0);
	CHECK(map_increment(s, DOMAIN_USER, "added", "early", 1, &err) == 0);
	CHECK(map_increment(s, DOMAIN_USER, "added", "late", 4, &err) == 0);
	CHECK(shows("added", MAP_JSON, "\"late\"") && shows("added", MAP_JSON, "\"count\":7"));
	CHECK(shows("added", MAP_JSON, "\"early\"") && shows("added", MAP_JSON, "\"count\":1"));
	CHECK(map_clear(s, DOMAIN_USER, "added") == 0);
	CHECK(!strstr(shown("added", MAP_JSON), "late"));
	CHECK(map_increment(s, DOMAIN_USER, "keys", "a", 1, &err) == -ENOENT);
	CHECK(strstr(err.sentence, "the map 'keys' has no rule `increments`"));
	CHECK(map_increment(s, DOMAIN_USER, "none", "a", 1, &err) == -ENOENT);
	CHECK(strstr(err.sentence, "session 'a' has no map 'none'"));
}

static void mistakes(void)
{
	struct tr_err err = TR_ERR_INIT;

	make("wrong", "unit:note count\n");
	CHECK(refuses("wrong", "unit:note by txt count\n", "txt"));
	CHECK(refuses("wrong", "unit:note cuont\n", "cuont"));
	CHECK(refuses("wrong", "unit:note sum()\n", ""));
	CHECK(refuses("wrong", "pair unit:work_begin on id\n", ""));
	CHECK(refuses("wrong", "unit:note lhist(text, 5, 1, 1)\n", ""));
	CHECK(shows("wrong", MAP_RULES, "unit:note count"));
	CHECK(map_create(s, DOMAIN_USER, "wrong", &err) == -EEXIST);
	CHECK(map_destroy(s, DOMAIN_USER, "none", &err) == -ENOENT);
	CHECK(map_clear(s, DOMAIN_USER, "none") == -ENOENT);
	/* An event that no program has, and a field that some have. */
	CHECK(map_store_rules(s, DOMAIN_USER, "wrong", "unit:no_such count\n", true, &err) == 0);
	CHECK(shows("wrong", MAP_VALUES, "unmatched"));
	CHECK(shows("wrong", MAP_JSON, "problems"));
	CHECK(map_store_rules(s, DOMAIN_USER, "wrong", "unit:* by ms count\n", true, &err) == 0);
	fill("wrong", LIVE_ALL);
	CHECK(shows("wrong", MAP_VALUES, "missing"));
	CHECK(shows("wrong", MAP_VALUES, "reason"));
}

static void settings(void)
{
	struct tr_err err = TR_ERR_INIT;

	CHECK(map_store_setting(s, DOMAIN_USER, "keys", MAP_MAX_KEYS, "2\n", &err) == 0);
	CHECK(map_store_setting(s, DOMAIN_USER, "keys", MAP_BUFFER_SIZE, "256K\n", &err) == 0);
	CHECK(map_store_setting(s, DOMAIN_USER, "keys", MAP_MAX_KEYS, "few\n", &err) == -EINVAL);
	CHECK(shows("keys", MAP_MAX_KEYS, "2"));
	CHECK(shows("keys", MAP_BUFFER_SIZE, "262144"));
	fill("keys", 1);
	CHECK(shows("keys", MAP_VALUES, "left_out"));
}

/* The next daemon has the maps, their rules and settings, and empty values. */
static void next_daemon(void)
{
	struct tr_err err = TR_ERR_INIT;
	struct md_buf names = MD_BUF_INIT;

	session_put(s);
	tracer_close(live, true);
	CHECK(tracer_open(&live_config, &live, &err) == 0);
	s = session_get(live, "a");
	CHECK(s != NULL);
	maps_list(s, DOMAIN_USER, &names);
	CHECK(memmem(names.data, names.len, "pairs", 6) != NULL);
	md_buf_deinit(&names);
	CHECK(map_exists(s, DOMAIN_USER, "keys") && !map_exists(s, DOMAIN_USER, "none"));
	CHECK(shows("keys", MAP_MAX_KEYS, "2"));
	CHECK(shows("keys", MAP_RULES, "by path, $ctx.procname count"));
}

static void removal(void)
{
	struct tr_err err = TR_ERR_INIT;

	live_control(s, "clear\n");
	CHECK(map_destroy(s, DOMAIN_USER, "pairs", &err) == 0);
	CHECK(!map_exists(s, DOMAIN_USER, "pairs"));
	live_control(s, "stop\n");
	CHECK(session_destroy(live, "a", &err) == 0);
	CHECK(!map_exists(s, DOMAIN_USER, "keys"));
}

int main(int argc, char **argv)
{
	int ret;

	if (!live_open(argc, argv, &ret))
		return ret;
	alarm(300);
	s = live_session("a");
	CASE(operators);
	CASE(counters);
	CASE(keys);
	CASE(pairs);
	CASE(increments);
	CASE(mistakes);
	CASE(settings);
	CASE(next_daemon);
	CASE(removal);
	session_put(s);
	return live_close();
}
