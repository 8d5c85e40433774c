// Drag and drop, and what the browser alone does not say of an upload. Without this script the form works too.
"use strict";
const form = document.getElementById("upload");
const input = document.getElementById("recordings");
const progress = document.getElementById("progress");

function isTooLarge() {
  const bytes = Array.from(input.files).reduce((sum, file) => sum + file.size, 0);
  return bytes > Number(form.dataset.most);
}

form.addEventListener("submit", event => {
  if (isTooLarge()) {
    event.preventDefault();
    progress.textContent = "The files are too large together. originset explain reads them one by one.";
  } else {
    progress.textContent = "The recordings are read. Large ones take minutes.";
  }
});
for (const name of ["dragover", "dragleave", "drop"]) {
  form.addEventListener(name, event => {
    event.preventDefault();
    form.classList.toggle("over", name === "dragover");
  });
}
form.addEventListener("drop", event => {
  if (event.dataTransfer.files.length) {
    input.files = event.dataTransfer.files;
    form.requestSubmit();
  }
});
// The page as it is shown again after the browser's Back.
window.addEventListener("pageshow", () => { progress.textContent = ""; });
