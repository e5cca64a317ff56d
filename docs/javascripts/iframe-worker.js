// Browsers refuse web workers to pages that were opened from disk, and the search runs in one.
// There a hidden frame takes its place; the offline plugin would fetch such a script from another host.
if (window.Worker && location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    #frame = document.createElement("iframe");
    #loaded;

    constructor(url) {
      super();
      this.#frame.hidden = true;
      document.body.append(this.#frame);
      const inside = this.#frame.contentDocument;
      inside.open();
      inside.write("<!doctype html><body></body>");
      inside.close();
      this.#frame.contentWindow.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = inside.createElement("script");
      script.src = url;
      this.#loaded = new Promise((loaded) => script.addEventListener("load", loaded));
      inside.body.append(script);
    }

    postMessage(data) {
      this.#loaded.then(() => this.#frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {
      this.#frame.remove();
    }
  };
}
