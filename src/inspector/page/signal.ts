/** A value whose change renders the page again. */
export interface Signal<Value> {
  value: Value
}

let render = () => {}
let waits = false

/** Sets what renders the page; it runs once for all changes of a moment. */
export function onChange(listener: () => void): void {
  render = listener
}

// @preact/signals would take a tenth of the 25 KB that the first view may have; the page is small enough to render as a whole.
export function signal<Value>(initial: Value): Signal<Value> {
  let current = initial
  return {
    get value() {
      return current
    },
    set value(next) {
      if (next === current) return
      current = next
      if (waits) return
      waits = true
      queueMicrotask(() => {
        waits = false
        render()
      })
    },
  }
}
