// The chain: a table with calls on the left, puts on the right, strikes between them. Cells are made once and written
// again where they change.
import { element, flash, say, set } from "./dom.js";
import { NOTHING, decimalsFor, fixed, percent, priceDecimals, strikeText } from "./numbers.js";

/** The cell of a column that lights up where it changes: one is enough to see that the market moves. */
const LIVELY = "svc_theo";

const COLUMN_PX = 57;

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
      if (row) picked(row.sectionRowIndex, event.target.closest("td.c") ? "call" : event.target.closest("td.p") ? "put" : null);
    });
    scroll.addEventListener("pointerover", (event) => {
      const row = event.target.closest("tbody tr");
      if (row) lit(row.sectionRowIndex);
    });
    scroll.addEventListener("pointerleave", () => lit(null));
  }

  /** Shows lines in columns. `view` names what is shown: where it changes the table is made anew, at the money. */
  show(view, lines, columns, spot) {
    const key = [view, columns.map(({ key: k }) => k), lines.map(({ strike }) => strike)].join("|");
    const isNew = key !== this.key;
    const isOther = view !== this.view;
    this.lines = lines;
    this.columns = columns;
    this.spot = spot;
    if (isNew) {
      this.key = key;
      this.view = view;
      const decimals = (field) => decimalsFor(lines.flatMap(({ call, put }) => [call?.[field], put?.[field]]));
      this.decimals = columns.map(({ field, kind }) => (kind === "price" ? priceDecimals(spot) : decimals(field)));
      this.build();
    }
    this.write(!isNew);
    this.markSpot();
    if (isNew && isOther) this.toMoney();
  }

  build() {
    const { columns, lines } = this;
    const [left, right] = [[...columns].reverse(), columns];
    const head = ({ title, help }) => element("th", { scope: "col" }, element("abbr", { title: help }, title));
    const table = element("table", {},
      element("caption", { class: "vh" }, "Calls on the left, puts on the right, one row for each strike"),
      element("thead", {},
        element("tr", { class: "sides" },
          element("th", { scope: "colgroup", colspan: left.length, class: "c" }, "Calls"),
          element("th", { scope: "colgroup", colspan: 2, class: "mid" }, ""),
          element("th", { scope: "colgroup", colspan: right.length, class: "p" }, "Puts")),
        element("tr", {},
          ...left.map(head),
          element("th", { scope: "col", class: "strike" }, "Strike"),
          element("th", { scope: "col", class: "vol" }, element("abbr", { title: "Volatility of the fitted curve, percent" }, "Vol")),
          ...right.map(head))));
    say(table.tHead.rows[0].cells[1], "Both");
    this.cells = [];
    const body = element("tbody");
    for (const { strike } of lines) {
      const cells = (side) => columns.map(() => element("td", { class: side }));
      const [calls, puts, vol] = [cells("c"), cells("p"), element("td", { class: "vol" })];
      body.append(element("tr", {}, ...[...calls].reverse(), element("th", { scope: "row", class: "strike" }, strikeText(strike)), vol, ...puts));
      this.cells.push({ calls, puts, vol });
    }
    table.append(body);
    // columns of one width, which numbers that change do not move
    table.style.minWidth = `${(2 * columns.length + 2) * COLUMN_PX}px`;
    this.body = body;
    const { scrollLeft, scrollTop } = this.scroll;
    this.scroll.replaceChildren(table);
    this.scroll.scrollTo(scrollLeft, scrollTop);
  }

  write(isUpdate) {
    this.lines.forEach(({ call, put }, i) => {
      const { calls, puts, vol } = this.cells[i];
      say(vol, percent((call ?? put)?.svc_vol));
      this.columns.forEach((column, j) => {
        for (const [cell, row] of [[calls[j], call], [puts[j], put]]) {
          const value = row?.[column.field];
          const before = cell.textContent;
          const text = column.kind === "percent" ? percent(value) : fixed(value, this.decimals[j]);
          if (!say(cell, text) || !isUpdate || column.field !== LIVELY) continue;
          if (text !== NOTHING && before !== NOTHING && this.isInSight(i)) flash(cell, Number(text) > Number(before));
        }
      });
    });
  }

  /** Whether a line is in the part that is scrolled to, roughly: what is out of sight need not light up. */
  isInSight(index) {
    const { scrollTop, clientHeight } = this.scroll;
    const height = this.lineHeight ?? 24;
    return index * height >= scrollTop - height && index * height <= scrollTop + clientHeight;
  }

  markSpot() {
    const first = this.lines.findIndex(({ strike }) => strike >= this.spot);
    [...this.body.rows].forEach((row, i) => {
      row.classList.toggle("below", this.lines[i].strike < this.spot);
      row.classList.toggle("above", this.lines[i].strike > this.spot);
      row.classList.toggle("money", i === first);
    });
    this.money = first;
  }

  /** Scrolls to the strikes around the spot. */
  toMoney() {
    const row = this.body?.rows[this.money < 0 ? this.lines.length - 1 : this.money];
    if (!row) return;
    this.lineHeight = row.offsetHeight;
    // a whole number of lines below the head, so that none is half under it
    const head = this.scroll.querySelector("thead").offsetHeight;
    const lines = Math.floor((this.scroll.clientHeight - head) / 2 / this.lineHeight);
    const first = Math.max(0, row.sectionRowIndex - lines);
    this.scroll.scrollTop = this.body.rows[first].offsetTop - head;
    // the strikes in the middle, where not all columns have room
    const strike = row.querySelector(".strike");
    const table = this.scroll.firstElementChild;
    this.scroll.scrollLeft = strike.offsetLeft + strike.offsetWidth - this.scroll.clientWidth / 2;
    if (table.offsetWidth <= this.scroll.clientWidth) this.scroll.scrollLeft = 0;
  }

  /** Marks a line; with `follow` brings it into sight. */
  light(index, follow = false) {
    if (!this.body) return;
    const row = index === null ? undefined : this.body.rows[index];
    for (const other of this.body.querySelectorAll("tr.on")) if (other !== row) set(other, "class", other.className.replace(/\s*\bon\b/, "").trim() || null);
    if (!row) return;
    row.classList.add("on");
    if (!follow) return;
    const head = this.scroll.querySelector("thead").offsetHeight;
    const { scrollTop, clientHeight } = this.scroll;
    if (row.offsetTop < scrollTop + head) this.scroll.scrollTop = row.offsetTop - head;
    if (row.offsetTop + row.offsetHeight > scrollTop + clientHeight) this.scroll.scrollTop = row.offsetTop + row.offsetHeight - clientHeight;
  }
}
