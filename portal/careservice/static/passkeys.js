// Signs in with a passkey, or adds one. Without it, or in browsers without passkeys, their forms stay hidden.

for (const form of document.querySelectorAll("form[data-passkey]")) {
  if (!window.PublicKeyCredential?.parseRequestOptionsFromJSON) break;
  form.hidden = false;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    use(form);
  });
}

async function use(form) {
  const told = form.querySelector("[role=status]");
  told.hidden = true;
  try {
    const options = JSON.parse(form.dataset.options);
    const credential =
      form.dataset.passkey === "get"
        ? await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) })
        : await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) });
    form.elements.credential.value = JSON.stringify(credential.toJSON());
    form.submit();
  } catch {
    told.hidden = false;
  }
}
