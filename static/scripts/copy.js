// Copies an id or a hash. Without it: the button isn't shown (styles/components/copy.css).
document.addEventListener("click", async ({ target }) => {
  const hit = target.closest("[data-copy]");
  if (!hit) return;
  await navigator.clipboard.writeText(hit.dataset.copy);
  const word = hit.lastElementChild;
  const before = word.textContent;
  word.setAttribute("role", "status");
  word.textContent = hit.dataset.done;
  setTimeout(() => (word.textContent = before), 2000);
});
