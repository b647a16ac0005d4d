// Undo leads back to the place where the act was. Without it: to the top of the page.
document.addEventListener("submit", ({ target }) => {
  if (target.closest(".toast")) sessionStorage.place = JSON.stringify([location.pathname, scrollY]);
}, true);
const [path, top] = JSON.parse(sessionStorage.place || "[]");
if (path === location.pathname) scrollTo(0, top);
delete sessionStorage.place;
