// Scenarios of positions or contracts: profit curves by moment and volatility, a heat map, Greeks by expiry.
import { Axes, line, rounded, ticks } from "./charts.js";
import { MONEY, boundsOf, fill, followAddress, money, notice } from "./desk.js";
import { drawn, element, say, set } from "./dom.js";
import { ask } from "./api.js";
import { OFFERS, STRATEGIES } from "./columns.js";
import { compact, proposed } from "./example.js";

const $ = (id) => document.getElementById(id);
const FIELDS = ["of", "what", "quantity", "price", "name", "exp", "spot", "vol", "at", "vol_rule", "clock", "event", "index", "since", "delivery"];
const AT_FIRST = { of: "positions", what: "*", quantity: "", price: "", name: "", exp: "", clock: "calendar", event: "", index: "", since: "now", delivery: "shares", spot: "-20..20:1", vol: "-10,-5,0,5,10", at: "now,+7d,+30d", vol_rule: "strike" };
const SHOWN = [["profit", "Profit"], ["value", "Value"], ["dollar_delta", "Delta $"], ["gamma_1pct", "Gamma 1%"], ["vega", "Vega"], ["theta", "Theta"]];
/** Curves of one moment each; more are not told apart. */
const CURVES = 6;
const EXAMPLE = "long straddle";
let rows = [];
let running = null;
/** Gain, loss and chance of a profit at the first settlement, where the form is of one name. */
let outlook = "";

const axes = new Axes($("curves"), "curves", 22);
const zero = drawn("path", { class: "forward" });
const curves = Array.from({ length: CURVES }, (_, i) => drawn("path", { class: `curve-${i}` }));
axes.body.append(zero, ...curves);
new ResizeObserver(draw).observe($("curves"));

/** The address of the request of the form; `more` replaces parameters. */
function target(more = {}) {
  const value = (id) => $(id).value.trim();
  const asked = { spot: value("spot"), vol: value("vol"), at: value("at"), vol_rule: value("vol_rule"), delivery: value("delivery"), sum: "total", ...more };
  asked.since = value("since");
  // an event runs by variance time alone
  if (value("event")) asked.event = value("event");
  else asked.clock = value("clock");
  if (value("of") === "positions") {
    asked.positions = value("what") || "*";
    if (value("name")) asked.underlying = value("name");
    if (value("exp")) asked.exp = value("exp");
    if (value("index")) asked.spot_beta = value("index");
  } else {
    asked.osym = value("what");
    for (const id of ["quantity", "price"]) if (value(id)) asked[id] = value(id);
  }
  return `/l1/scenario?${new URLSearchParams(asked)}`;
}

/** The strategy that the form describes; null: it is of many names, or of every contract. */
function whole() {
  const value = (id) => $(id).value.trim();
  const asked = value("since") === "now" ? { entry: "value" } : {};
  if (value("of") === "positions") {
    // strategies are of all expiries
    if (!value("name") || value("name").includes(",") || value("exp")) return null;
    Object.assign(asked, { positions: value("what") || "*", underlying: value("name") });
  } else {
    if (!value("what")) return null;
    const quantities = value("quantity").split(",");
    asked.legs = value("what").split(",").map((osym, i) => `${quantities[i]?.trim() ?? ""} ${osym.trim()}`.trim()).join(",");
    if (value("since") === "entry") asked.price = value("price");
  }
  return `/l1/strategy?${new URLSearchParams(asked)}`;
}

/** Asks what is gained and lost at most, and how likely a profit is; what makes no strategy has no answer. */
async function likely(signal) {
  const asked = whole();
  const found = asked ? await ask(asked, signal).catch(() => null) : null;
  if (signal.aborted) return;
  const words = found ? boundsOf(found) : [];
  if (typeof found?.profit_chance === "number") words.push(`profit with ${(100 * found.profit_chance).toFixed(1)} % probability`);
  outlook = words.length ? ` · ${found.strategy} at ${found.expiry}: ${words.join(", ")}` : "";
}

async function compute() {
  running?.abort();
  const { signal } = (running = new AbortController());
  const said = Object.fromEntries(FIELDS.map((id) => [id, $(id).value]));
  history.replaceState(null, "", `#${new URLSearchParams(said)}`);
  set($("as-csv"), "href", target({ format: "csv" }));
  set($("as-json"), "href", target());
  try {
    const expiries = ask(target({ spot: "0", vol: "0", at: "now", sum: "expiry" }), signal);
    expiries.catch(() => {});
    [rows] = await Promise.all([ask(target(), signal), likely(signal)]);
    if (!rows.length && $("of").value === "positions") return example(EXAMPLE, "There are no positions to revalue.");
    notice(rows.length ? rows[0].missing ? `${rows[0].missing} positions have no value` : "" : "Nothing to revalue: give contracts, or choose a strategy.");
    choices();
    draw();
    heat();
    const columns = [
      { title: "Underlying", read: (row) => row.underlying ?? "", isWord: true, isName: true },
      { title: "Expiry", read: (row) => row.expiry ?? "", isWord: true },
      { title: "Lines", read: (row) => String(row.positions) },
      ...MONEY.filter(({ field }) => ["value", "dollar_delta", "gamma_1pct", "vega", "theta", "rho"].includes(field)),
    ];
    fill($("expiries"), "Value and Greeks by expiry", columns, await expiries);
  } catch (error) {
    if (!signal.aborted) notice(error.message || "The daemon does not answer.");
  }
}

/** Fills the form with a known strategy; `why` is said above it. */
async function example(strategy, why = "") {
  try {
    const { legs, underlying } = await proposed(strategy);
    $("of").value = "osym";
    $("what").value = legs.map(compact).join(",");
    $("quantity").value = legs.map(({ quantity }) => quantity).join(",");
    $("price").value = "";
    $("since").value = "now";
    named();
    await compute();
    if (why) notice(`${why} An example instead: ${strategy} of ${underlying}.`);
  } catch (error) {
    notice(error.message || "The daemon does not answer.");
  }
}

const unique = (values) => [...new Set(values)];
const moments = () => unique(rows.map(({ at }) => at));
const short = (at) => (at ?? "").slice(0, 16).replace("T", " ");
/** The shift nearest to none: the curves are of that. */
const calm = () => unique(rows.map(({ vol_move }) => vol_move)).reduce((a, b) => (Math.abs(b) < Math.abs(a) ? b : a), Infinity);

function choices() {
  const select = $("heat-at");
  const before = select.selectedIndex;
  select.replaceChildren(...moments().map((at) => element("option", { value: at }, short(at))));
  select.selectedIndex = Math.max(0, Math.min(before, select.options.length - 1));
}

function draw() {
  if (!rows.length || !axes.measure()) return;
  const vol = calm();
  const series = moments().slice(0, CURVES).map((at) => rows.filter((row) => row.at === at && row.vol_move === vol && row.profit !== null));
  const all = series.flat();
  if (!all.length) return;
  [axes.x0, axes.x1] = [Math.min(...all.map((row) => row.spot_move)), Math.max(...all.map((row) => row.spot_move))];
  if (axes.x0 === axes.x1) [axes.x0, axes.x1] = [axes.x0 - 1, axes.x1 + 1];
  [axes.y0, axes.y1] = rounded(Math.min(0, ...all.map((row) => row.profit)), Math.max(0, ...all.map((row) => row.profit)), 6);
  const price = pricesOf(series[0]);
  const across = ticks(axes.x0, axes.x1, Math.max(3, Math.floor(axes.width / (price ? 130 : 90))));
  const along = ticks(axes.y0, axes.y1, 6);
  const brief = (value) => (Math.abs(value) >= 10_000 ? `${+(value / 1000).toFixed(1)}k` : String(+value.toFixed(2)));
  axes.rule(across.map((v) => [v, `${+v.toFixed(2)}%${price ? ` · ${+price(v).toFixed(2)}` : ""}`]), along.map((v) => [v, brief(v)]));
  set(zero, "d", line([[axes.x(axes.x0), axes.y(0)], [axes.x(axes.x1), axes.y(0)]]));
  curves.forEach((path, i) => set(path, "d", line((series[i] ?? []).map((row) => [axes.x(row.spot_move), axes.y(row.profit)]))));
  const names = series.filter((of) => of.length).map((of) => short(of[0].at));
  $("legend").replaceChildren(...names.map((name, i) => element("li", { class: `k-${i}` }, name)));
  say($("curves-sub"), `volatility ${vol > 0 ? "+" : ""}${vol} points${outcome(series.filter((of) => of.length).at(-1), price)}${outlook}`);
  const ends = series.filter((of) => of.length)
    .map((of) => `${short(of[0].at)}: ${money(of[0].profit)} at ${of[0].spot_move} percent, ${money(of.at(-1).profit)} at ${of.at(-1).spot_move} percent`);
  set(axes.root, "aria-label", `Profit by spot. ${ends.join("; ")}. The table below has the numbers.`);
}

/** The price at a move, where the rows are of one name; moves are percent, so that it is a straight line. */
function pricesOf(of) {
  const [a, b] = [of?.[0], of?.at(-1)];
  if (!a?.spot || !b?.spot || a.spot_move === b.spot_move) return null;
  return (move) => a.spot + ((b.spot - a.spot) * (move - a.spot_move)) / (b.spot_move - a.spot_move);
}

/** Where the last curve crosses zero, and its least and most profit within the moves shown. */
function outcome(of, price) {
  if (!of || of.length < 2) return "";
  const at = (move) => `${+move.toFixed(2)}%${price ? ` (${price(move).toFixed(2)})` : ""}`;
  const crossings = of.slice(1).flatMap((to, i) => {
    const from = of[i];
    if (from.profit === 0 || from.profit > 0 === to.profit > 0) return [];
    return [at(from.spot_move + ((to.spot_move - from.spot_move) * from.profit) / (from.profit - to.profit))];
  });
  const profits = of.map((row) => row.profit);
  const even = crossings.length ? `breakeven ${crossings.join(", ")}` : "no breakeven";
  return ` · ${short(of[0].at)}: ${even}, ${money(Math.min(...profits))} to ${money(Math.max(...profits))} within these moves`;
}

function heat() {
  const at = $("heat-at").value;
  const field = $("heat-what").value;
  const of = rows.filter((row) => row.at === at);
  const spots = unique(of.map(({ spot_move }) => spot_move));
  // as many columns as a reader can take in
  const step = Math.max(1, Math.ceil(spots.length / 21));
  const shown = spots.filter((spot, i) => i % step === 0 || spot === 0);
  const most = Math.max(1e-9, ...of.map((row) => Math.abs(row[field] ?? 0)));
  const head = element("tr", {}, element("th", { scope: "col" }, "Vol"), ...shown.map((spot) => element("th", { scope: "col" }, `${spot > 0 ? "+" : ""}${spot}%`)));
  const body = element("tbody");
  for (const vol of unique(of.map(({ vol_move }) => vol_move))) {
    const cells = shown.map((spot) => {
      const value = of.find((row) => row.vol_move === vol && row.spot_move === spot)?.[field];
      const cell = element("td", {}, money(value));
      const share = Math.round((Math.min(1, Math.abs(value ?? 0) / most)) * 55);
      cell.style.backgroundColor = `color-mix(in srgb, var(${value < 0 ? "--fall" : "--rise"}) ${share}%, transparent)`;
      return cell;
    });
    body.append(element("tr", {}, element("th", { scope: "row" }, `${vol > 0 ? "+" : ""}${vol}`), ...cells));
  }
  $("heat").replaceChildren(element("caption", { class: "vh" }, "Columns are moves of the spot, rows shifts of volatility"), element("thead", {}, head), body);
}

function named() {
  const isOfPositions = $("of").value === "positions";
  say($("what-word"), isOfPositions ? "Account" : "Contracts");
  set($("what"), "placeholder", isOfPositions ? "" : "-1 SPY 12/18 712 C, 100 SPY");
  for (const id of ["quantity-label", "price-label"]) $(id).hidden = isOfPositions;
  for (const id of ["name-label", "exp-label", "index-label"]) $(id).hidden = !isOfPositions;
}

$("heat-what").append(...SHOWN.map(([field, title]) => element("option", { value: field }, title)));
$("heat-at").addEventListener("change", heat);
$("heat-what").addEventListener("change", heat);
$("of").addEventListener("change", () => {
  $("what").value = $("of").value === "positions" ? "*" : "";
  named();
});
$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  compute();
});
$("strategy").append(...STRATEGIES.map((name) => element("option", { value: name }, name)));
$("strategy").addEventListener("change", ({ target: { value } }) => value && example(value));
for (const id of ["of", "what", "quantity", "price"]) $(id).addEventListener("input", () => ($("strategy").value = ""));
followAddress((words) => {
  for (const id of FIELDS) $(id).value = words.get(id) ?? AT_FIRST[id];
  $("strategy").value = "";
  named();
  if ($("of").value === "positions" && !OFFERS.positions) example(EXAMPLE, "This daemon has no positions.");
  else compute();
});
