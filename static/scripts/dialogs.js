// A link with `data-dialog` opens that dialog. Without it: it leads to the page that does the same.
document.addEventListener("click", (event) => {
  const hit = event.target.closest("[data-dialog]");
  if (!hit) return;
  event.preventDefault();
  document.getElementById(hit.dataset.dialog).showModal();
});
