/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail pthread */
/*
 * hostile: threads and texts with markup, quotes, controls of the direction of text and many bytes.
 * The main thread has no event; a second thread renames itself between its events.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <trail/trail.h>

static const char *const texts[] = {
	"</script><script>alert(1)</script>", "<img src=\"http://127.0.0.1:9/x\" onerror=alert(2)>",
	"\" onload=\"alert(3)", "]]></script>&amp;&#60;b>", "a\342\200\256txt.exe", "`${alert(4)}`",
	"\\u003cscript>alert(5)\\", "line\nbreak\ttab\001", "@EVENTS@",
};

static void *work(void *arg)
{
	char *many = malloc(65537);

	(void)arg;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		const char *text = texts[i];

		if (i == 3)
			prctl(PR_SET_NAME, "</script>\"<b>&'");
		TRAIL(hostile, text_begin, text);
		TRAIL(hostile, text, text);
		TRAIL(hostile, text_end, text);
	}
	prctl(PR_SET_NAME, "worker-3");
	if (many) {
		memset(many, '<', 65536);
		many[65536] = '\0';
		TRAIL(hostile, many, many);
	}
	free(many);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t other;

	if (argc > 1)
		TRAIL(hostile, main_text, argc);
	(void)argv;
	if (pthread_create(&other, NULL, work, NULL))
		return 1;
	pthread_join(other, NULL);
	return 0;
}
