// SPDX-License-Identifier: GPL-2.0-or-later
import java.io.*;
import java.util.logging.*;

/**
 * Logs by java.util.logging and log4j 1, each record once for each level. The application contexts
 * of the provider app have another value with each record.
 */
public class Logs {
	private static int turn;

	private static Object value(String name) {
		switch (name) {
		case "user":
			return turn > 2 ? "anna \u00e9" : "otto";
		case "load":
			return 0.5;
		case "open":
			return true;
		case "turn":
			return turn;
		default:
			return null;
		}
	}

	public static void main(String[] args) throws Exception {
		Logger jul = Logger.getLogger("app.jul");
		org.apache.log4j.Logger log4j = org.apache.log4j.Logger.getLogger("app.log4j");
		org.lttng.ust.agent.jul.LttngLogHandler handler = new org.lttng.ust.agent.jul.LttngLogHandler();
		org.lttng.ust.agent.log4j.LttngLogAppender appender = new org.lttng.ust.agent.log4j.LttngLogAppender();

		org.lttng.ust.agent.context.ContextInfoManager.getInstance()
				.registerContextInfoRetriever("app", Logs::value);
		jul.setLevel(Level.ALL);
		jul.setUseParentHandlers(false);
		jul.addHandler(handler);
		log4j.setLevel(org.apache.log4j.Level.ALL);
		log4j.setAdditivity(false);
		log4j.addAppender(appender);
		jul.severe("j1000");
		jul.warning("j900");
		jul.info("j800");
		jul.fine("j500");
		turn = 1;
		log4j.error("l40000");
		turn = 2;
		log4j.warn("l30000");
		turn = 3;
		log4j.debug("l10000");
		log4j.removeAppender(appender);
		appender.close();
		handler.close();
		org.lttng.ust.agent.context.ContextInfoManager.getInstance()
				.unregisterContextInfoRetriever("app");
	}
}
