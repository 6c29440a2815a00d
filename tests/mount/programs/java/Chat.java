// SPDX-License-Identifier: GPL-2.0-or-later
import java.io.*;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Logs each line of standard input by java.util.logging, log4j 1 and Log4j 2, with two levels
 * each, and says so. Log4j 2 has its appender from log4j2.xml; the record's number is an
 * application context.
 */
public class Chat {
	private static int number;

	public static void main(String[] args) throws Exception {
		BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
		Logger jul = Logger.getLogger("app.jul");
		org.apache.log4j.Logger log4j = org.apache.log4j.Logger.getLogger("app.log4j");
		org.apache.logging.log4j.Logger log4j2 =
				org.apache.logging.log4j.LogManager.getLogger("app.log4j2");
		org.apache.logging.log4j.Logger old =
				org.apache.logging.log4j.LogManager.getLogger("old.log4j2");

		org.lttng.ust.agent.context.ContextInfoManager.getInstance()
				.registerContextInfoRetriever("chat", name -> name.equals("number") ? number : null);
		jul.setLevel(Level.ALL);
		jul.setUseParentHandlers(false);
		jul.addHandler(new org.lttng.ust.agent.jul.LttngLogHandler());
		log4j.setLevel(org.apache.log4j.Level.ALL);
		log4j.setAdditivity(false);
		log4j.addAppender(new org.lttng.ust.agent.log4j.LttngLogAppender());
		System.out.println("ready");
		for (String line; (line = in.readLine()) != null; System.out.println(line)) {
			number++;
			jul.severe(line + "-error");
			jul.info(line + "-info");
			log4j.error(line + "-error");
			log4j.info(line + "-info");
			log4j2.error("{}-error", line);
			log4j2.info(line + "-info");
			old.warn(line + "-old");
		}
	}
}
