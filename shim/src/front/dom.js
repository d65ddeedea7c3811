// Small hands for the document. Text goes in as text only: nothing here reads markup.

/** An element with properties, `class`, `data-…` and `aria-…` attributes, and children. */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) set(made, name, value);
  made.append(...children);
  return made;
}

const SVG = "http://www.w3.org/2000/svg";

/** An element of a drawing. */
export function drawn(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) set(made, name, value);
  made.append(...children);
  return made;
}

/** An attribute, written only where it changes; `null` takes it away. Whether it changed. */
export function set(node, name, value) {
  const text = value === null || value === false ? null : value === true ? "" : String(value);
  if (node.getAttribute(name) === text) return false;
  if (text === null) node.removeAttribute(name);
  else node.setAttribute(name, text);
  return true;
}

/** Text, written only where it changes; whether it did. */
export function say(node, text) {
  if (node.textContent === text) return false;
  node.textContent = text;
  return true;
}

/** What a browser that keeps nothing knows until the page is closed. */
const short = new Map();

/** What this browser remembers. */
export const memory = {
  get(name) {
    try {
      return localStorage.getItem(`greeksd.${name}`);
    } catch {
      return short.get(name) ?? null;
    }
  },
  set(name, value) {
    try {
      if (value === null) localStorage.removeItem(`greeksd.${name}`);
      else localStorage.setItem(`greeksd.${name}`, value);
    } catch {
      short.set(name, value);
    }
  },
};

/** Lets the button in the heading of a pane fold it; the browser remembers that. What it returns does the same. */
export function foldable(pane, opens) {
  const button = pane.querySelector("h2 button");
  const show = (isOpen) => {
    pane.classList.toggle("folded", !isOpen);
    set(button, "aria-expanded", String(isOpen));
  };
  const kept = memory.get(`fold.${pane.id}`);
  show(kept === null ? opens : kept === "open");
  const toggle = () => {
    const isOpen = pane.classList.contains("folded");
    memory.set(`fold.${pane.id}`, isOpen ? "open" : "folded");
    show(isOpen);
  };
  button.addEventListener("click", toggle);
  return toggle;
}

const stillness = matchMedia("(prefers-reduced-motion: reduce)");

/** Lights a cell up where its number rose or fell, unless motion is unwelcome. */
export function flash(node, rose) {
  if (stillness.matches || document.hidden) return;
  const color = getComputedStyle(document.documentElement).getPropertyValue(rose ? "--rise" : "--fall");
  // from that colour to whatever the cell has
  node.animate([{ backgroundColor: color, offset: 0 }], { duration: 700, easing: "ease-out" });
}
