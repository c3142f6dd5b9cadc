// Comfort only: the pages work the same without it.
"use strict";

for (const output of document.querySelectorAll("output[data-count-of]")) {
  const area = document.getElementById(output.dataset.countOf);
  const show = () => {
    // The browser sends a line end as two characters and the clinic keeps it as one: count it as one, and each character once.
    const length = [...area.value].length;
    output.textContent = String(length);
    output.classList.toggle("over", length > Number(area.dataset.limit));
  };
  area.addEventListener("input", show);
  show();
}

const scenario = document.getElementById("scenario");
if (scenario) {
  const hint = document.getElementById("scenario-hint");
  const show = () => {
    hint.textContent = scenario.selectedOptions[0].dataset.summary;
  };
  scenario.addEventListener("change", show);
  show();
}
