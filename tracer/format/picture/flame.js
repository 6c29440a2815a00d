"use strict";
/* Of flame.svg: the frames fit the window with text of 12 px; zoom, search, keys, a comparison. */
const svg = document.documentElement, ROW = 18, LETTER = 7.3, LINE = 15;
const $ = id => document.getElementById(id);
const frames = [...document.querySelectorAll("g.f")].map(g => ({
  g, rect: g.querySelector("rect"), text: g.querySelector("text"),
  title: g.querySelector("title").textContent, begin: +g.dataset.b, total: +g.dataset.t,
  depth: +g.dataset.d,
}));
const all = frames[0], rows = frames.reduce((n, f) => Math.max(n, f.depth), 0) + 1;
let zoomed = all, width = 0, TOP = 0 /* above the frames */, lines = 1 /* of the details */;
const head = $("head").textContent;
for (const f of frames) {
  f.name = f.title.slice(0, f.title.indexOf("\n"));
  f.end = f.begin + f.total;
  f.g.frame = f;
}
const around = (f, inner) => f.depth < inner.depth && f.begin <= inner.begin && f.end >= inner.end;
function place(f) {
  const scale = width / (zoomed.total || 1), outer = around(f, zoomed);
  const x = outer ? 0 : (f.begin - zoomed.begin) * scale, w = outer ? width : f.total * scale;
  f.shown = outer || f === zoomed || (around(zoomed, f) && w >= 0.3);
  f.g.style.display = f.shown ? "" : "none";
  if (!f.shown) return;
  const y = TOP + (rows - 1 - f.depth) * ROW, letters = Math.floor((w - 6) / LETTER);
  f.rect.setAttribute("x", x);
  f.rect.setAttribute("y", y);
  f.rect.setAttribute("width", w > 0.6 ? w - 0.5 : w);
  f.g.classList.toggle("o", outer);
  if (!f.text) {
    if (letters < 2) return;
    f.text = f.g.appendChild(document.createElementNS(svg.namespaceURI, "text"));
  }
  f.text.setAttribute("x", x + 3);
  f.text.setAttribute("y", y + 13);
  const name = [...f.name];
  f.text.textContent = letters < 2 ? "" : name.length <= letters ? f.name :
    name.slice(0, letters - 1).join("") + "…";
}
/* Breaks a text into at most `most` lines of the window. Returns where the next one begins. */
function wrap(e, text, y, most) {
  const letters = [...text], room = Math.max(10, Math.floor((width - 12) / LETTER));
  e.replaceChildren();
  for (let k = 0; k < most && letters.length; k++) {
    const line = e.appendChild(document.createElementNS(svg.namespaceURI, "tspan"));
    const part = letters.splice(0, k === most - 1 && letters.length > room ? room - 1 : room);
    line.textContent = part.join("") + (k === most - 1 && letters.length ? "…" : "");
    line.setAttribute("x", 6);
    line.setAttribute("y", y += LINE);
  }
  return y;
}
/* The heading, from above: details, what the picture is, the search and what it found. */
function layout() {
  const narrow = width < 640, at = (id, x, y) => {
    $(id).setAttribute("x", x);
    $(id).setAttribute("y", y);
  };
  lines = narrow ? 3 : 1;
  let y = wrap($("head"), head, lines * LINE, 3) + 10;
  at("search", 6, y);
  at("compare", narrow ? 200 : 520, y + 14);
  at("found", narrow ? 6 : 200, y += narrow ? 42 : 14);
  at("reset", narrow ? 200 : 400, y);
  TOP = y + 20;
}
function draw() {
  width = Math.max(200, innerWidth);
  layout();
  svg.removeAttribute("viewBox");
  svg.setAttribute("height", TOP + rows * ROW + 10);
  frames.forEach(place);
  $("reset").style.display = zoomed === all ? "none" : "";
  show(told);
}
function zoom(f) {
  zoomed = f;
  draw();
}
/* The frames that have the words, and their part of all: of frames in each other the outermost. */
function search() {
  const words = $("words").value.toLowerCase(), hits = [];
  let n = 0, end = -1, sum = 0;
  for (const f of frames) {
    f.hit = words !== "" && f.name.toLowerCase().includes(words);
    f.g.classList.toggle("hit", f.hit);
    shade(f);
    if (f.hit) { n++; hits.push(f); }
  }
  hits.sort((a, b) => a.begin - b.begin || b.total - a.total);
  for (const f of hits) {
    if (f.begin >= end) { sum += f.total; end = f.end; }
  }
  $("found").textContent = words === "" ? "" :
    `${n} frame${n === 1 ? "" : "s"}, ${(100 * sum / (all.total || 1)).toFixed(2)} %`;
}
let told = null;        /* whose details are shown */
function show(f) {
  told = f;
  const part = zoomed === all || !f || around(f, zoomed) ? "" :
    `; ${(100 * f.total / zoomed.total).toFixed(2)} % of ${zoomed.name}`;
  wrap($("details"), f ? f.title.replaceAll("\n", "; ") + part + (f.before === undefined ? "" :
    `; before ${(100 * f.before).toFixed(2)} %`) : base, 0, lines);
}
/*
 * A comparison with the lines of flame.folded of another session: f.before is the share of all that
 * the same path has there. More than there is red, less is blue.
 */
const dark = matchMedia("(prefers-color-scheme: dark)");
let base = "", most = 0;
const change = f => f.total / (all.total || 1) - f.before;
function shade(f) {
  const part = most ? change(f) / most : 0, [from, by] = dark.matches ? [24, 14] : [93, -26];
  f.rect.style.fill = f.before === undefined || f.hit ? "" :
    `hsl(${part < 0 ? 215 : 5} ${part ? 75 : 0}% ${from + by * Math.abs(part)}%)`;
}
function compare(text, name) {
  const sums = new Map(), path = [], seen = new Set();
  let whole = 0, gone = 0;
  for (const line of text.split("\n")) {
    const m = /^(.*) (\d+)$/.exec(line);
    if (!m) continue;
    let at = "";
    whole += +m[2];
    for (const part of m[1].split(";")) {
      at += ";" + part;
      sums.set(at, (sums.get(at) || 0) + +m[2]);
    }
  }
  if (!whole) { base = name + " has no lines of flame.folded"; show(); return; }
  for (const f of frames) {
    path.length = f.depth;
    path[f.depth] = f.name.replaceAll(";", ":").replace(/[\0-\x1f]/g, " ");
    const at = f.depth ? ";" + path.slice(1).join(";") : "";
    f.before = (f.depth ? sums.get(at) || 0 : whole) / whole;
    seen.add(at);
  }
  most = frames.reduce((n, f) => Math.max(n, Math.abs(change(f))), 0);
  /* The outermost frames that are only there. */
  for (const [at, n] of sums)
    if (!seen.has(at) && seen.has(at.slice(0, at.lastIndexOf(";")))) gone += n;
  base = `Compared with ${name}: red has a larger share of the time, blue a smaller one` +
    (gone ? `; ${(100 * gone / whole).toFixed(2)} % of it is not here` : "");
  frames.forEach(shade);
  show();
}
$("compare").addEventListener("click", () => $("file").click());
$("file").addEventListener("change", async () => {
  const file = $("file").files[0];
  if (file) compare(await file.text(), file.name);
});
dark.addEventListener("change", () => frames.forEach(shade));
const of = e => e.target.closest && e.target.closest("g.f")?.frame;
svg.addEventListener("mouseover", e => show(of(e)));
svg.addEventListener("focusin", e => show(of(e)));
svg.addEventListener("focusout", () => show());
svg.addEventListener("click", e => { if (of(e)) zoom(of(e)); });
/* The frame beside f in its row, on it, or below it. */
function next(f, key) {
  const row = frames.filter(k => k.shown && k.depth === f.depth + { ArrowUp: 1, ArrowDown: -1 }[key] );
  if (key === "ArrowUp") return row.find(k => k.begin >= f.begin && k.end <= f.end);
  if (key === "ArrowDown") return row.find(k => k.begin <= f.begin && k.end >= f.end);
  const beside = frames.filter(k => k.shown && k.depth === f.depth)
    .sort((a, b) => a.begin - b.begin), i = beside.indexOf(f);
  return beside[key === "ArrowRight" ? i + 1 : i - 1];
}
addEventListener("keydown", e => {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  if (e.target === $("words")) {
    if (e.key === "Escape") { $("words").value = ""; search(); all.g.focus(); }
    return;
  }
  const f = of(e), button = { reset: () => zoom(all), compare: () => $("file").click() }[e.target.id];
  if (button && (e.key === "Enter" || e.key === " ")) button();
  else if (e.key === "/") $("words").focus();
  else if (e.key === "Escape") zoom(all);
  else if (f && (e.key === "Enter" || e.key === " ")) zoom(f);
  else if (f && /^Arrow/.test(e.key)) next(f, e.key)?.g.focus();
  else return;
  e.preventDefault();
});
$("reset").addEventListener("click", () => zoom(all));
$("words").addEventListener("input", search);
$("tools").style.display = "";
addEventListener("resize", draw);
draw();
