// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * judge_otlp.js OTLP: whether the protobuf definitions of OpenTelemetry, as the package
 * @opentelemetry/otlp-transformer of NODE_PATH has them, can hold each line of OTLP: all that is in
 * the line is still there after it was a message in binary. (Versions up to 0.212 have them.)
 * Prints the number of lines. Exit status 77: there are no definitions.
 */
"use strict";
const fs = require("fs"), { deepStrictEqual } = require("assert");
let proto;
try {
  proto = require("@opentelemetry/otlp-transformer/build/src/generated/root.js").opentelemetry.proto;
} catch (e) {
  console.log(e.message.split("\n")[0]);
  process.exit(77);
}
const kinds = { resourceSpans: proto.collector.trace.v1.ExportTraceServiceRequest,
  resourceLogs: proto.collector.logs.v1.ExportLogsServiceRequest };
/* JSON of OTLP has ids in hexadecimal, that of protobuf in base64. */
const base64 = (key, value) => /^(trace|span|parentSpan)Id$/.test(key) ?
  Buffer.from(value, "hex").toString("base64") : value;
/* What JSON of protobuf writes as text: numbers that a double may not have. */
const same = (key, value) => typeof value === "number" && !Number.isFinite(value) ?
  String(value) : value;
let lines = 0;
for (const line of fs.readFileSync(process.argv[2], "utf8").split("\n")) {
  if (!line) continue;
  const want = JSON.parse(line, base64), names = Object.keys(want), kind = kinds[names[0]];
  if (names.length !== 1 || !kind) throw new Error("a line has " + names);
  const made = kind.fromObject(want), wrong = kind.verify(made);
  if (wrong) throw new Error(wrong);
  const have = kind.toObject(kind.decode(kind.encode(made).finish()),
    { longs: String, bytes: String, json: true, arrays: false });
  deepStrictEqual(JSON.parse(JSON.stringify(have, same)), want);
  lines++;
}
console.log(lines);
