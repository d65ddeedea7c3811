// A viewer of the daemon's market: search, chain, smile, term structure, once a second. What is asked for is what is shown.
import { Refused, ask, carryOf, chainTarget, eventsIn, health, metricsOf, midVols, past, positionsOf, snapshots, symbol as symbolOf, symbols, termTarget } from "./api.js";
import { ChainTable, byStrike } from "./chain.js";
import { Smile, Term, axisNumber } from "./charts.js";
import { ColumnChooser } from "./chooser.js";
import { STRATEGIES } from "./columns.js";
import { columnsOf, defaultColumns, fixed, groupsFor, noteCounts, percent, signed, strikeText } from "./numbers.js";
import { element, flash, foldable, memory, say, set } from "./dom.js";
import { explain } from "./explain.js";
import { Legs } from "./legs.js";
import { MomentBar, spelled } from "./moment.js";
import { drawTags, tagsOf } from "./tags.js";
import { search } from "./search.js";
import { WatchList } from "./watch.js";

const PERIOD_MS = 1000;
/** How often health is asked for while the stream says what changes. */
const CALM_MS = 10_000;
const FIRST_CHOICE = "SPY";
const DAYS_AT_FIRST = 30;

const $ = (id) => document.getElementById(id);

/** The view, as in the address: symbol, expiry, root, keys of columns (null: the usual ones), clock of the term structure
 *  (null: the calendar); `past.asOf` is its moment. */
const view = { symbol: null, expiry: null, root: null, columns: null, clock: null };
/** What was last shown. */
const shown = { number: null, key: null, term: [], lines: [], points: [], index: null, symbol: null, spot: null,
  rates: "", carry: null, day: null, held: new Map(), tags: [], dividendsUnknown: [], doubted: [], quotesMissed: [] };
/** Whether the daemon answered last time, and when. */
const daemon = { answers: true, at: null };
let running = null;
let timer = 0;
let chosenLine = null;
/** What the daemon refused, until something else is looked at. */
let refused = "";

// --- the address ---------------------------------------------------------------------------------------------------

function readAddress() {
  const said = new URLSearchParams(location.hash.slice(1));
  const word = (name) => said.get(name)?.trim() || null;
  // an address typed by hand: /#SPX
  const typed = /^#[A-Za-z0-9./-]{1,8}$/.test(location.hash) ? location.hash.slice(1) : null;
  view.symbol = (word("symbol") ?? typed)?.toUpperCase() ?? null;
  view.expiry = /^\d{4}-\d\d-\d\d$/.test(word("expiry") ?? "") ? word("expiry") : null;
  view.root = word("root");
  view.columns = word("columns")?.split(",") ?? null;
  view.clock = word("clock") === "variance" ? "variance" : null;
  past.asOf = word("as_of");
  legs.read(word("legs"));
}

function writeAddress(isNewPlace) {
  const said = new URLSearchParams();
  if (view.symbol) said.set("symbol", view.symbol);
  if (view.expiry) said.set("expiry", view.expiry);
  if (view.root) said.set("root", view.root);
  if (past.asOf) said.set("as_of", past.asOf);
  if (view.columns) said.set("columns", view.columns.join(","));
  if (view.clock) said.set("clock", view.clock);
  if (legs.text) said.set("legs", legs.text);
  // commas and colons as they are: the address is there to be read
  const hash = `#${said.toString().replaceAll("%2C", ",").replaceAll("%3A", ":")}`;
  if (hash === location.hash) return;
  if (isNewPlace) history.pushState(null, "", hash);
  else history.replaceState(null, "", hash);
}

const columnsNow = () => {
  const columns = columnsOf(view.columns ?? defaultColumns());
  return columns.length ? columns : columnsOf(defaultColumns());
};

// --- following -----------------------------------------------------------------------------------------------------

const stream = { of: null, events: null, isOpen: false };

/** Follows the stream of what is looked at; whether it is open. A change is looked at at once. */
function follow() {
  const of = view.root && view.expiry && !document.hidden && !past.asOf
    ? `/l1/stream?${new URLSearchParams({ root: view.root, exp: view.expiry, fields: "svc_theo,svc_vol", every: "1s" })}` : null;
  if (of !== stream.of) {
    stream.events?.close();
    Object.assign(stream, { of, events: of ? new EventSource(of) : null, isOpen: false });
    const { events } = stream;
    const changed = () => {
      stream.isOpen = true;
      if (!running) refresh();
    };
    events?.addEventListener("image", () => (stream.isOpen = true));
    events?.addEventListener("update", changed);
    events?.addEventListener("error", () => (stream.isOpen = false));
  }
  return stream.isOpen;
}

// --- asking --------------------------------------------------------------------------------------------------------

/** Asks again at once: something else is looked at. */
function refresh() {
  running?.abort();
  clearTimeout(timer);
  if (keyNow() !== shown.key) moment.leave();
  const mine = (running = new AbortController());
  cycle(mine.signal).finally(() => {
    if (running !== mine) return;
    running = null;
    if (!document.hidden) timer = setTimeout(refresh, follow() || past.asOf ? CALM_MS : PERIOD_MS);
  });
}

async function cycle(signal) {
  try {
    const state = await health(signal);
    shown.rates = ratesOf(state);
    shown.day = state.snapshot_time?.slice(0, 10) ?? null;
    shown.dividendsUnknown = state.dividends_unknown?.underlyings ?? [];
    shown.doubted = state.doubted ?? [];
    shown.quotesMissed = state.quotes_missed?.underlyings ?? [];
    if (!view.symbol) await chooseSymbol(signal);
    const name = view.symbol;
    // what is known of a name is of the present
    const facts = past.asOf && name ? { symbol: name, state: "past" } : name ? await symbolOf(name, signal) : undefined;
    const key = keyNow();
    // a name that is not computed yet would be refused
    if (name && facts && facts.state !== "pending" && ((!past.asOf && state.snapshot_number !== shown.number) || key !== shown.key)) {
      const hasPast = state.feed.startsWith("history:");
      const around = hasPast ? snapshots(name, signal) : null;
      around?.catch(() => {});
      await moment.show(around, hasPast || past.asOf !== null, signal);
      await market(name, signal);
      legs.refresh();
      // another place may have been chosen meanwhile: what was loaded is not its
      if (signal.aborted) return;
      const isLonger = !past.asOf && (await watch.refresh(state, name, signal).catch(() => false));
      if (signal.aborted) return;
      if (isLonger) {
        // the list takes its place from the expiries: the chosen one must stay in sight
        shown.seen = null;
        showTerm();
      }
      shown.number = state.snapshot_number;
      shown.key = keyNow();
    }
    if (signal.aborted) return;
    answered();
    showState(state, facts);
    showNotice(noticeOf(state, facts) || refused);
  } catch (error) {
    if (signal.aborted) return;
    if (error instanceof Refused) {
      answered();
      showNotice(error.message);
      if (past.asOf) showNothing();
      // columns that this daemon does not have must not keep the others away
      const kept = columnsOf(view.columns ?? []).filter(({ group }) => group !== "quote").map(({ key }) => key);
      if (error.status === 400 && view.columns && kept.length < view.columns.length) {
        refused = error.message;
        view.columns = kept.length ? kept : null;
        writeAddress(false);
      }
    } else gone();
  }
}

/** What is looked at, to tell it from what is shown. */
const keyNow = () => JSON.stringify([view, past.asOf, columnsNow().map(({ key }) => key)]);

/** Takes the numbers of another moment off the page: there are none of this one. */
function showNothing() {
  shown.key = null;
  showChips(["past"], spelled(past.asOf));
  $("main").classList.add("past");
  show(view.symbol ?? "", [], 0, [], null, columnsNow());
}

async function chooseSymbol(signal) {
  const remembered = memory.get("symbol");
  for (const name of [remembered, FIRST_CHOICE]) {
    if (name && (await symbolOf(name, signal))) return void (view.symbol = name);
  }
  const [first] = await symbols("", 1, signal);
  view.symbol = first?.symbol ?? null;
}

/** Asks for the expiries of a name and for the chain of one, and shows them. */
async function market(name, signal) {
  const groups = groupsFor(columnsNow());
  const termed = ask(termTarget(name), signal);
  // what stands beside the chain must not keep it away
  const beside = Promise.all([positionsOf(name, signal), metricsOf(name, signal)].map((asked) => asked.catch(() => new Map())));
  // the expiry is known but for the first time: then nobody waits for the list
  const known = view.expiry && view.root ? { expiry: view.expiry, root: view.root } : null;
  const asked = known ? chainOf(name, known, groups, signal) : null;
  asked?.catch(() => {});
  const term = await termed;
  const index = chooseExpiry(term);
  const place = term[index];
  const carried = past.asOf && place ? carryOf(place, signal).catch(() => null) : null;
  const isKnown = known && place && known.expiry === place.expiry && known.root === place.root;
  const [rows, mids] = isKnown ? await asked : place ? await chainOf(name, place, groups, signal) : [[], null];
  const [held, metrics] = await beside;
  const carry = await carried;
  if (signal.aborted) return;
  noteCounts(rows);
  for (const row of term) row.metrics = metrics.get(row.expiry) ?? null;
  Object.assign(shown, { held, carry, tags: tagsOf(term, eventsIn(metrics)) });
  view.expiry = place?.expiry ?? null;
  view.root = place?.root ?? null;
  writeAddress(false);
  show(name, term, index, rows, mids, columnsNow());
}

function chainOf(name, place, groups, signal) {
  return Promise.all([ask(chainTarget(place, groups), signal), midVols(name, place, signal)]);
}

/** The expiry of the view, or the one after it, or one about a month away. */
function chooseExpiry(term) {
  if (!view.expiry) {
    const gap = ({ days }) => Math.abs(days - DAYS_AT_FIRST);
    return term.reduce((best, row, i) => (gap(row) < gap(term[best]) ? i : best), 0);
  }
  const same = term.findIndex(({ expiry, root }) => expiry === view.expiry && (!view.root || root === view.root));
  if (same >= 0) return same;
  const after = term.findIndex(({ expiry }) => expiry >= view.expiry);
  return after >= 0 ? after : Math.max(0, term.length - 1);
}

// --- showing -------------------------------------------------------------------------------------------------------

const marks = { pointed: (index) => light(index), picked: (index) => pick(index) };
const smile = new Smile($("smile-chart"), marks);
const moment = new MomentBar((asOf) => goToMoment(asOf));
const legs = new Legs($("legs"), () => writeAddress(false), announce, () => view.symbol);
const chain = new ChainTable($("chain-scroll"), { lit: marks.pointed, picked: (index, side, trade) => {
  pick(index);
  const contract = side && shown.lines[index]?.[side];
  if (contract && trade) legs.add(contract.osym, trade === "buy" ? 1 : -1);
  else if (contract) explain(contract.osym);
} });
const watch = new WatchList($("watch-table"), (name) => goToSymbol(name));
const chooser = new ColumnChooser(columnsNow, (keys) => {
  view.columns = keys;
  refused = "";
  writeAddress(false);
  refresh();
});
const term = new Term($("term-charts"), [
  { name: "Volatility at the money", read: (row) => row.svc_vol, spell: axisNumber(100, " %"),
    variance: { name: "Volatility by variance time, without the event", read: (row) => row.metrics?.vol_vt } },
  { name: "Forward", read: (row) => row.fwd_price, spell: axisNumber(1) },
  { name: "Borrow rate", read: (row) => row.borr_rate, spell: axisNumber(100, " %") },
], (index) => goTo(index));

function show(name, rows, index, contracts, mids, columns) {
  const place = rows[index];
  const isOther = shown.symbol !== name || shown.view !== `${name} ${place?.expiry} ${place?.root}`;
  if (isOther) {
    chosenLine = null;
    light(null);
  }
  Object.assign(shown, { term: rows, index, symbol: name, view: `${name} ${place?.expiry} ${place?.root}` });
  const chosenStrike = shown.lines[chosenLine]?.strike;
  shown.lines = byStrike(contracts);
  // strikes may have come or gone around the chosen one
  if (chosenLine !== null) {
    const at = shown.lines.findIndex(({ strike }) => strike === chosenStrike);
    chosenLine = at < 0 ? null : at;
  }
  shown.points = place ? pointsOf(shown.lines, mids, place.fwd_price) : [];
  document.title = `${name} · greeksd`;
  showWatchButton();
  showHeadline(name, place);
  showTerm();
  const terms = place ? { spot: place.und_price, forward: place.fwd_price, vol: place.svc_vol, years: place.days / 365 } : {};
  smile.show(shown.points, terms);
  drawChain(columns);
  const what = place ? `${place.expiry}${rootNote(place)}` : "";
  say($("smile-sub"), what);
  say($("chain-sub"), place ? `${what} · ${shown.lines.length} strikes` : "");
  showLinks(place, columns);
  light(chosenLine);
  if (isOther && place) announce(`${name}, expiry ${place.expiry}, ${shown.lines.length} strikes`);
  memory.set("symbol", name);
}

function drawChain(columns) {
  chain.show(shown.view, shown.lines, columns, shown.term[shown.index]?.und_price ?? 0, pins(), shown.held);
}

/** The strikes of the name that stay in sight. */
const pins = () => memory.get(`pins.${shown.symbol}`)?.split(",").map(Number) ?? [];

/** Pins the chosen strike, or lets it go. */
function togglePin() {
  const strike = shown.lines[chosenLine]?.strike;
  if (strike === undefined) return announce("Choose a strike to pin.");
  const kept = pins().includes(strike) ? pins().filter((other) => other !== strike) : [...pins(), strike];
  memory.set(`pins.${shown.symbol}`, kept.length ? kept.join(",") : null);
  drawChain(columnsNow());
  light(null);
  announce(`Strike ${strikeText(strike)} ${kept.includes(strike) ? "stays in sight" : "is no longer pinned"}`);
}

function toggleWatch() {
  if (!shown.symbol) return;
  watch.toggle(shown.symbol);
  showWatchButton();
  shown.key = null;
  refresh();
}

function showWatchButton() {
  say($("watch-button"), `${watch.has(shown.symbol) ? "Remove" : "Add"} ${shown.symbol}`);
}

/** What the smile draws of each strike: the curve, and bid, mid and ask of the option that is out of the money. */
function pointsOf(lines, mids, forward) {
  return lines.map(({ strike, call, put }, i) => {
    const side = strike < forward ? "put" : "call";
    const row = { call, put }[side];
    return { index: i, strike, side, fit: (call ?? put)?.svc_vol ?? null, bid: row?.bid_vol ?? null, ask: row?.ask_vol ?? null,
      mid: mids?.[side].get(strike) ?? null };
  });
}

/** What is said of a root that is not the name, or of a settlement in the morning. */
function rootNote({ root, underlying, settle }) {
  const other = root === underlying ? "" : ` ${root}`;
  return `${other}${settle === "am" ? " AM" : ""}`;
}

function showHeadline(name, place) {
  say($("name"), name);
  const { carry } = shown;
  const moved = place && !past.asOf ? watch.change(name, shown.day, place.und_price) : null;
  const shares = shown.held.get(name);
  const isUnknown = carry ? !carry.dividends_known : shown.dividendsUnknown.includes(name);
  // the curve of a past moment has the date of that moment
  const rates = past.asOf ? carry && [carry.rate_source, carry.rate_as_of].filter(Boolean).join(" ").replaceAll("_", "-") : shown.rates;
  const facts = place ? [
    ["Spot", fixed(place.und_price, 2)],
    ...(moved ? [["Day", `${signed(percent(moved.change))} %`]] : []),
    ["Expiry", `${place.expiry}${rootNote(place)}`],
    ["Days", fixed(place.days, 2)],
    ["Forward", fixed(place.fwd_price, 2)],
    ["ATM vol", `${percent(place.svc_vol)} %`],
    ...(place.metrics ? [["Skew", `${percent(place.metrics.skew25)} %`], ["Move", `${percent(place.metrics.expected_move)} %`]] : []),
    ["Borrow", `${percent(place.borr_rate)} %`],
    ["Rate", `${percent(place.disc_rate)} %${rates ? ` ${rates}` : ""}`],
    ["Dividends", isUnknown ? "none known" : fixed(place.divs, 3)],
    ["Exercise", place.ex_style],
    ...(shares ? [["Held", `${shares} shares`]] : []),
  ] : [];
  const list = $("facts");
  while (list.children.length > facts.length) list.lastChild.remove();
  while (list.children.length < facts.length) list.append(element("div", {}, element("dt"), element("dd")));
  facts.forEach(([word, value], i) => {
    const [term_, number] = list.children[i].children;
    say(term_, word);
    const before = Number(number.textContent);
    if (say(number, value) && i === 0 && shown.spot === name && before) flash(number, Number(value) > before);
  });
  shown.spot = name;
}

function showTerm() {
  const { term: rows, index } = shown;
  const body = $("term-table").tBodies[0];
  while (body.rows.length > rows.length) body.lastChild.remove();
  while (body.rows.length < rows.length) {
    const row = element("tr", {}, element("th", { scope: "row", class: "w" }, element("button", { type: "button" })),
      ...Array.from({ length: 5 }, () => element("td")));
    row.addEventListener("click", () => goTo(row.sectionRowIndex));
    body.append(row);
  }
  rows.forEach((place, i) => {
    const row = body.rows[i];
    const [name, days, forward, borrow, vol, kind] = row.cells;
    say(name.firstChild, `${place.expiry}${rootNote(place)}`);
    set(name.firstChild, "aria-current", i === index ? "true" : null);
    set(row, "class", i === index ? "on" : null);
    const away = view.clock ? place.metrics?.days_vt : place.days;
    say(days, fixed(away, away < 100 ? 1 : 0));
    say(forward, fixed(place.fwd_price, 2));
    say(borrow, percent(place.borr_rate));
    say(vol, percent(view.clock ? place.metrics?.vol_vt : place.svc_vol));
    const tags = shown.tags[i] ?? [];
    if (set(kind, "data-tags", JSON.stringify(tags))) kind.replaceChildren(...drawTags(tags));
  });
  const choice = $("expiry");
  const names = rows.map((place, i) => `${place.expiry}${rootNote(place)} · ${fixed(place.days, 0)} d · ${(shown.tags[i] ?? []).map(([tag]) => tag).join(" ")}`);
  if (set(choice, "data-names", JSON.stringify(names))) choice.replaceChildren(...names.map((name) => element("option", {}, name)));
  choice.selectedIndex = index;
  if (shown.seen !== shown.view) {
    shown.seen = shown.view;
    const row = body.rows[index];
    const scroll = $("term-scroll");
    if (row && (row.offsetTop < scroll.scrollTop + 30 || row.offsetTop + row.offsetHeight > scroll.scrollTop + scroll.clientHeight)) {
      scroll.scrollTop = row.offsetTop - scroll.clientHeight / 2;
    }
  }
  showClock();
  term.show(rows, index, view.clock);
}

/** What the table of expiries has by the calendar and by variance time: title, and what it means. */
const BY_CLOCK = {
  days: [["Days", "Calendar days to settlement"], ["Days vt", "Variance days to settlement: sessions, with small weights for nights, weekends and holidays"]],
  vol: [["ATM vol", "Fitted volatility at the strike nearest to the forward, percent"],
    ["Vol vt", "Volatility at the forward per variance day, annualised, without the event of the name, percent"]],
};

function showClock() {
  const isVariance = view.clock === "variance";
  set($("clock-button"), "aria-pressed", String(isVariance));
  for (const [id, titles] of Object.entries(BY_CLOCK)) {
    const [title, meaning] = titles[isVariance ? 1 : 0];
    say($(`term-${id}`), title);
    set($(`term-${id}`), "title", meaning);
  }
}

/** Shows the term structure by the other clock. */
function nextClock() {
  view.clock = view.clock ? null : "variance";
  writeAddress(false);
  // the numbers are there
  if (shown.key !== null) shown.key = keyNow();
  showTerm();
  announce(view.clock ? "Term structure by variance time" : "Term structure by calendar time");
}

function showLinks(place, columns) {
  for (const format of ["html", "csv", "json"]) {
    set($(`as-${format}`), "href", place ? chainTarget(place, groupsFor(columns), format) : "/examples");
  }
}

/** What the daemon and the name are like, in a word each. */
const STATES = {
  ok: ["Live", "good", "Values are current"],
  past: ["Past", "past", "Values of a recorded moment, New York time"],
  unsaved: ["Unsaved", "bad", "The daemon cannot write its recording or its state"],
  held: ["Held", "calm", "The market is closed: values of the last session"],
  stale: ["Stale", "bad", "Values are older than they should be"],
  starting: ["Starting", "calm", "Some names are not computed yet"],
  failed: ["Failed", "bad", "The market loop has stopped"],
  pending: ["Pending", "calm", "This name is not computed yet"],
  uncomputed: ["No Greeks", "bad", "This name cannot be computed"],
  preliminary: ["Preliminary", "calm", "Values of the preliminary pass; the full pass follows"],
  simulated: ["Simulated", "sim", "Simulated market: no real data"],
  gone: ["No answer", "bad", "The daemon does not answer"],
};

function showChips(words, day) {
  const host = $("chips");
  while (host.children.length > words.length) host.lastChild.remove();
  while (host.children.length < words.length) host.append(element("span", { class: "chip" }));
  words.forEach((word, i) => {
    const [text, kind, meaning] = STATES[word] ?? [word, "calm", word];
    const chip = host.children[i];
    say(chip, i === 0 && day ? `${text} ${day}` : text);
    set(chip, "class", `chip ${kind}`);
    set(chip, "title", meaning);
  });
}

/** The source of the discount curve and its date. */
function ratesOf(state) {
  return state.rates ? [state.rates.source.replaceAll("_", "-"), state.rates.as_of].filter(Boolean).join(" ") : "";
}

function showState(state, facts) {
  // the name's own state where it is worse than that of the daemon
  $("main").classList.toggle("past", past.asOf !== null);
  if (past.asOf) {
    showChips(["past"], spelled(moment.time ?? past.asOf));
    say($("source"), `Snapshot of ${spelled(moment.time ?? past.asOf)} New York · feed ${state.feed} · greeksd ${state.version}`);
    return;
  }
  const word = facts && facts.state !== "ok" ? facts.state : state.status;
  const words = [word];
  if (facts?.preliminary) words.push("preliminary");
  if (state.simulated) words.push("simulated");
  showChips(words, word === "held" ? state.snapshot_time?.slice(0, 10) : null);
  const time = state.snapshot_time ? `${state.snapshot_time.slice(0, 10)} ${state.snapshot_time.slice(11, 19)} New York` : "none yet";
  const clock = state.clock === "running" ? "" : ` · clock ${state.clock}`;
  const rates = ratesOf(state);
  say($("source"), `Snapshot ${state.snapshot_number} of ${time} · feed ${state.feed}${clock}` +
    `${rates ? ` · rates ${rates}` : ""} · greeksd ${state.version}`);
}

const REASONS = {
  no_spot: "no usable price of the underlying",
  no_usable_quote: "no usable quote",
  contradictory_pairs: "call and put prices contradict each other",
  strike_scale: "strikes are in other units than the spot, as thousandths",
  price_scale: "option prices are in other units than the strikes, as those of a contract",
  failed: "internal error",
};

const DOUBTS = {
  spot: "contradict the published spot: values use the spot that they imply",
  borrow: "contradict a usual borrow rate: values use the rate that they imply",
  dividends: "contradict the dividends given: values count what they pay for",
};

/** What most calls and puts of a name contradict, and whether its values are outside of most quotes all the same. */
function doubtOf(symbol) {
  const doubt = shown.doubted.find((name) => name.underlying === symbol)?.doubt;
  const lines = [];
  if (doubt) lines.push(`Calls and puts of ${symbol} ${DOUBTS[doubt] ?? `contradict: ${doubt}`}.`);
  if (shown.quotesMissed.includes(symbol)) lines.push(`Most quotes of ${symbol} do not hold the value of their contract.`);
  return lines.join(" ");
}

function noticeOf(state, facts) {
  if (!view.symbol) return state.pending ? "The first names are being computed." : "The daemon serves no names yet.";
  if (!facts) return state.status === "starting" ? `${view.symbol} is not computed yet.` : `No such symbol: ${view.symbol}. Press / to search another.`;
  if (facts.state === "uncomputed") return `${facts.symbol} has ${facts.contracts} contracts and no Greeks: ${REASONS[facts.reason] ?? facts.reason}.`;
  if (facts.state === "pending") return `${facts.symbol} is being computed for the first time.`;
  if (past.asOf) return "";
  const doubt = doubtOf(facts.symbol);
  if (doubt) return doubt;
  if (state.rates?.warning) return `Rates: ${state.rates.warning}.`;
  if (shown.dividendsUnknown.includes(facts.symbol)) {
    return `No source of dividends covers ${facts.symbol}: add dividends.csv to the folder, or --feed nasdaq:${facts.symbol}.`;
  }
  return "";
}

function showNotice(text) {
  const place = $("notice");
  say(place, text);
  place.hidden = !text;
}

function announce(text) {
  say($("announce"), text);
}

function answered() {
  if (!daemon.answers) {
    announce("The daemon answers again.");
    shown.number = null;
  }
  daemon.answers = true;
  daemon.at = new Date();
  $("main").classList.remove("gone");
}

function gone() {
  daemon.answers = false;
  $("main").classList.add("gone");
  showChips(["gone"]);
  const since = daemon.at ? ` since ${daemon.at.toLocaleTimeString()}` : "";
  showNotice(`The daemon does not answer${since}. The values shown are old; the page continues when the daemon answers.`);
}

// --- moving about --------------------------------------------------------------------------------------------------

function goToSymbol(name) {
  refused = "";
  // a strategy is of one underlying
  if (name !== view.symbol) legs.clear();
  Object.assign(view, { symbol: name, expiry: null, root: null });
  shown.key = null;
  writeAddress(true);
  refresh();
}

/** Looks at another moment; null: the latest. */
function goToMoment(asOf) {
  if (asOf === past.asOf) return;
  past.asOf = asOf;
  shown.key = null;
  refused = "";
  writeAddress(true);
  announce(asOf ? `As of ${spelled(asOf)}` : "The latest snapshot");
  refresh();
}

function goTo(index) {
  const place = shown.term[index];
  if (!place || (place.expiry === view.expiry && place.root === view.root)) return;
  Object.assign(view, { expiry: place.expiry, root: place.root });
  writeAddress(true);
  // the table of expiries answers at once; the chain follows
  shown.index = index;
  showTerm();
  refresh();
}

const HINT = matchMedia("(pointer: coarse)").matches ? "Touch a strike for its volatilities."
  : "Point at a strike, or move along them with the arrow keys.";

/** Marks a line that is pointed at, else the one that was chosen. */
function light(index) {
  const at = index ?? chosenLine;
  chain.light(at);
  const strike = shown.lines[chosenLine]?.strike;
  $("pin-button").disabled = strike === undefined;
  say($("pin-button"), pins().includes(strike) ? "Unpin" : "Pin");
  smile.light(at);
  const point = at === null ? undefined : shown.points[at];
  say($("readout"), point ? spell(point) : shown.points.length ? HINT : "");
}

function pick(index) {
  chosenLine = index;
  light(index);
  if (index !== null) chain.light(index, true);
}

function spell(point) {
  const vol = (value) => (value > 0 ? percent(value) : "none");
  const { strike, side, fit, bid, mid, ask: asked } = point;
  return `${strikeText(strike)} ${side} · fitted ${vol(fit)} · bid ${vol(bid)} · mid ${vol(mid)} · ask ${vol(asked)}`;
}

function moveLine(step) {
  const count = shown.lines.length;
  if (!count) return;
  const start = chosenLine ?? Math.max(0, chain.money);
  const to = chosenLine === null ? start : Math.min(count - 1, Math.max(0, start + step));
  pick(to);
  const { strike, call, put } = shown.lines[to];
  announce(`Strike ${strikeText(strike)}, volatility ${percent((call ?? put)?.svc_vol)} percent, call ${fixed(call?.svc_theo, 2)}, put ${fixed(put?.svc_theo, 2)}`);
}

const STEPS = { ArrowUp: -1, ArrowDown: 1, PageUp: -10, PageDown: 10, Home: -1e9, End: 1e9 };

function pressed(event) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, select, textarea, dialog")) return;
  const inTerm = event.target.closest("#term-scroll");
  if (event.key in STEPS) {
    const isPaging = event.key.startsWith("Arrow") === false;
    if (isPaging && !event.target.closest("#chain-scroll")) return;
    event.preventDefault();
    if (inTerm && event.key.startsWith("Arrow")) {
      goTo(Math.min(shown.term.length - 1, Math.max(0, shown.index + STEPS[event.key])));
      $("term-table").tBodies[0].rows[shown.index]?.querySelector("button").focus();
    } else moveLine(STEPS[event.key]);
  } else if (event.key === "Enter" && chosenLine !== null && !event.target.closest("button, a")) {
    event.preventDefault();
    const contract = chosenContract(event.shiftKey);
    if (contract) explain(contract.osym);
  } else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
    event.preventDefault();
    goTo(shown.index + (event.key === "ArrowLeft" ? -1 : 1));
  } else if ($("keys-on").checked) {
    const trades = { a: 1, x: -1 }[event.key.toLowerCase()];
    const contract = trades && chosenContract(event.shiftKey);
    if (contract) {
      event.preventDefault();
      legs.add(contract.osym, trades);
      return;
    }
    const does = { "/": () => $("search").focus(), "?": openHelp, c: () => chooser.open(), t: nextTheme, m: toMoney,
      p: togglePin, w: toggleWatch, s: foldSmile, b: toggleSide, v: nextClock,
      "[": () => moment.step(-1), "]": () => moment.step(1), n: () => moment.goTo(null) }[event.key];
    if (!does) return;
    event.preventDefault();
    does();
  }
}

/** The contract of the chosen strike that is out of the money, or the other one. */
function chosenContract(isOther) {
  if (chosenLine === null) return null;
  const { strike, call, put } = shown.lines[chosenLine];
  const isOut = strike < (shown.term[shown.index]?.fwd_price ?? 0);
  return isOut !== isOther ? put : call;
}

function toMoney() {
  chosenLine = null;
  light(null);
  chain.toMoney();
}

const openHelp = () => $("help").showModal();

/** Shows or hides what stands left of the chain. */
function toggleSide() {
  const isHidden = memory.get("side") !== "hidden";
  memory.set("side", isHidden ? "hidden" : null);
  showSide();
}

function showSide() {
  const isHidden = memory.get("side") === "hidden";
  $("main").classList.toggle("alone", isHidden);
  set($("side-button"), "aria-pressed", String(!isHidden));
}

const THEMES = ["system", "light", "dark"];
const themeNow = () => document.documentElement.dataset.theme ?? "system";

function nextTheme() {
  const next = THEMES[(THEMES.indexOf(themeNow()) + 1) % THEMES.length];
  if (next === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = next;
  memory.set("theme", next === "system" ? null : next);
  showTheme();
}

function showTheme() {
  say($("theme-button"), `Theme: ${themeNow()}`);
}

// --- beginning -----------------------------------------------------------------------------------------------------

search($("search"), $("matches"), goToSymbol, explain);
$("help-button").addEventListener("click", openHelp);
$("columns-button").addEventListener("click", () => chooser.open());
$("side-button").addEventListener("click", toggleSide);
$("pin-button").addEventListener("click", togglePin);
$("watch-button").addEventListener("click", toggleWatch);
$("clock-button").addEventListener("click", nextClock);
$("expiry").addEventListener("change", ({ target }) => goTo(target.selectedIndex));
$("strategy").append(...STRATEGIES.map((name) => element("option", { value: name }, name)));
$("strategy").addEventListener("change", ({ target }) => {
  if (target.value && view.symbol && view.expiry) legs.propose(target.value, view.symbol, view.expiry);
});
$("theme-button").addEventListener("click", nextTheme);
$("atm-button").addEventListener("click", toMoney);
// a low window is for the chain
const isLow = innerHeight < 800 && innerWidth > 980;
const foldSmile = foldable($("smile-pane"), !isLow);
foldable($("term-pane"), true);
foldable($("watch-pane"), innerWidth > 640);
$("keys-on").checked = memory.get("keys") !== "off";
$("keys-on").addEventListener("change", () => memory.set("keys", $("keys-on").checked ? null : "off"));
addEventListener("keydown", pressed);
const moved = () => {
  readAddress();
  refresh();
};
addEventListener("hashchange", moved);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && !running) refresh();
  if (document.hidden) follow();
});
showTheme();
showSide();
readAddress();
refresh();
