// The explanation of a contract, as text, in a dialog of the page.
import { at, said } from "./api.js";
import { say } from "./dom.js";

/** Opens the explanation of a contract: an OSI symbol, or words such as SPY 12/18 712 C. */
export async function explain(osym) {
  const dialog = document.getElementById("explain");
  const text = document.getElementById("explain-text");
  say(document.getElementById("explain-title"), osym);
  say(text, "…");
  if (!dialog.open) dialog.showModal();
  try {
    const answer = await fetch(`/l1/explain?${at({ osym, format: "text" })}`, { cache: "no-store" });
    const body = await answer.text();
    say(text, answer.ok ? body : said(body) || `status ${answer.status}`);
  } catch {
    say(text, "The daemon does not answer.");
  }
}
