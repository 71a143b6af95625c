// Browsers start no workers for pages that are opened as files; the search of the pages is one. There, its script runs
// in a hidden frame, which exchanges messages as a worker does.
if (location.protocol === "file:") {
  window.Worker = class {
    constructor(address) {
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.documentElement.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => setTimeout(() => this.onmessage && this.onmessage(new MessageEvent("message", { data })));
      const script = inside.document.createElement("script");
      script.src = new URL(address, document.baseURI).href;
      script.onload = () => { this.inside = inside; this.waiting.splice(0).forEach((data) => this.postMessage(data)); };
      script.onerror = () => this.onerror && this.onerror(new ErrorEvent("error", { message: `cannot load ${address}` }));
      inside.document.documentElement.append(script);
    }
    postMessage(data) {
      if (!this.inside) this.waiting.push(data);
      else setTimeout(() => this.inside.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() { this.frame.remove(); }
  };
}
