// The drawings: a smile, and small ones of what changes along expiries. Nodes are made once and moved afterwards, so that
// nothing flickers and no scroll position is lost.
import { drawn, element, say, set } from "./dom.js";
import { fixed, percent, strikeText } from "./numbers.js";

const LEFT = 46;
const RIGHT = 12;
const TOP = 10;
const BOTTOM = 22;

/** Round steps from `least` to `most`, about `count` of them. */
export function ticks(least, most, count) {
  const span = most - least;
  if (!(span > 0)) return [least];
  const rough = span / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= rough);
  const found = [];
  for (let i = Math.ceil(least / step - 1e-9); i * step <= most + step * 1e-9; i += 1) found.push(i * step);
  return found;
}

/** The least range with round ends that holds another. */
export function rounded(least, most, count) {
  if (!(most > least)) [least, most] = [least - Math.abs(least || 1) * 0.01, most + Math.abs(most || 1) * 0.01];
  const at = ticks(least, most, count);
  const step = at.length > 1 ? at[1] - at[0] : most - least;
  return [Math.floor(least / step + 1e-9) * step, Math.ceil(most / step - 1e-9) * step];
}

function decimalsOf(values) {
  const step = values.length > 1 ? Math.abs(values[1] - values[0]) : 1;
  return Math.min(4, Math.max(0, -Math.floor(Math.log10(step) + 1e-9), Number.isInteger(step * 2) && step < 1 ? 1 : 0));
}

/** A frame with grid and numbers on both axes. */
export class Axes {
  constructor(host, label, bottom = BOTTOM) {
    this.host = host;
    this.bottom = bottom;
    this.clip = `clip-${label}`;
    this.root = drawn("svg", { role: "img", "aria-label": "Nothing is drawn yet", focusable: "false" });
    this.hole = drawn("rect", {});
    this.root.append(drawn("defs", {}, drawn("clipPath", { id: this.clip }, this.hole)));
    this.grid = drawn("path", { class: "grid" });
    this.labels = drawn("g", { class: "labels" });
    this.body = drawn("g", { "clip-path": `url(#${this.clip})` });
    this.over = drawn("g", {});
    this.root.append(this.grid, this.labels, this.body, this.over);
    host.append(this.root);
  }

  /** Takes the place that there is; whether there is any. */
  measure() {
    this.width = Math.floor(this.host.clientWidth);
    this.height = Math.floor(this.host.clientHeight);
    if (this.width < 80 || this.height < 40) return false;
    set(this.root, "viewBox", `0 0 ${this.width} ${this.height}`);
    for (const [name, value] of [["x", LEFT], ["y", TOP - 4], ["width", this.width - LEFT - RIGHT], ["height", this.height - this.bottom - TOP + 8]]) {
      set(this.hole, name, value);
    }
    return true;
  }

  x(value) {
    return LEFT + ((value - this.x0) / (this.x1 - this.x0)) * (this.width - LEFT - RIGHT);
  }

  y(value) {
    return TOP + (1 - (value - this.y0) / (this.y1 - this.y0)) * (this.height - TOP - this.bottom);
  }

  /** Draws lines at these values, with words. */
  rule(across, along) {
    let path = "";
    const words = [];
    for (const [value, text] of along) {
      const y = this.y(value).toFixed(1);
      path += `M${LEFT} ${y}H${this.width - RIGHT}`;
      words.push([LEFT - 6, Number(y) + 3.5, "end", text]);
    }
    for (const [value, text] of across) {
      const x = this.x(value);
      path += `M${x.toFixed(1)} ${TOP}V${this.height - this.bottom}`;
      // half a word of this size: the last one must not be cut
      const right = this.width - Math.max(RIGHT + 4, 3.2 * text.length);
      if (this.bottom > 8) words.push([Math.min(Math.max(x, LEFT), right), this.height - 6, "middle", text]);
    }
    set(this.grid, "d", path);
    while (this.labels.children.length > words.length) this.labels.lastChild.remove();
    while (this.labels.children.length < words.length) this.labels.append(drawn("text"));
    words.forEach(([x, y, anchor, text], i) => {
      const node = this.labels.children[i];
      set(node, "x", x.toFixed(1));
      set(node, "y", y.toFixed(1));
      set(node, "text-anchor", anchor);
      say(node, text);
    });
  }
}

const dot = (x, y) => `M${x.toFixed(1)} ${y.toFixed(1)}h.01`;

export function line(points) {
  return points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
}

/** The volatilities of one expiry along its strikes. */
export class Smile {
  /** `pointed` takes the index of the strike that is pointed at, or null. `picked` that of one that was clicked. */
  constructor(host, { pointed, picked }) {
    this.axes = new Axes(host, "smile");
    const { body, over, root } = this.axes;
    this.spot = drawn("path", { class: "spot" });
    this.forward = drawn("path", { class: "forward" });
    this.puts = drawn("path", { class: "bars put" });
    this.calls = drawn("path", { class: "bars call" });
    this.mids = drawn("path", { class: "mids" });
    this.fit = drawn("path", { class: "fit" });
    this.cross = drawn("path", { class: "cross" });
    body.append(this.spot, this.forward, this.puts, this.calls, this.fit, this.mids);
    this.names = [drawn("text", { class: "mark spot-name" }), drawn("text", { class: "mark forward-name" })];
    over.append(this.cross, ...this.names);
    const nearest = (event) => {
      if (!this.shown?.length) return null;
      const box = root.getBoundingClientRect();
      const x = event.clientX - box.left;
      let best = this.shown[0];
      for (const point of this.shown) if (Math.abs(this.axes.x(point.strike) - x) < Math.abs(this.axes.x(best.strike) - x)) best = point;
      return best.index;
    };
    root.addEventListener("pointermove", (event) => pointed(nearest(event)));
    root.addEventListener("pointerleave", () => pointed(null));
    root.addEventListener("click", (event) => picked(nearest(event)));
    new ResizeObserver(() => this.draw()).observe(host);
  }

  /** Shows strikes with their volatilities; see `app.js` for what a point has. */
  show(points, terms) {
    this.points = points;
    this.terms = terms;
    this.draw();
  }

  draw() {
    const { axes, points, terms } = this;
    if (!points || !axes.measure()) return;
    this.shown = within(points, terms);
    const { shown } = this;
    const high = [];
    for (const p of shown) for (const vol of [p.fit, p.mid]) if (vol > 0) high.push(vol);
    if (!high.length) {
      for (const node of [this.fit, this.puts, this.calls, this.mids, this.spot, this.forward, this.cross]) set(node, "d", "");
      axes.rule([], []);
      for (const name of this.names) say(name, "");
      set(axes.root, "aria-label", "Smile: no volatilities");
      return;
    }
    const fits = shown.map((p) => p.fit).filter((v) => v > 0);
    const [least, most] = [Math.min(...(fits.length ? fits : high)), Math.max(...(fits.length ? fits : high))];
    // a quote far from the curve must not flatten all others
    const room = Math.max(0.35 * (most - least), 0.08 * most);
    const seen = high.filter((vol) => vol >= least - room && vol <= most + room);
    const lines = Math.max(3, Math.floor(axes.height / 36));
    [axes.y0, axes.y1] = rounded(Math.max(0, Math.min(least, ...seen) * 0.985), Math.max(most, ...seen) * 1.01, 2 * lines);
    [axes.x0, axes.x1] = [shown[0].strike, shown.at(-1).strike];
    const margin = (axes.x1 - axes.x0) * 0.01 || axes.x0 * 0.01;
    [axes.x0, axes.x1] = [axes.x0 - margin, axes.x1 + margin];
    const across = ticks(axes.x0, axes.x1, Math.max(3, Math.floor(axes.width / 90)));
    const along = ticks(axes.y0, axes.y1, lines);
    const percents = along.map((v) => v * 100);
    axes.rule(across.map((v) => [v, fixed(v, decimalsOf(across))]), along.map((v) => [v, `${fixed(v * 100, decimalsOf(percents))} %`]));
    const at = (p, vol) => [axes.x(p.strike), axes.y(vol)];
    set(this.fit, "d", line(shown.filter((p) => p.fit > 0).map((p) => at(p, p.fit))));
    set(this.mids, "d", shown.filter((p) => p.mid > 0).map((p) => dot(...at(p, p.mid))).join(""));
    set(this.puts, "d", bars(axes, shown.filter((p) => p.side === "put")));
    set(this.calls, "d", bars(axes, shown.filter((p) => p.side === "call")));
    this.mark(this.spot, this.names[0], terms.spot, "Spot", terms.spot <= terms.forward);
    this.mark(this.forward, this.names[1], terms.forward, "Forward", terms.spot > terms.forward);
    const middle = shown.reduce((a, b) => (Math.abs(b.strike - terms.forward) < Math.abs(a.strike - terms.forward) ? b : a));
    set(axes.root, "aria-label", `Smile of ${shown.length} strikes from ${strikeText(shown[0].strike)} to ${strikeText(shown.at(-1).strike)}: ` +
      `fitted volatility ${percent(shown[0].fit, 1)} percent at the lowest, ${percent(middle.fit, 1)} at the forward, ` +
      `${percent(shown.at(-1).fit, 1)} at the highest. The chain has the numbers.`);
    this.light(this.lit ?? null);
  }

  mark(path, name, value, word, toLeft) {
    const { axes } = this;
    const inside = value >= axes.x0 && value <= axes.x1;
    const x = inside ? axes.x(value) : 0;
    set(path, "d", inside ? `M${x.toFixed(1)} ${TOP}V${axes.height - BOTTOM}` : "");
    say(name, inside ? word : "");
    set(name, "x", (x + (toLeft ? -5 : 5)).toFixed(1));
    set(name, "y", TOP + 9);
    set(name, "text-anchor", toLeft ? "end" : "start");
  }

  /** Puts the cross on a strike. */
  light(index) {
    this.lit = index;
    const { axes } = this;
    const point = index === null ? undefined : this.shown?.find((p) => p.index === index);
    if (!point || !(axes.width > 0)) return set(this.cross, "d", "");
    const x = axes.x(point.strike).toFixed(1);
    const fit = point.fit > 0 ? `M${x} ${axes.y(point.fit).toFixed(1)}m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0` : "";
    set(this.cross, "d", `M${x} ${TOP}V${axes.height - BOTTOM}${fit}`);
  }
}

/** From bid to ask; where there is no bid the ask alone, pointing down. */
function bars(axes, points) {
  let path = "";
  for (const p of points) {
    if (!(p.ask > 0)) continue;
    const x = axes.x(p.strike);
    const top = axes.y(p.ask);
    const cap = (y) => `M${(x - 2.5).toFixed(1)} ${y.toFixed(1)}h5`;
    if (p.bid > 0) path += `M${x.toFixed(1)} ${top.toFixed(1)}V${axes.y(p.bid).toFixed(1)}${cap(top)}${cap(axes.y(p.bid))}`;
    else path += `M${(x - 2.5).toFixed(1)} ${(top - 3).toFixed(1)}l2.5 4l2.5-4`;
  }
  return path;
}

/** The strikes worth drawing: four standard deviations around the forward, as far as there are quotes, never fewer than nine. */
function within(points, { forward, vol, years }) {
  const reach = 4 * vol * Math.sqrt(Math.max(years, 1 / 365));
  if (!(reach > 0) || !(forward > 0)) return points;
  const near = points.filter((p) => Math.abs(Math.log(p.strike / forward)) <= reach);
  // two strikes without a bid show that quotes end there; more of them only take the place of others
  const isDead = (p) => p && !(p.bid > 0);
  while (near.length > 9 && isDead(near.at(-1)) && isDead(near.at(-2)) && isDead(near.at(-3))) near.pop();
  while (near.length > 9 && isDead(near[0]) && isDead(near[1]) && isDead(near[2])) near.shift();
  if (near.length >= 9 || points.length <= 9) return near.length ? near : points;
  const nearest = [...points].sort((a, b) => Math.abs(a.strike - forward) - Math.abs(b.strike - forward)).slice(0, 9);
  return nearest.sort((a, b) => a.strike - b.strike);
}

/** Marks of the axis: calendar days, and variance days. */
const SPANS = [[7, "1w"], [30, "1m"], [91, "3m"], [182, "6m"], [365, "1y"], [730, "2y"], [1095, "3y"], [1826, "5y"]];
const VARIANCE_SPANS = [1, 5, 21, 63, 126, 252, 504, 756].map((days) => [days, String(days)]);

/** What changes along expiries: one small drawing for each series. */
export class Term {
  /** `series`: name, reading of a row, spelling of a number, and `variance` with what is other by variance time.
   *  `picked` takes the index of an expiry. */
  constructor(host, series, picked) {
    this.panels = series.map((one, i) => {
      const caption = element("figcaption", {}, one.name);
      const figure = element("figure", {}, caption);
      const place = element("div", { class: "chart" });
      figure.append(place);
      host.append(figure);
      const axes = new Axes(place, `term-${i}`, i === series.length - 1 ? BOTTOM : 6);
      const [curve, dots, chosen, event] = ["curve", "dots", "chosen", "event"].map((name) => drawn("path", { class: name }));
      const eventWord = drawn("text", { class: "mark", "text-anchor": "middle" });
      axes.body.append(event, curve, dots);
      axes.over.append(eventWord, chosen);
      place.classList.toggle("last", i === series.length - 1);
      axes.root.addEventListener("click", (event) => {
        const x = event.clientX - axes.root.getBoundingClientRect().left;
        const gap = (row) => Math.abs(axes.x(this.at(row)) - x);
        if (this.rows?.length) picked(this.rows.reduce((best, row, n) => (gap(row) < gap(this.rows[best]) ? n : best), 0));
      });
      return { ...one, caption, axes, curve, dots, chosen, event, eventWord };
    });
    new ResizeObserver(() => this.draw()).observe(host);
  }

  /** Shows the expiries, one of them chosen, by a clock; null: by the calendar. */
  show(rows, chosen, clock) {
    Object.assign(this, { rows, index: chosen, clock });
    this.draw();
  }

  /** Where an expiry stands: near ones have room. */
  at(row) {
    const days = this.clock ? row.metrics?.days_vt : row.days;
    return typeof days === "number" ? Math.sqrt(Math.max(days, 0)) : NaN;
  }

  draw() {
    if (!this.rows) return;
    for (const panel of this.panels) this.drawPanel(panel);
  }

  /** The expiries that the name's event lies between, the first of them null where it comes before all; null: no event. */
  eventBetween() {
    const to = this.rows.findIndex((row) => row.metrics?.event_var > 0);
    if (to < 0) return null;
    const { expiry } = this.rows[to];
    return [this.rows.slice(0, to).findLast((row) => row.expiry !== expiry) ?? null, this.rows[to]];
  }

  drawPanel({ name: usual, read: usually, spell, variance, caption, axes, curve, dots, chosen, event, eventWord }) {
    const { name, read } = { name: usual, read: usually, ...(this.clock ? variance : null) };
    say(caption, name);
    if (!axes.measure()) return;
    const points = this.rows.map((row) => ({ root: this.at(row), value: read(row), row }));
    const known = points.filter((p) => typeof p.value === "number" && Number.isFinite(p.root));
    if (!known.length) {
      for (const node of [curve, dots, chosen, event]) set(node, "d", "");
      say(eventWord, "");
      axes.rule([], []);
      return set(axes.root, "aria-label", `${name}: nothing is known`);
    }
    [axes.y0, axes.y1] = rounded(...calmRange(known), 3);
    const farthest = Math.max(...known.map((p) => p.root), 2);
    [axes.x0, axes.x1] = [0, farthest * 1.02];
    const across = [];
    for (const [days, word] of this.clock ? VARIANCE_SPANS : SPANS) {
      const at = Math.sqrt(days);
      if (at <= axes.x1 && (!across.length || axes.x(at) - axes.x(across.at(-1)[0]) > 26)) across.push([at, word]);
    }
    const along = ticks(axes.y0, axes.y1, 3);
    axes.rule(across, along.map((v) => [v, spell(v, along)]));
    const place = ({ root, value }) => [axes.x(root), axes.y(value)];
    set(curve, "d", line(known.map(place)));
    set(dots, "d", known.map((p) => dot(...place(p))).join(""));
    const mine = points[this.index];
    const ring = known.includes(mine) ? `M${axes.x(mine.root).toFixed(1)} ${axes.y(mine.value).toFixed(1)}m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0` : "";
    set(chosen, "d", ring);
    const between = this.eventBetween();
    const middle = between ? axes.x(((between[0] ? this.at(between[0]) : 0) + this.at(between[1])) / 2) : NaN;
    set(event, "d", middle > 0 ? `M${middle.toFixed(1)} ${TOP}V${axes.height - axes.bottom}` : "");
    set(eventWord, "x", middle > 0 ? middle.toFixed(1) : null);
    set(eventWord, "y", TOP);
    say(eventWord, middle > 0 ? "event" : "");
    const lies = between ? ` An event lies ${between[0] ? `between ${between[0].expiry} and` : "before"} ${between[1].expiry}.` : "";
    const [first, last] = [known[0], known.at(-1)];
    set(axes.root, "aria-label", `${name} along ${known.length} expiries: ${spell(first.value)} on ${first.row.expiry}, ` +
      `${spell(last.value)} on ${last.row.expiry}.${lies} The table below has the numbers.`);
  }
}

/** The range of the values; those of the last days, which say little of a rate, only where they do not flatten the rest. */
function calmRange(known) {
  const far = known.filter((p) => p.row.days >= 5).map((p) => p.value);
  const all = known.map((p) => p.value);
  if (far.length < 2) return [Math.min(...all), Math.max(...all)];
  const [least, most] = [Math.min(...far), Math.max(...far)];
  const room = 2 * (most - least);
  const seen = all.filter((value) => value >= least - room && value <= most + room);
  return [Math.min(...seen), Math.max(...seen)];
}

/** Spells a number of an axis with the decimals that its steps need. */
export function axisNumber(scale, unit = "") {
  return (value, along) => {
    const decimals = along ? decimalsOf(along.map((v) => v * scale)) : 2;
    return `${fixed(value * scale, decimals)}${unit}`;
  };
}
