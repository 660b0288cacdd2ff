// Search without a network or a server: browsers refuse a page from disk a worker, so its script runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      this.ready = new Promise(resolve => frame.addEventListener("load", () => resolve(frame.contentWindow)))
      window.fromFrame = data => this.dispatchEvent(new MessageEvent("message", { data }))
      frame.srcdoc = `<script>postMessage = data => parent.fromFrame(data)</script><script src="${url}"></script>`
      document.body.append(frame)
    }

    postMessage(data) {
      this.ready.then(inside => inside.dispatchEvent(new inside.MessageEvent("message", { data })))
    }
  }
}
