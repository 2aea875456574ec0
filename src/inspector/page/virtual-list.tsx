import type { ComponentChildren, VNode } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { stepOf } from './keys.js'
import { follow } from './router.js'
import type { Signal } from './signal.js'

/** Number of rows to render above and below the visible ones. */
const MARGIN = 8
/** Index of the first row below the heading, for screen readers. */
const FIRST_ROW = 2

interface Keyed {
  readonly key: string
}

interface ListProps<Item> {
  readonly caption: string
  /** The row of headings, as high as any other. */
  readonly head: ComponentChildren
  readonly items: readonly Item[]
  /** Key of the item from which the keys j and k move. */
  readonly selected: Signal<string | null>
  /** Key of the item whose detail is open beside the list, which stays in sight when new rows come. */
  readonly open: string | undefined
  /** Renders an item as `tr.entry`, with the class `selected` if it is; its first link gets the focus. */
  readonly row: (item: Item, ariaIndex: number) => VNode
}

/** A table that renders only visible rows, and through which keys move. New rows come above the others. */
export function VirtualList<Item extends Keyed>({
  caption,
  head,
  items,
  selected,
  open,
  row: renderRow,
}: ListProps<Item>) {
  const box = useRef<HTMLDivElement>(null)
  const [top, setTop] = useState(0)
  const [{ row, height }, setView] = useState({ row: 36, height: 800 })
  const newest = items[0]?.key
  const newestBefore = useRef(newest)
  const rowBefore = useRef(row)
  const focusNext = useRef(false)

  useLayoutEffect(() => {
    const observer = new ResizeObserver(([it]) => {
      const element = it?.target as HTMLElement
      const row = element.querySelector<HTMLElement>('tr.entry')
      // Without a height it is not shown: another place is, or a detail without its list.
      if (!row?.offsetHeight) return
      setView({ row: row.offsetHeight, height: element.clientHeight })
    })
    observer.observe(box.current as Element)
    return () => observer.disconnect()
  }, [])

  const show = (index: number) => {
    const element = box.current
    // The heading of the table covers the height of one row.
    const low = index * row
    if (element) element.scrollTop = Math.min(low, Math.max(element.scrollTop, low + 2 * row - element.clientHeight))
  }

  // Keep the same rows in sight when all become higher or less high, with the one whose detail opened.
  useLayoutEffect(() => {
    if (box.current) box.current.scrollTop = (top * row) / rowBefore.current
    rowBefore.current = row
    const at = items.findIndex((it) => it.key === open)
    if (at >= 0) show(at)
  }, [row])

  // Keep the scroll position when new items arrive above.
  useLayoutEffect(() => {
    const added = items.findIndex((it) => it.key === newestBefore.current)
    newestBefore.current = newest
    // Afterwards, because the pane of a list that was not shown restores its position first.
    requestAnimationFrame(() => {
      const element = box.current
      if (!element || (element.scrollTop < row && !open && !element.contains(document.activeElement))) return
      if (added > 0) element.scrollTop += added * row
    })
  }, [newest])

  useLayoutEffect(() => {
    if (!focusNext.current) return
    const link = box.current?.querySelector<HTMLAnchorElement>('tr.selected a')
    link?.focus({ preventScroll: true })
    if (link) follow(link.href)
    focusNext.current = !link
  })

  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const step = stepOf(event)
      // The list may be hidden.
      if (!step || !box.current?.offsetParent) return
      event.preventDefault()
      const at = items.findIndex((it) => it.key === (selected.value ?? open))
      const index = at < 0 ? 0 : Math.min(items.length - 1, Math.max(0, at + step))
      selected.value = items[index]?.key ?? null
      focusNext.current = true
      show(index)
    }
    addEventListener('keydown', onKeyDown)
    return () => removeEventListener('keydown', onKeyDown)
  })

  const first = Math.max(0, Math.min(Math.floor(top / row), items.length) - MARGIN)
  const last = Math.min(items.length, Math.ceil((top + height) / row) + MARGIN)
  const rows = items.slice(first, last).map((it, index) => renderRow(it, first + index + FIRST_ROW))
  const gap = (height: number) =>
    height > 0 && (
      <tbody aria-hidden="true">
        <tr>
          <td style={{ height: `${height}px` }}></td>
        </tr>
      </tbody>
    )
  return (
    <>
      <div class="list" ref={box} onScroll={(event) => setTop(event.currentTarget.scrollTop)}>
        <table aria-rowcount={items.length + 1}>
          <caption class="unseen">{caption}</caption>
          <thead>{head}</thead>
          {gap(first * row)}
          <tbody>{rows}</tbody>
          {gap((items.length - last) * row)}
        </table>
      </div>
      {top > row * 3 && (
        <button type="button" class="newest" onClick={() => box.current?.scrollTo({ top: 0 })}>
          ↑ Newest
        </button>
      )}
    </>
  )
}
