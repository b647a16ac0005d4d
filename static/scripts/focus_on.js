// Gives the focus to any element, such as a heading. Without it: nothing moves the focus.
export const focusOn = (element) => {
  if (!element.matches("a, button, input, select, textarea, [tabindex]")) element.tabIndex = -1;
  element.focus();
};
