// Exposures of a name by strike and by expiry, as the daemon sums them up. Here they are drawn.
import { ask, at, past } from "./api.js";
import { Axes, line, rounded, ticks } from "./charts.js";
import { OFFERS } from "./columns.js";
import { fill, followAddress, notice } from "./desk.js";
import { drawn, element, memory, say, set } from "./dom.js";
import { compact, fixed, strikeText } from "./numbers.js";

const $ = (id) => document.getElementById(id);
const FOLLOW_MS = 5000;
const FIRST_NAME = "SPY";
/** Part of the largest bar below which strikes at the ends are not drawn. */
const LEAST = 0.004;

/** What can be drawn: key of the address, title, help, fields of calls less puts, of calls, of puts. */
const KINDS = [
  ["gamma", "Gamma", "Change of delta where the price rises by 1 percent", "gex", "call_gamma", "put_gamma"],
  ["vanna", "Vanna", "Change of delta for a point of volatility", "vanna_exp", "call_vanna", "put_vanna"],
  ["charm", "Charm", "Change of delta in a calendar day", "charm_exp", "call_charm", "put_charm"],
  ["delta", "Delta", "Delta; calls and puts added", "delta_exp", "call_delta", "put_delta"],
].map(([key, title, help, net, call, put]) => ({ key, title, help, net, call, put }));
const kind = () => KINDS.find(({ key }) => key === $("of").value) ?? KINDS[0];

/** The address of a request. */
function target(by, more = {}) {
  const exp = by === "expiry" ? "" : $("exp").value;
  return `/l1/exposure?${at({ underlying: $("underlying").value.trim().toUpperCase(), by, ...(exp ? { exp } : {}), ...more })}`;
}

/** Bars of strikes around the spot, with marks of spot and flip. */
class Bars {
  constructor(host) {
    this.axes = new Axes(host, "exposure");
    const { body, over } = this.axes;
    this.paths = Object.fromEntries(["put", "call"].map((side) => [side, drawn("path", { class: `block ${side}` })]));
    this.net = drawn("path", { class: "fit" });
    this.zero = drawn("path", { class: "zero" });
    this.marks = ["spot", "forward"].map((name) => [drawn("path", { class: name }), drawn("text", { class: "mark" })]);
    body.append(this.zero, this.paths.put, this.paths.call, this.net);
    for (const [path, word] of this.marks) over.append(path, word);
    new ResizeObserver(() => this.draw()).observe(host);
  }

  show(rows, of, marks) {
    Object.assign(this, { rows, of, prices: marks });
    this.draw();
  }

  draw() {
    const { axes, rows, of, prices } = this;
    if (!rows || !axes.measure()) return;
    const known = within(rows.filter((row) => typeof row[of.net] === "number"), of);
    const side = (row, name) => (name === "put" && of.key !== "delta" ? -1 : 1) * (row[of[name]] ?? 0);
    if (!known.length) {
      for (const path of [this.net, this.zero, ...Object.values(this.paths)]) set(path, "d", "");
      for (const [path, word] of this.marks) set(path, "d", ""), say(word, "");
      axes.rule([], []);
      return set(axes.root, "aria-label", "Nothing is drawn");
    }
    const values = known.flatMap((row) => [0, side(row, "call"), side(row, "put"), row[of.net]]);
    [axes.y0, axes.y1] = rounded(Math.min(...values), Math.max(...values), 6);
    const ends = [known[0].strike, known.at(-1).strike, ...prices.map(([, price]) => price).filter((price) => price > 0 && isNear(price, known))];
    [axes.x0, axes.x1] = [Math.min(...ends), Math.max(...ends)];
    const margin = (axes.x1 - axes.x0) * 0.02 || axes.x0 * 0.01;
    [axes.x0, axes.x1] = [axes.x0 - margin, axes.x1 + margin];
    const across = ticks(axes.x0, axes.x1, Math.max(3, Math.floor(axes.width / 90)));
    axes.rule(across.map((x) => [x, strikeText(Number(x.toFixed(4)))]), ticks(axes.y0, axes.y1, 6).map((y) => [y, compact(y)]));
    const zero = axes.y(0).toFixed(1);
    set(this.zero, "d", `M${axes.x(axes.x0).toFixed(1)} ${zero}H${axes.x(axes.x1).toFixed(1)}`);
    const gap = Math.min(...known.slice(1).map((row, i) => axes.x(row.strike) - axes.x(known[i].strike)), 24);
    const width = Math.max(1, Math.min(9, gap * 0.7));
    for (const name of ["put", "call"]) {
      const block = (row) => `M${(axes.x(row.strike) - width / 2).toFixed(1)} ${zero}h${width.toFixed(1)}V${axes.y(side(row, name)).toFixed(1)}h-${width.toFixed(1)}Z`;
      set(this.paths[name], "d", known.map(block).join(""));
    }
    set(this.net, "d", line(known.map((row) => [axes.x(row.strike), axes.y(row[of.net])])));
    this.marks.forEach(([path, word], i) => {
      const [text, price] = prices[i];
      const isShown = price >= axes.x0 && price <= axes.x1;
      const x = isShown ? axes.x(price).toFixed(1) : 0;
      const toLeft = isShown && axes.x(price) > axes.width * 0.8;
      set(path, "d", isShown ? `M${x} 10V${axes.height - 22}` : "");
      say(word, isShown ? `${text} ${fixed(price, 2)}` : "");
      set(word, "x", Number(x) + (toLeft ? -5 : 5));
      set(word, "y", 19 + 12 * i);
      set(word, "text-anchor", toLeft ? "end" : "start");
    });
    const most = known.reduce((best, row) => (Math.abs(row[of.net]) > Math.abs(best[of.net]) ? row : best));
    set(axes.root, "aria-label", `${of.title} exposure of ${known.length} strikes from ${strikeText(known[0].strike)} to ` +
      `${strikeText(known.at(-1).strike)}, largest ${compact(most[of.net])} at ${strikeText(most.strike)}. The table below has the numbers.`);
  }
}

/** The rows without those at both ends that a drawing would not show. */
function within(rows, of) {
  const size = (row) => Math.max(Math.abs(row[of.call] ?? 0), Math.abs(row[of.put] ?? 0));
  const least = LEAST * Math.max(...rows.map(size), 0);
  const first = rows.findIndex((row) => size(row) > least);
  return first < 0 ? rows : rows.slice(first, rows.findLastIndex((row) => size(row) > least) + 1);
}

/** Whether a mark is so near to the strikes that they keep their room. */
const isNear = (price, rows) => price > rows[0].strike * 0.9 && price < rows.at(-1).strike * 1.1;

const bars = new Bars($("chart"));

/** The columns of both tables behind those that name a row. */
function columns() {
  const of = kind();
  const number = (title, field, help) => ({ title, help, read: (row) => compact(row[field]) });
  const net = of.key === "delta" ? "calls and puts added" : "calls less puts";
  return [
    number(`${of.title} calls`, of.call, of.help), number(`${of.title} puts`, of.put, of.help),
    { ...number(of.key === "gamma" ? "GEX" : of.title, of.net, `${of.help}: ${net}`), tone: (row) => (row[of.net] ? (row[of.net] > 0 ? "up" : "down") : null) },
    number("Open calls", "call_oi", "Open contracts"), number("Open puts", "put_oi", "Open contracts"),
  ];
}

function showSums(sum, pain) {
  const price = (value) => fixed(value, 2);
  const facts = [
    ["Price", price(sum.und_price)], ["GEX", compact(sum.gex)], ["Call gamma", compact(sum.call_gamma)], ["Put gamma", compact(sum.put_gamma)],
    ["Vanna", compact(sum.vanna_exp)], ["Charm", compact(sum.charm_exp)], ["Delta", compact(sum.delta_exp)], ["Flip", price(sum.gamma_flip)],
    ...(pain ? [[`Max pain ${pain.expiry.slice(5)}`, typeof pain.max_pain === "number" ? strikeText(pain.max_pain) : price(null)]] : []),
    ["Open", `${compact(sum.call_oi)} / ${compact(sum.put_oi)}`],
  ];
  $("sums").replaceChildren(...facts.map(([word, value]) => element("div", {}, element("dt", {}, word), element("dd", {}, value))));
}

let seen = "";

/** Brings the strike at the money into sight where another name or expiry is shown. */
function toMoney(what, strikes, price) {
  const gap = (row) => Math.abs(row.strike - price);
  const nearest = strikes.reduce((best, row, i) => (gap(row) < gap(strikes[best]) ? i : best), 0);
  const row = $("strikes").tBodies[0].rows[nearest];
  set(row ?? $("strikes"), "class", row ? "on" : null);
  if (seen === what || !row) return;
  seen = what;
  const scroll = $("strikes").parentElement;
  scroll.scrollTop = row.offsetTop - scroll.clientHeight / 2;
}

/** Why there is nothing to show: the reasons of a sum, in words. */
function why(sum) {
  if (typeof sum.gex === "number") return "";
  const has = (word) => sum.missing.some((reason) => reason.endsWith(word));
  if (!has("no_open_interest")) return `No contract of ${sum.underlying} has a value and open interest.`;
  return OFFERS.quotes ? `The feed has no open interest of ${sum.underlying}.` : "Exposures need open interest: start the daemon with --show-quotes.";
}

/** The expiries to choose from; the chosen one stays. */
function offer(expiries) {
  const dates = [...new Set(expiries.map(({ expiry }) => expiry))];
  if (!set($("exp"), "data-dates", dates.join(","))) return;
  const chosen = $("exp").value || wantedExpiry;
  $("exp").replaceChildren(element("option", { value: "" }, "all"), ...dates.map((date) => element("option", { value: date }, date)));
  $("exp").value = dates.includes(chosen) ? chosen : "";
}

/** The expiry of the address, until its name has expiries to choose from. */
let wantedExpiry = "";
let running = null;
let timer = 0;

async function show() {
  clearTimeout(timer);
  running?.abort();
  const mine = (running = new AbortController());
  const name = $("underlying").value.trim().toUpperCase();
  try {
    const expiries = await ask(target("expiry"), mine.signal);
    offer(expiries);
    const said = { underlying: name, exp: $("exp").value, of: $("of").value, ...(past.asOf ? { as_of: past.asOf } : {}) };
    history.replaceState(null, "", `#${new URLSearchParams(said)}`);
    for (const format of ["html", "csv", "json"]) set($(`as-${format}`), "href", target("strike", { format }));
    const [[sum], strikes] = await Promise.all([ask(target("name"), mine.signal), ask(target("strike"), mine.signal)]);
    if (!sum) return notice(`No such symbol: ${name}.`);
    memory.set("symbol", name);
    const scope = $("exp").value ? `expiry ${$("exp").value}` : "all expiries";
    say($("chart-sub"), `${kind().title} of ${name}, ${scope}`);
    say($("strikes-sub"), `${strikes.length} strikes`);
    document.title = `${name} exposures · greeksd`;
    showSums(sum, expiries.find(({ expiry }) => expiry === $("exp").value) ?? expiries[0]);
    bars.show(strikes, kind(), [["Spot", sum.und_price], ["Flip", sum.gamma_flip]]);
    fill($("strikes"), `Exposure of ${name} by strike`, [{ title: "Strike", read: (row) => strikeText(row.strike) }, ...columns()], strikes);
    toMoney(`${name} ${scope}`, strikes, sum.und_price);
    const pain = { title: "Max pain", help: "Listed strike at which open interest is paid least", read: (row) => (typeof row.max_pain === "number" ? strikeText(row.max_pain) : fixed(null)) };
    const date = { title: "Expiry", isWord: true, isName: true, read: (row) => `${row.expiry}${row.root === row.underlying ? "" : ` ${row.root}`}` };
    fill($("expiries"), `Exposure of ${name} by expiry`, [date, ...columns(), pain], expiries, ({ expiry }) => {
      $("exp").value = expiry;
      show();
    });
    say($("source"), `${sum.valued_at.slice(0, 19).replace("T", " ")} New York · ${sum.assumes.replaceAll("_", " ")}`);
    notice(why(sum));
  } catch (error) {
    if (mine.signal.aborted) return;
    notice(error.message || "The daemon does not answer.");
  }
  if ($("follow").checked) timer = setTimeout(() => (document.hidden ? null : show()), FOLLOW_MS);
}

$("of").append(...KINDS.map(({ key, title, help }) => element("option", { value: key, title: help }, title)));
$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  show();
});
$("underlying").addEventListener("change", () => ($("exp").value = wantedExpiry = ""));
for (const id of ["exp", "of", "follow"]) $(id).addEventListener("change", show);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && $("follow").checked) show();
});
followAddress((words) => {
  past.asOf = words.get("as_of");
  $("underlying").value = words.get("underlying") ?? memory.get("symbol") ?? FIRST_NAME;
  $("of").value = KINDS.some(({ key }) => key === words.get("of")) ? words.get("of") : KINDS[0].key;
  $("exp").value = wantedExpiry = words.get("exp") ?? "";
  show();
});
