// A form is read aloud by a voice of this device alone: others send the text to whoever made the voice. Without it (or
// such a voice): the button isn't shown.
import { $ } from "./dom.js";

const reader = $("[data-read-aloud]");
if (reader && window.speechSynthesis) {
  const language = $(".paper h1").closest("[lang]").lang.slice(0, 2);
  const voice = () => speechSynthesis.getVoices().find((one) => one.localService && one.lang.slice(0, 2) === language);
  const word = $("span", reader);
  const [offer, stop] = [word.textContent, reader.dataset.readAloud];
  const silence = () => (speechSynthesis.cancel(), (word.textContent = offer));
  const look = () => (reader.parentElement.hidden = !voice());
  look();
  speechSynthesis.addEventListener("voiceschanged", look);
  reader.addEventListener("click", () => {
    if (word.textContent === stop) return silence();
    word.textContent = stop;
    const pieces = [...document.querySelectorAll(".paper h1, .clause-text > *")];
    pieces.forEach((piece, at) => {
      const said = new SpeechSynthesisUtterance(piece.innerText);
      said.voice = voice();
      said.lang = said.voice.lang;
      if (at === pieces.length - 1) said.onend = silence;
      speechSynthesis.speak(said);
    });
  });
  addEventListener("pagehide", silence);
}
