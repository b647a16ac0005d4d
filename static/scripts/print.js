// Prints the page. Without it: the button isn't shown (styles/components/copy.css).
document.addEventListener("click", ({ target }) => target.closest("[data-print]") && print());
