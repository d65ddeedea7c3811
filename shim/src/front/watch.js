// The watch list: names with their spot, volatility a month ahead and changes since the session before.
import { ask, greeks } from "./api.js";
import { element, flash, memory, say, set } from "./dom.js";
import { NOTHING, fixed, percent, signed } from "./numbers.js";

const AT_FIRST = ["SPY", "QQQ", "IWM", "AAPL", "NVDA"];
const MOST = 40;
const DAYS = 30;
/** Numbers of `/l1/metrics` that are shown where a name has them. */
const METRICS = [
  ["iv_rank_1y", "Rank", "Volatility within its range of a year, percent", (value) => percent(value, 0)],
  ["expected_move", "Move", "Expected move to the next expiry, percent of the spot", (value) => percent(value, 1)],
];
const METRICS_MS = 10_000;
const KEPT_MS = 5000;

/** Spots of this and of the last session that this browser saw, by name: the day change of a daemon without closes. */
class Sessions {
  constructor() {
    try {
      this.of = JSON.parse(memory.get("sessions")) ?? {};
    } catch {
      this.of = {};
    }
    this.keptAt = 0;
  }

  /** Notes a spot of a day; the change since the last spot of the day before, and what it is of. */
  change(name, day, spot) {
    if (!day || !(spot > 0)) return null;
    let seen = this.of[name];
    if (!seen || seen.day > day) seen = { day, spot, before: null };
    this.of[name] = seen.day < day ? { day, spot, before: { day: seen.day, spot: seen.spot } } : { ...seen, spot };
    this.keep();
    const { before } = this.of[name];
    return before && { change: spot / before.spot - 1, since: `the last look of ${before.day}` };
  }

  keep() {
    if (Date.now() - this.keptAt < KEPT_MS) return;
    this.keptAt = Date.now();
    memory.set("sessions", JSON.stringify(this.of));
  }
}

export class WatchList {
  /** `picked` takes a name. */
  constructor(table, picked) {
    this.table = table;
    this.picked = picked;
    this.names = memory.get("watch")?.split(",").filter(Boolean) ?? AT_FIRST;
    this.sessions = new Sessions();
    this.metrics = new Map();
    this.metricsAt = 0;
    this.metricsFor = null;
    addEventListener("pagehide", () => (this.sessions.keptAt = 0, this.sessions.keep()));
  }

  has(name) {
    return this.names.includes(name);
  }

  /** Adds a name, or takes it away. */
  toggle(name) {
    this.names = this.has(name) ? this.names.filter((other) => other !== name) : [...this.names, name].slice(-MOST);
    memory.set("watch", this.names.join(","));
  }

  /** The change of a name's spot since the session before: since its close, else since this browser's last look. */
  change(name, day, spot) {
    const looked = this.sessions.change(name, day, spot);
    const { prev_close: close, day_change: known } = this.metrics.get(name) ?? {};
    if (typeof close !== "number") return looked;
    // a close without a change is of other shares
    return typeof known === "number" ? { change: spot / close - 1, since: "the close of the session before" } : null;
  }

  /** Asks for the names as they are now, and shows them; whether the list has other rows than before. */
  async refresh(state, chosen, signal) {
    const { names } = this;
    const rows = names.length ? await ask(greeks({ underlying: names.join(","), center: "atf", right: "call", min_days: 5, max_days: 80,
      greeks: "core,extra,chain" }), signal) : [];
    if (Date.now() - this.metricsAt > METRICS_MS || this.metricsFor !== chosen) {
      Object.assign(this, { metricsAt: Date.now(), metricsFor: chosen });
      const asked = [...new Set([...names, chosen])].join(",");
      const found = await ask(`/l1/metrics?${new URLSearchParams({ underlying: asked })}`, signal).catch(() => []);
      this.metrics = new Map(found.map((row) => [row.underlying, row]));
    }
    const nearest = new Map();
    for (const row of rows) {
      const best = nearest.get(row.underlying);
      if (!best || Math.abs(row.days - DAYS) < Math.abs(best.days - DAYS)) nearest.set(row.underlying, row);
    }
    const day = state.snapshot_time?.slice(0, 10);
    return this.show(names.filter((name) => nearest.has(name)).map((name) => this.line(nearest.get(name), day)), chosen);
  }

  /** What is shown of a name. */
  line({ underlying, und_price, svc_vol, prev_vol, expiry }, day) {
    const moved = this.change(underlying, day, und_price);
    const points = typeof svc_vol === "number" && typeof prev_vol === "number" ? (svc_vol - prev_vol) * 100 : null;
    return { name: underlying, cells: [
      [fixed(und_price, 2), "", und_price],
      moved ? [signed(percent(moved.change)), `Since ${moved.since}`, moved.change] : [NOTHING, "The close of the session before is not known", 0],
      [percent(svc_vol, 1), `Volatility at the money of ${expiry}, percent`, 0],
      [points === null ? NOTHING : signed(fixed(points, 1)), "Points since the session before", points ?? 0],
      ...this.further().map(([field, , meaning, spell]) => [spell(this.metrics.get(underlying)?.[field]), meaning, 0]),
    ] };
  }

  further() {
    return METRICS.filter(([field]) => this.names.some((name) => typeof this.metrics.get(name)?.[field] === "number"));
  }

  show(lines, chosen) {
    const titles = ["Spot", "Day %", "ATM %", "Chg", ...this.further().map(([, title]) => title)];
    const key = JSON.stringify([titles, lines.map(({ name }) => name)]);
    const isOther = key !== this.key;
    if (isOther) {
      this.key = key;
      const head = element("tr", {}, element("th", { scope: "col", class: "w" }, "Name"), ...titles.map((title) => element("th", { scope: "col" }, title)));
      const body = lines.map(({ name }) => {
        const row = element("tr", {}, element("th", { scope: "row", class: "w" }, element("button", { type: "button" }, name)), ...titles.map(() => element("td")));
        row.addEventListener("click", () => this.picked(name));
        return row;
      });
      this.table.replaceChildren(element("caption", { class: "vh" }, "Names that are watched"), element("thead", {}, head), element("tbody", {}, ...body));
    }
    lines.forEach(({ name, cells }, i) => {
      const row = this.table.tBodies[0].rows[i];
      row.classList.toggle("on", name === chosen);
      cells.forEach(([text, meaning, value], j) => {
        const cell = row.cells[j + 1];
        const before = Number(cell.textContent);
        set(cell, "title", meaning || null);
        if (j % 2 === 1) set(cell, "class", value > 0 ? "up" : value < 0 ? "down" : null);
        if (say(cell, text) && j === 0 && before) flash(cell, value > before);
      });
    });
    return isOther;
  }
}
