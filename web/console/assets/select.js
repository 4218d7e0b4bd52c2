// Selecting many: tick all on a page, say how many are ticked, and keep what
// cannot act from looking as if it could.
const boxes = () => [...document.querySelectorAll("[data-list] input[name=ids]")];

function tell() {
  const all = boxes(), ticked = all.filter((b) => b.checked).length;
  const label = document.querySelector("[data-selected]");
  if (label) label.textContent = ticked ? `${ticked} selected` : "";
  for (const b of document.querySelectorAll("#many button:not([value=matching])")) b.disabled = ticked === 0;
  const every = document.querySelector("[data-select-all]");
  if (every) {
    every.hidden = all.length === 0;
    every.querySelector("input").checked = ticked > 0 && ticked === all.length;
  }
}

// needTick keeps a button off until its box is ticked; the server asks for the
// tick as well.
function needTick() {
  for (const button of document.querySelectorAll("[data-ticked]")) {
    const box = button.form && button.form.querySelector("input[name=checked]");
    if (box) button.disabled = !box.checked;
  }
}

export function selectMany() {
  tell();
  document.addEventListener("change", (event) => {
    if (event.target.closest("[data-select-all]")) for (const b of boxes()) b.checked = event.target.checked;
    tell();
    needTick();
  });
  document.addEventListener("shown", () => { tell(); needTick(); });
  document.addEventListener("asked", needTick);
}
