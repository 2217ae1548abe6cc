"use strict";
(() => {
  document.documentElement.classList.add("js");

  const unfold = () => {
    let target = null;
    try {
      target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    } catch {
      return; // a malformed address names nothing
    }
    const folded = target && target.closest("details");
    if (!folded) return;
    folded.open = true;
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

  for (const button of document.querySelectorAll("button[name=copy]")) {
    button.addEventListener("click", () => copy(button));
  }
  addEventListener("hashchange", unfold);
  unfold();
})();
