// A button [data-copy] copies the text of the element that it names, and says
// so. Without the clipboard it stays hidden: the text can be selected.
import { say } from "./act.js";

export function offerCopies() {
  if (!navigator.clipboard) return;
  show();
  document.addEventListener("shown", show);
  new MutationObserver(show).observe(document.getElementById("ask"), { childList: true });
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const text = (button.closest(".question") || document).querySelector("#" + CSS.escape(button.dataset.copy));
    if (!text) return;
    try {
      await navigator.clipboard.writeText(text.textContent);
      done(button, "Copied.");
    } catch {
      text.closest("details")?.setAttribute("open", "");
      getSelection().selectAllChildren(text);
      done(button, "Could not be copied by itself: it is selected, press Ctrl+C.");
    }
  });
}

function show() {
  for (const button of document.querySelectorAll("[data-copy][hidden]")) button.hidden = false;
}

// done says it where it is read aloud; in a dialog, which hides the page, on
// the button.
function done(button, text) {
  say(text);
  if (!button.closest("dialog")) return;
  const before = button.textContent;
  button.textContent = text;
  setTimeout(() => { button.textContent = before; }, 2000);
}
