// Browsers start no workers from file: addresses, and the search runs in one. Opened from the folder, this page runs the
// worker's script in a hidden frame instead, and passes messages to and fro.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      document.body.appendChild(this.frame)
      const inside = this.frame.contentWindow
      inside.postMessage = data => {
        const event = new MessageEvent("message", { data })
        this.dispatchEvent(event)
        if (this.onmessage) this.onmessage(event)
      }
      this.waiting = []
      const script = inside.document.createElement("script")
      script.src = new URL(url, location.href).href
      script.onload = () => {
        const waiting = this.waiting
        this.waiting = null
        waiting.forEach(data => this.deliver(data))
      }
      inside.document.body.appendChild(script)
    }

    postMessage(data) {
      if (this.waiting) this.waiting.push(data)
      else this.deliver(data)
    }

    deliver(data) {
      this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }))
    }

    terminate() {
      this.frame.remove()
    }
  }
}
