// The chain: a table with calls on the left, puts on the right, strikes between them. Cells are made once and written
// again where they change.
import { element, flash, say, set } from "./dom.js";
import { NOTHING, decimalsFor, fixed, percent, strikeText } from "./numbers.js";

const COLUMN_PX = 51;
const HELD_PX = 36;
/** Prices of a quote, which are marked where no volatility gives them. */
const OF_QUOTE = ["bid", "ask", "mid"];
const REASONS = {
  crossed: "bid above ask",
  no_bid: "it has no bid",
  no_ask: "it has no ask",
  stale: "older than the rest of its chain",
  too_wide: "too wide",
  out_of_bounds: "no volatility gives it",
  strike_order: "it contradicts other strikes",
  expiry_order: "dearer than in later expiries",
  no_arbitrage: "no volatility gives it",
  outlier: "far from the rest of its expiry",
  excluded: "left out by the user",
};
/** Sides of a market, by the columns that are of one: a click there is a trade. */
const TRADES = { ask: "buy", askvol: "buy", bid: "sell", bidvol: "sell" };

/** Why a quote is not used; null: it is. A recorded chain has no reason. */
function dropped(row) {
  if (row.dropped) return row.dropped;
  return (row.bid > 0 || row.ask > 0) && row.bid_vol === null && row.ask_vol === null ? "no_arbitrage" : null;
}

/** One line for each strike: `{ strike, call, put }` of the rows of an answer. */
export function byStrike(rows) {
  const lines = new Map();
  for (const row of rows) {
    if (!lines.has(row.strike)) lines.set(row.strike, { strike: row.strike });
    lines.get(row.strike)[row.right] = row;
  }
  return [...lines.values()].sort((a, b) => a.strike - b.strike);
}

/** The table, in a place that scrolls. `lit` takes the index of the line that is chosen or pointed at, or null. */
export class ChainTable {
  constructor(scroll, { lit, picked }) {
    this.scroll = scroll;
    this.lines = [];
    this.key = "";
    scroll.addEventListener("click", (event) => {
      const row = event.target.closest("tbody tr");
      const side = event.target.closest("td.c") ? "call" : event.target.closest("td.p") ? "put" : null;
      if (row) picked(this.lineOf(row), side, event.target.closest("td")?.dataset.trade);
    });
    scroll.addEventListener("pointerover", (event) => {
      const row = event.target.closest("tbody tr");
      if (row) lit(this.lineOf(row));
    });
    scroll.addEventListener("pointerleave", () => lit(null));
  }

  /**
   * Shows lines in columns. `view` names what is shown: where it changes the table is made anew, at the money. `pins` are
   * strikes that stay in sight, `held` quantities of positions by OSI symbol.
   */
  show(view, lines, columns, spot, pins, held) {
    const pinned = lines.flatMap(({ strike }, i) => (pins.includes(strike) ? [i] : []));
    const hasHeld = lines.some(({ call, put }) => held.has(call?.osym) || held.has(put?.osym));
    const key = [view, columns.map(({ key: k }) => k), lines.map(({ strike }) => strike), pinned, hasHeld].join("|");
    const isNew = key !== this.key;
    const isOther = view !== this.view;
    Object.assign(this, { lines, columns, spot, pinned, held, hasHeld });
    if (isNew) {
      Object.assign(this, { key, view });
      const greek = (field) => decimalsFor(lines.flatMap(({ call, put }) => [call?.[field], put?.[field]]));
      this.decimals = columns.map(({ field, kind, decimals }) => (kind === "greek" ? greek(field) : decimals));
      this.build();
    }
    this.write(!isNew);
    this.markSpot();
    if (isNew && isOther) this.toMoney();
  }

  /** The index of the line that a row of the table shows. */
  lineOf(row) {
    return row.parentNode === this.body ? row.sectionRowIndex : this.pinned[row.sectionRowIndex];
  }

  build() {
    const { columns, lines } = this;
    const [left, right] = [[...columns].reverse(), columns];
    const head = ({ title, help, narrow = null }) => element("th", { scope: "col", class: narrow }, element("abbr", { title: help }, title));
    const quantity = () => (this.hasHeld ? [head({ title: "Pos", help: "contracts held, of all accounts; negative: sold", narrow: "held" })] : []);
    const span = columns.length + (this.hasHeld ? 1 : 0);
    const table = element("table", {},
      element("caption", { class: "vh" }, "Calls on the left, puts on the right, one row for each strike"),
      element("thead", {},
        element("tr", { class: "sides" },
          element("th", { scope: "colgroup", colspan: span, class: "c" }, "Calls"),
          element("th", { scope: "colgroup", colspan: 2, class: "mid" }, "Both"),
          element("th", { scope: "colgroup", colspan: span, class: "p" }, "Puts")),
        element("tr", {},
          ...left.map(head), ...quantity(),
          element("th", { scope: "col", class: "strike" }, "Strike"),
          element("th", { scope: "col", class: "vol" }, element("abbr", { title: "Volatility of the fitted curve, percent" }, "Vol")),
          ...quantity(), ...right.map(head))));
    this.cells = [];
    const row = (i) => {
      const cells = (side) => columns.map(({ key }) => element("td", { class: side, "data-trade": TRADES[key] ?? null }));
      const held = (side) => (this.hasHeld ? element("td", { class: `held ${side}` }) : null);
      const made = { line: i, calls: cells("c"), puts: cells("p"), heldCall: held("c"), heldPut: held("p"), vol: element("td", { class: "vol" }) };
      this.cells.push(made);
      const strike = element("th", { scope: "row", class: "strike" }, strikeText(lines[i].strike));
      return element("tr", {}, ...[...made.calls].reverse(), ...[made.heldCall, strike, made.vol, made.heldPut].filter(Boolean), ...made.puts);
    };
    this.pins = element("tbody", { class: "pins" }, ...this.pinned.map(row));
    this.body = element("tbody", {}, ...lines.map((_, i) => row(i)));
    table.append(...(this.pinned.length ? [this.pins] : []), this.body);
    // columns of one width, which numbers that change do not move
    table.style.minWidth = `${(2 * columns.length + 2) * COLUMN_PX + (this.hasHeld ? 2 * HELD_PX : 0)}px`;
    const { scrollLeft, scrollTop } = this.scroll;
    this.scroll.replaceChildren(table);
    // pinned lines stand below the head, one below the other
    const below = table.tHead.offsetHeight;
    [...this.pins.rows].forEach((pin, i) => [...pin.cells].forEach((cell) => (cell.style.top = `${below + i * pin.offsetHeight}px`)));
    this.scroll.scrollTo(scrollLeft, scrollTop);
  }

  write(isUpdate) {
    for (const { line, calls, puts, heldCall, heldPut, vol } of this.cells) {
      const { call, put } = this.lines[line];
      say(vol, percent((call ?? put)?.svc_vol));
      for (const [cell, row] of [[heldCall, call], [heldPut, put]]) {
        if (!cell) continue;
        const quantity = this.held.get(row?.osym);
        say(cell, quantity === undefined ? "" : `${quantity > 0 ? "+" : ""}${quantity}`);
        cell.classList.toggle("sold", quantity < 0);
      }
      this.columns.forEach((column, j) => {
        this.writeCell(column, this.decimals[j], calls[j], call, isUpdate && line);
        this.writeCell(column, this.decimals[j], puts[j], put, isUpdate && line);
      });
    }
  }

  /** Writes a number; a price that changes lights up where it is in sight. `line` is false where all is new. */
  writeCell({ field, kind }, decimals, cell, row, line) {
    const value = row?.[field];
    if (OF_QUOTE.includes(field)) {
      const why = row ? dropped(row) : null;
      // one side alone is seen as such
      cell.classList.toggle("dropped", why !== null && why !== "no_bid" && why !== "no_ask");
      set(cell, "title", why ? `This quote is not used: ${REASONS[why] ?? why}` : null);
    }
    const before = cell.textContent;
    const text = kind === "percent" ? percent(value, decimals) : fixed(value, decimals);
    if (!say(cell, text) || line === false || kind !== "price") return;
    if (text !== NOTHING && before !== NOTHING && this.isInSight(line)) flash(cell, Number(text) > Number(before));
  }

  /** Whether a line is in the part that is scrolled to, roughly: what is out of sight need not light up. */
  isInSight(index) {
    const { scrollTop, clientHeight } = this.scroll;
    const height = this.lineHeight ?? 24;
    return index * height >= scrollTop - height && index * height <= scrollTop + clientHeight;
  }

  markSpot() {
    const { lines, spot } = this;
    const first = lines.findIndex(({ strike }) => strike >= spot);
    for (const row of [...this.pins.rows, ...this.body.rows]) {
      const line = this.lineOf(row);
      row.classList.toggle("below", lines[line].strike < spot);
      row.classList.toggle("above", lines[line].strike > spot);
      row.classList.toggle("money", line === first && row.parentNode === this.body);
    }
    this.money = first;
  }

  /** The height of what stands above the lines that scroll. */
  get above() {
    return this.scroll.querySelector("thead").offsetHeight + this.pins.offsetHeight;
  }

  /** Scrolls to the strikes around the spot. */
  toMoney() {
    const row = this.body?.rows[this.money < 0 ? this.lines.length - 1 : this.money];
    if (!row) return;
    this.lineHeight = row.offsetHeight;
    // a whole number of lines below the head, so that none is half under it
    const lines = Math.floor((this.scroll.clientHeight - this.above) / 2 / this.lineHeight);
    const first = Math.max(0, row.sectionRowIndex - lines);
    this.scroll.scrollTop = this.body.rows[first].offsetTop - this.above;
    // the strikes in the middle, where not all columns have room
    const strike = row.querySelector(".strike");
    const table = this.scroll.firstElementChild;
    this.scroll.scrollLeft = strike.offsetLeft + strike.offsetWidth - this.scroll.clientWidth / 2;
    if (table.offsetWidth <= this.scroll.clientWidth) this.scroll.scrollLeft = 0;
  }

  /** Marks a line; with `follow` brings it into sight. */
  light(index, follow = false) {
    if (!this.body) return;
    for (const row of [...this.pins.rows, ...this.body.rows]) row.classList.toggle("on", this.lineOf(row) === index);
    const row = index === null ? undefined : this.body.rows[index];
    if (!row || !follow) return;
    const { above } = this;
    const { scrollTop, clientHeight } = this.scroll;
    if (row.offsetTop < scrollTop + above) this.scroll.scrollTop = row.offsetTop - above;
    if (row.offsetTop + row.offsetHeight > scrollTop + clientHeight) this.scroll.scrollTop = row.offsetTop + row.offsetHeight - clientHeight;
  }
}
