// A warning two minutes before the session ends, and nothing left in sight after it. Without it: the next request leads to
// signing in.
const dialog = $("#session-warning");
let ends = Date.parse(body.dataset.expiresAt);
const lasts = ends - Date.now();
const part = (name) => $(`[data-session=${name}]`, dialog);
const stay = async () => {
  const answer = await fetch("/", { method: "HEAD", redirect: "manual" });
  const later = Date.parse(answer.headers.get("Session-Expires-At"));
  if (!(later > Date.now())) return signInAgain();
  ends = later;
  dialog.close();
};
const signInAgain = () => {
  const form = typed;
  typed = null;
  if (!form?.isConnected) return location.reload();
  form.append(Object.assign(document.createElement("input"), { type: "hidden", name: "only-keep" }));
  form.submit();
};
document.addEventListener("click", ({ target }) => {
  if (target.closest("[data-stay]")) stay();
  else if (target.closest("[data-sign-in]")) signInAgain();
});
if (dialog && lasts > 0) {
  document.addEventListener("htmx:after:request", (event) => {
    const later = Date.parse(event.detail.ctx.response?.headers?.get("Session-Expires-At"));
    if (later > ends) ends = later;
  });
  dialog.addEventListener("cancel", (event) => {
    event.preventDefault();
    if (!part("warning").hidden) stay(); // Escape is from someone who is there
  });
  setInterval(() => {
    const left = Math.ceil((ends - Date.now()) / 1000);
    if (left > 120) return dialog.open && dialog.close();
    const over = left <= 0;
    if (!over) {
      $("[data-countdown]", dialog).textContent = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
      if (left % 30 === 0) part("said").textContent = $("p", part("warning")).textContent;
    }
    if (dialog.open && over === part("warning").hidden) return;
    part("warning").hidden = over;
    part("ended").hidden = !over;
    const told = `session-${over ? "ended" : "warning"}-`;
    dialog.setAttribute("aria-labelledby", told + "title");
    dialog.setAttribute("aria-describedby", told + "text");
    // Opened anew, the dialog gives the focus to its one button and is read out.
    dialog.close();
    dialog.showModal();
  }, 1000);
}
