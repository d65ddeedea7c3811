// What the pages beside the viewer share: their address, tables of numbers, notices, numbers of money.
import { element, say } from "./dom.js";
import { NOTHING } from "./numbers.js";

/** A sum of money, or a Greek in money: without decimals where it is large. */
export function money(value) {
  if (typeof value !== "number" || !Number.isFinite(value)) return NOTHING;
  const decimals = Math.abs(value) >= 1000 ? 0 : 2;
  return value.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

/** What a strategy gains and loses at most, in words; none where its payoff is not known. */
export function boundsOf({ payoff, largest_gain: gain, largest_loss: loss }) {
  if (!payoff.length) return [];
  const upTo = (word, bound) => (typeof bound === "number" ? `${word} up to ${money(Math.abs(bound))}` : `${word} without bound`);
  return [upTo("gain", gain), upTo("loss", loss)];
}

/** Calls `read` with the words of the address: now, and whenever it has others. What a page writes there itself is none. */
export function followAddress(read) {
  const follow = () => read(new URLSearchParams(location.hash.slice(1)));
  addEventListener("hashchange", follow);
  follow();
}

/** Text above the page, or none. */
export function notice(text) {
  const place = document.getElementById("notice");
  say(place, text);
  place.hidden = !text;
}

/** Writes a table again: columns are `{ title, help, read, isWord, tone }`, rows anything. `picked` takes a row. */
export function fill(table, caption, columns, rows, picked) {
  const head = columns.map(({ title, help, isWord }) =>
    element("th", { scope: "col", class: isWord ? "w" : null }, element("abbr", { title: help ?? title }, title)));
  const body = element("tbody");
  for (const row of rows) {
    const cells = columns.map(({ read, isWord, isName, tone }) => {
      const content = isName && picked ? element("button", { type: "button", class: "link" }, read(row)) : read(row);
      const cell = element(isName ? "th" : "td", { class: isWord ? "w" : tone?.(row) ?? null, scope: isName ? "row" : null }, content);
      if (isName && picked) cell.firstChild.addEventListener("click", () => picked(row));
      return cell;
    });
    body.append(element("tr", { class: row.level === "total" ? "total" : null }, ...cells));
  }
  table.replaceChildren(element("caption", { class: "vh" }, caption), element("thead", {}, element("tr", {}, ...head)), body);
}

/** The columns of positions and sums that are numbers of money. */
export const MONEY = [
  ["value", "Value", "Model value"],
  ["profit", "Profit", "Value less cost"],
  ["session_profit", "Session", "Value less that of the session before"],
  ["dollar_delta", "Delta $", "Delta times spot"],
  ["gamma_1pct", "Gamma 1%", "Change of delta $ for a move of 1 percent"],
  ["vega", "Vega", "Per 1 percent of volatility"],
  ["theta", "Theta", "Per calendar day"],
  ["decay", "Decay", "To the same time on the next trading day"],
  ["rho", "Rho", "Per 1 percent of the discount rate"],
  ["epsilon", "Borrow", "Per 1 percent of the borrow rate"],
].map(([field, title, help]) => ({ field, title, help, read: (row) => money(row[field]),
  tone: (row) => (field.endsWith("profit") && row[field] ? (row[field] > 0 ? "up" : "down") : null) }));
