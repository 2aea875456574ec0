import type { RefObject } from 'preact'
import { useLayoutEffect } from 'preact/hooks'
import { KeyValue } from './components.js'
import { follow, leave } from './router.js'

const keys = [
  ['/  Ctrl K', 'Find'],
  ['j  ↓', 'Next row'],
  ['k  ↑', 'Previous row'],
  ['Enter', 'Open the row'],
  ['Escape', 'Back'],
  ['?', 'These keys'],
] as const

/** Rows that the user can open or change, of the list beside a detail or else of the view. */
function rowsOf(main: Element) {
  const panes = [...main.querySelectorAll<HTMLElement>('.pane')].filter((it) => it.offsetParent)
  const list = panes[0]?.querySelector('.list') ?? panes[0]
  const rows = list?.querySelectorAll<HTMLElement>('tbody tr, .rows > li') ?? []
  return [...rows].filter((it) => stopOf(it))
}

/** Element of a row that gets the focus. */
const stopOf = (row: Element | undefined) => row?.querySelector<HTMLElement>('a, button')

/** Number of rows by which a key moves; 0 for other keys, and where the key has another meaning. */
function stepOf(event: KeyboardEvent): number {
  if ((event.target as Element).closest('input, select, textarea, dialog, pre')) return 0
  if (event.key === 'j' || event.key === 'ArrowDown') return 1
  return event.key === 'k' || event.key === 'ArrowUp' ? -1 : 0
}

/** True for a row whose detail is open. */
const isOpen = (row: Element) => row.querySelector('a')?.pathname === location.pathname

function moveTo(main: Element, step: number): boolean {
  const rows = rowsOf(main)
  if (rows.length === 0) return false
  const focused = rows.findIndex((it) => it.contains(document.activeElement))
  const at = focused < 0 ? rows.findIndex(isOpen) : focused
  const row = rows[at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + step))]
  const stop = stopOf(row)
  stop?.focus({ preventScroll: true })
  row?.scrollIntoView({ block: 'nearest' })
  // A list of many rows renders the next ones before the next key comes.
  stop?.closest('.list')?.dispatchEvent(new Event('scroll'))
  if (stop instanceof HTMLAnchorElement) follow(stop.href)
  return true
}

/**
 * Keeps the focus when an update moves or removes the focused element: in the same row, else in the row that takes its
 * place, else on the heading.
 */
function keepFocus(main: Element): () => void {
  let last: Element | null = null
  let row = -1
  const note = ({ target }: Event) => {
    last = target as Element
    // A long list removes the rows that are out of sight.
    row = last.closest('.list') ? -1 : rowsOf(main).findIndex((it) => it.contains(last))
  }
  // A click beside all fields takes the focus away on purpose.
  const forget = () => {
    last = null
  }
  const restore = () => {
    if (!last || document.activeElement !== document.body || !document.hasFocus()) return
    const rows = row < 0 ? [] : rowsOf(main)
    const same = last.isConnected ? (last as HTMLElement) : stopOf(rows[Math.min(row, rows.length - 1)])
    const found = same ?? main.querySelector<HTMLElement>('.current h1')
    found?.focus({ preventScroll: true })
  }
  const observer = new MutationObserver(restore)
  observer.observe(main, { childList: true, subtree: true })
  main.addEventListener('focusin', note)
  addEventListener('pointerdown', forget)
  return () => {
    observer.disconnect()
    main.removeEventListener('focusin', note)
    removeEventListener('pointerdown', forget)
  }
}

/** Keys that work in every view; fields and dialogs have their own keys. */
function onKey(event: KeyboardEvent, main: Element, dialog: HTMLDialogElement | null): void {
  const target = event.target as HTMLElement
  const isField = target.matches('input, select, textarea')
  const step = stepOf(event)
  if (event.key === 'Escape') {
    // Escape would clear the search field in Chrome.
    event.preventDefault()
    if (isField) target.blur()
    else leave()
  } else if (isField) return
  else if (event.key === '?') dialog?.showModal()
  else if (step && moveTo(main, step)) event.preventDefault()
}

/** Keys of every view, and a focus that updates do not take away. */
export function useKeys(main: RefObject<HTMLElement | null>, dialog: RefObject<HTMLDialogElement | null>): void {
  // Not after the frame: a key may be pressed as soon as the view is shown.
  useLayoutEffect(() => {
    const element = main.current as HTMLElement
    const onKeyDown = (event: KeyboardEvent) => {
      const isOther = event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented
      if (!isOther && !document.querySelector('dialog[open]')) onKey(event, element, dialog.current)
    }
    addEventListener('keydown', onKeyDown)
    const release = keepFocus(element)
    return () => {
      removeEventListener('keydown', onKeyDown)
      release()
    }
  }, [])
}

export function Keys({ dialog }: { readonly dialog: RefObject<HTMLDialogElement | null> }) {
  return (
    <dialog ref={dialog} aria-labelledby="keys">
      <h2 id="keys">Keys</h2>
      <KeyValue items={keys} />
      <form method="dialog">
        <button>Close</button>
      </form>
    </dialog>
  )
}
