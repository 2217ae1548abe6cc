"use strict";
(() => {
  const all = (query, root) => [...(root || document).querySelectorAll(query)];
  const controls = document.getElementById("controls");
  if (!controls) return;
  document.documentElement.classList.add("js");
  const text = document.getElementById("filter");
  const differs = document.getElementById("only-differing");
  const shown = document.getElementById("shown");

  const apply = () => {
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    const on = new Set(all("input[name=outcome]:checked").map((box) => box.value));
    for (const element of all("[data-find]")) {
      const { find, outcomes } = element.dataset;
      element.hidden = !(
        words.every((word) => find.includes(word)) &&
        outcomes.split(" ").some((outcome) => on.has(outcome)) &&
        (!differs.checked || "differs" in element.dataset)
      );
    }
    for (const cell of all("a.mark[data-outcome]")) {
      cell.classList.toggle("dim", !on.has(cell.dataset.outcome));
    }
    for (const body of all("tbody.scenario")) {
      body.hidden = !all("tr[data-find]", body).some((row) => !row.hidden);
    }
    const details = all("details.cell");
    const left = details.filter((element) => !element.hidden).length;
    shown.textContent = `${left} of ${details.length} cells shown`;
  };

  const openTarget = () => {
    let target = null;
    try {
      target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    } catch {
      return; // a malformed address names nothing
    }
    const cell = target && target.closest("details.cell");
    if (!cell) return;
    cell.hidden = false;
    cell.open = true;
    const folded = target.closest("details");
    if (folded) folded.open = true;
    target.scrollIntoView();
  };

  const copy = async (button) => {
    const code = button.parentElement.querySelector("code");
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "copied";
    } catch {
      getSelection().selectAllChildren(code);
      button.textContent = "selected";
    }
  };

  controls.addEventListener("input", apply);
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    const link = event.target.closest("a[href^='#']");
    if (link && link.hash === location.hash) openTarget();
    if (!button) return;
    if (button.name === "copy") copy(button);
    if (button.name === "fold") {
      for (const cell of all("details.cell")) {
        if (!cell.hidden) cell.open = button.value === "open";
      }
    }
    if (button.name === "outcomes") {
      for (const box of all("input[name=outcome]")) box.checked = button.value === "all";
      apply();
    }
  });
  addEventListener("hashchange", openTarget);
  apply();
  openTarget();
})();
