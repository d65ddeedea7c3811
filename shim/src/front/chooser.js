// The dialog that chooses columns and their order. The browser remembers them; the address has them, too.
import { COLUMNS, GROUPS, OFFERS } from "./columns.js";
import { element, memory } from "./dom.js";

const $ = (id) => document.getElementById(id);

export class ColumnChooser {
  /** `now` gives the columns of the view; `chosen` takes keys in their order, or null: the usual ones. */
  constructor(now, chosen) {
    this.now = now;
    this.chosen = chosen;
    $("column-groups").addEventListener("change", ({ target }) => {
      const keys = this.keys.filter((key) => key !== target.value);
      this.take(target.checked ? [...keys, target.value] : keys);
    });
    $("columns-reset").addEventListener("click", () => this.take([]));
  }

  open() {
    this.offer();
    $("columns").showModal();
  }

  take(keys) {
    memory.set("columns", keys.length ? keys.join(",") : null);
    this.chosen(keys.length ? keys : null);
    this.offer();
  }

  offer() {
    this.keys = this.now().map(({ key }) => key);
    $("column-groups").replaceChildren(...GROUPS.map(({ group, title }) => {
      const isHidden = group === "quote" && !OFFERS.quotes;
      const boxes = COLUMNS.filter((column) => column.group === group).map(({ key, title, help }) => {
        const box = element("input", { type: "checkbox", value: key, checked: this.keys.includes(key), disabled: isHidden });
        box.checked = this.keys.includes(key);
        return element("label", { title: help }, box, ` ${title}`);
      });
      return element("fieldset", {}, element("legend", {}, isHidden ? `${title}: with --show-quotes` : title), ...boxes);
    }));
    $("column-order").replaceChildren(...this.now().map(({ key, title }, i) => {
      const move = (word, sign, to) => {
        const button = element("button", { type: "button", class: "quiet", "aria-label": `${title} ${word}`, disabled: to < 0 || to >= this.keys.length }, sign);
        button.addEventListener("click", () => this.move(i, to, `${title} ${word}`));
        return button;
      };
      return element("li", {}, move("nearer to the strike", "‹", i - 1), element("span", {}, title), move("farther from the strike", "›", i + 1));
    }));
  }

  /** Moves a column; the focus stays on its button. */
  move(from, to, label) {
    const keys = [...this.keys];
    keys.splice(to, 0, ...keys.splice(from, 1));
    this.take(keys);
    $("column-order").querySelector(`[aria-label="${CSS.escape(label)}"]:enabled, [aria-label^="${CSS.escape(label.split(" ")[0])} "]:enabled`)?.focus();
  }
}
