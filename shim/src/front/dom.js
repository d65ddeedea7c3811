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

/** An attribute, written only where it changes; `null` takes it away. */
export function set(node, name, value) {
  if (value === null || value === false) {
    if (node.hasAttribute(name)) node.removeAttribute(name);
    return;
  }
  const text = value === true ? "" : String(value);
  if (node.getAttribute(name) !== text) node.setAttribute(name, text);
}

/** Text, written only where it changes; whether it did. */
export function say(node, text) {
  if (node.textContent === text) return false;
  node.textContent = text;
  return true;
}

/** What this browser remembers, or nothing where it keeps nothing. */
export const memory = {
  get(name) {
    try {
      return localStorage.getItem(`greeksd.${name}`);
    } catch {
      return null;
    }
  },
  set(name, value) {
    try {
      if (value === null) localStorage.removeItem(`greeksd.${name}`);
      else localStorage.setItem(`greeksd.${name}`, value);
    } catch {
      // it is forgotten with the page
    }
  },
};

const stillness = matchMedia("(prefers-reduced-motion: reduce)");

/** Lights a cell up where its number rose or fell, unless motion is unwelcome. */
export function flash(node, rose) {
  if (stillness.matches || document.hidden) return;
  const color = getComputedStyle(document.documentElement).getPropertyValue(rose ? "--rise" : "--fall");
  // from that colour to whatever the cell has
  node.animate([{ backgroundColor: color, offset: 0 }], { duration: 700, easing: "ease-out" });
}
