"use strict";
(() => {
  const all = (query, root) => [...(root || document).querySelectorAll(query)];
  const controls = document.getElementById("controls");
  if (!controls) return;
  document.documentElement.classList.add("js");
  const text = document.getElementById("filter");
  const differs = document.getElementById("only-differing");
  const shown = document.getElementById("shown");
  const words = new Map(); // what the filter looks in, made once

  const said = (element) => {
    if (!words.has(element)) {
      const scenario = element.closest("tbody.scenario");
      const parts = [scenario ? scenario.querySelector(".title").textContent : "", element.textContent];
      parts.push(...all("[title]", element).map((each) => each.title));
      words.set(element, parts.join(" ").toLowerCase());
    }
    return words.get(element);
  };

  const apply = () => {
    const wanted = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    const on = new Set(all("input[name=outcome]:checked").map((box) => box.value));
    let left = 0;
    let total = 0;
    for (const element of all("[data-find]")) {
      const cells = all("[data-outcome]", element);
      element.hidden = !(
        (wanted.length === 0 || wanted.every((word) => said(element).includes(word))) &&
        cells.some((cell) => on.has(cell.dataset.outcome)) &&
        (!differs.checked || "differs" in element.dataset)
      );
      for (const cell of cells) {
        const dim = !on.has(cell.dataset.outcome);
        cell.classList.toggle("dim", dim);
        if (element.closest(".differing")) continue; // those stand in the matrix, too
        total += 1;
        if (!dim && !element.hidden) left += 1;
      }
    }
    for (const body of all("tbody.scenario")) {
      body.hidden = !all("tr[data-find]", body).some((row) => !row.hidden);
    }
    shown.textContent = `${left} of ${total} cells shown`;
  };

  controls.addEventListener("input", apply);
  for (const button of all("button[name=outcomes]", controls)) {
    button.addEventListener("click", () => {
      for (const box of all("input[name=outcome]")) box.checked = button.value === "all";
      apply();
    });
  }
  apply();
})();
