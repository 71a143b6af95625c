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

// Arrows are drawn over the links, and the one under the mouse says whose it is. three.js tells of every scene it makes
// through the hook for its developer tools; without it the arrows are seen through the links only.
(() => {
  const ARROWS_OVER = 9000; // after links, before viser's labels
  let view = null; // camera, canvas and an arrow mesh of the last picture
  const isArrow = (object) => object.isInstancedMesh2 &&
    (object.geometry.type === "CylinderGeometry" || object.geometry.type === "ConeGeometry");
  const lift = (mesh) => {
    mesh.renderOrder = ARROWS_OVER + (mesh.geometry.type === "ConeGeometry" ? 1 : 0);
    mesh.sortObjects = false; // the studio sends the longest first
    Object.assign(mesh.material, { transparent: true, depthTest: false, depthWrite: false });
  };
  const hook = (window.__THREE_DEVTOOLS__ ??= new EventTarget());
  hook.addEventListener("observe", ({ detail: scene }) => {
    if (!scene.isScene) return;
    const before = scene.onBeforeRender;
    scene.onBeforeRender = function (renderer, self, camera, target) {
      before.apply(this, arguments);
      scene.traverse((object) => {
        if (!isArrow(object)) return;
        lift(object);
        if (!target) view = { camera, canvas: renderer.domElement, mesh: object };
      });
    };
  });

  const transform = (m, [x, y, z]) => [0, 1, 2, 3].map((k) => m[k] * x + m[4 + k] * y + m[8 + k] * z + m[12 + k]);
  const onScreen = (point, box) => {
    const world = transform(view.mesh.matrixWorld.elements, point);
    const seen = transform(view.camera.matrixWorldInverse.elements, world);
    const [x, y, , w] = transform(view.camera.projectionMatrix.elements, seen);
    return w > 0 ? [box.left + (1 + x / w) * box.width / 2, box.top + (1 - y / w) * box.height / 2] : null;
  };
  const distance = ([x, y], a, b) => {
    const dx = b[0] - a[0], dy = b[1] - a[1];
    const part = Math.min(1, Math.max(0, ((x - a[0]) * dx + (y - a[1]) * dy) / (dx * dx + dy * dy || 1)));
    return Math.hypot(x - a[0] - part * dx, y - a[1] - part * dy);
  };
  let tip = null;
  const hide = () => { if (tip) tip.style.display = "none"; };
  addEventListener("pointermove", (event) => {
    const data = document.querySelector(".setsu-arrows");
    if (!view || !data || event.target !== view.canvas || event.buttons) return hide();
    const box = view.canvas.getBoundingClientRect(), found = [];
    for (const [ax, ay, az, bx, by, bz, text] of JSON.parse(data.dataset.arrows)) {
      const a = onScreen([ax, ay, az], box), b = onScreen([bx, by, bz], box);
      const away = a && b ? distance([event.clientX, event.clientY], a, b) : Infinity;
      if (away < 8) found.push([away, text]);
    }
    if (!found.length) return hide();
    if (!tip) {
      tip = document.body.appendChild(document.createElement("div"));
      tip.className = "setsu-tip";
      tip.style.cssText = "position:fixed;z-index:500;pointer-events:none;white-space:pre;background:#fffffff0;color:#2d333b;" +
        "border:1px solid #b8bec6;border-radius:4px;padding:3px 8px;font:12px/1.5 system-ui,sans-serif";
    }
    found.sort((a, b) => a[0] - b[0]);
    tip.textContent = found.slice(0, 5).map(([, text]) => text).join("\n");
    Object.assign(tip.style, { display: "block", left: `${event.clientX + 14}px`, top: `${event.clientY + 10}px` });
  });
})();
