// A menu closes when the click goes elsewhere, and by Escape. Without it: by its own button.
const closeMenus = (except) => each("details[data-menu][open]", (menu) => {
  if (!menu.contains(except)) menu.open = false;
});

document.addEventListener("keydown", ({ key }) => {
  const open = key === "Escape" && $("details[data-menu][open]");
  if (open) (open.open = false), $("summary", open).focus();
});
document.addEventListener("click", ({ target }) => closeMenus(target));
