// Files dropped anywhere on the page go to the studio's upload button, which viser knows only as a button.
addEventListener("dragover", (event) => event.preventDefault());
addEventListener("drop", (event) => {
  event.preventDefault();
  const input = document.querySelector("input[type=file]");
  const files = event.dataTransfer && event.dataTransfer.files;
  if (!input || !files || files.length === 0) return;
  input.value = ""; // the same file dropped twice is a change too
  input.files = files;
  input.dispatchEvent(new Event("change", { bubbles: true }));
});
