// A passkey confirms a signature, or is added. Without it, or in a browser without passkeys: the page says what is possible.
import { $, each } from "./dom.js";

const ask = {
  get: (options) => navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) }),
  create: (options) => navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) }),
};
each("[data-passkey]", (button) => {
  if (!window.PublicKeyCredential?.parseRequestOptionsFromJSON) return;
  const { form } = button;
  const { credential, signature } = form.elements;
  const told = $("[role=status]", form);
  button.hidden = false;
  each("[data-without-passkeys]", (words) => (words.hidden = true));
  button.addEventListener("click", async (event) => {
    if (signature && !signature.value.trim()) return;
    event.preventDefault();
    if (button.ariaBusy) return;
    button.ariaBusy = "true";
    told.textContent = "";
    try {
      const given = await ask[button.dataset.passkey](JSON.parse(button.dataset.options));
      credential.value = JSON.stringify(given.toJSON());
      form.requestSubmit(button);
    } catch {
      told.textContent = told.dataset.failed;
    }
    button.ariaBusy = null;
  });
});
