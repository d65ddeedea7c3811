// The search for a symbol: a text field with a list of what begins so.
import { symbols } from "./api.js";
import { element, set } from "./dom.js";

const MOST = 12;

/** Runs the search; `chosen` takes the symbol, `named` a contract such as SPY 12/18 712 C. */
export function search(input, list, chosen, named) {
  let rows = [];
  let active = -1;
  let waiting = null;

  const isOpen = () => !list.hidden;

  function close() {
    waiting?.abort();
    list.hidden = true;
    active = -1;
    set(input, "aria-expanded", "false");
    set(input, "aria-activedescendant", null);
  }

  function choose(symbol, taken = chosen) {
    close();
    input.value = "";
    input.blur();
    taken(symbol);
  }

  function light(index) {
    active = index;
    [...list.children].forEach((item, i) => set(item, "aria-selected", i === active ? "true" : "false"));
    const item = list.children[active];
    set(input, "aria-activedescendant", item ? item.id : null);
    item?.scrollIntoView({ block: "nearest" });
  }

  function show(found) {
    rows = found;
    list.replaceChildren(
      ...rows.map((row, i) => {
        const note = row.state === "ok" ? `${row.expiries} expiries` : row.state;
        const item = element("li", { role: "option", id: `match-${i}`, "aria-selected": "false" });
        item.append(element("b", {}, row.symbol), element("span", {}, note));
        // before the field loses the focus, which closes the list
        item.addEventListener("pointerdown", (event) => {
          event.preventDefault();
          choose(row.symbol);
        });
        return item;
      }),
    );
    if (!rows.length) {
      list.append(element("li", { role: "option", "aria-selected": "false", "aria-disabled": "true", class: "none" }, "No such symbol"));
    }
    list.hidden = false;
    set(input, "aria-expanded", "true");
    light(rows.length && input.value.trim() ? 0 : -1);
  }

  async function look() {
    waiting?.abort();
    const mine = (waiting = new AbortController());
    // a symbol has no spaces, a contract in words has
    if (input.value.trim().includes(" ")) return close();
    try {
      const found = await symbols(input.value.trim(), MOST, mine.signal);
      if (!mine.signal.aborted && document.activeElement === input) show(found);
    } catch {
      // what cannot be a symbol begins none; a daemon that is gone is said elsewhere
      if (!mine.signal.aborted && document.activeElement === input) show([]);
    }
  }

  input.addEventListener("input", look);
  input.addEventListener("focus", look);
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (!isOpen()) return void look();
      const step = event.key === "ArrowDown" ? 1 : -1;
      if (rows.length) light((active + step + rows.length + (active < 0 && step < 0 ? 1 : 0)) % rows.length);
    } else if (event.key === "Escape") {
      input.value = "";
      if (isOpen()) close();
      else input.blur();
    }
  });
  input.form.addEventListener("submit", (event) => {
    event.preventDefault();
    const typed = input.value.trim().toUpperCase();
    if (typed.includes(" ")) return choose(typed, named);
    const symbol = rows[active]?.symbol ?? typed;
    if (symbol) choose(symbol);
  });
}
