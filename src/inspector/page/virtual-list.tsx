import type { ComponentChildren, VNode } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'

/** Number of rows to render above and below the visible ones. */
const MARGIN = 8
/** Index of the first row below the heading, for screen readers. */
const FIRST_ROW = 2

interface ListProps<Item> {
  readonly caption: string
  /** The row of headings, as high as any other. */
  readonly head: ComponentChildren
  readonly items: readonly Item[]
  /** Key of the item whose detail is open beside the list, which stays in sight when new rows come. */
  readonly open: string | undefined
  /** Renders an item as `tr.entry`. */
  readonly row: (item: Item, ariaIndex: number) => VNode
}

/** A table that renders only visible rows. New rows come above the others. */
export function VirtualList<Item extends { readonly key: string }>({
  caption,
  head,
  items,
  open,
  row: renderRow,
}: ListProps<Item>) {
  const box = useRef<HTMLDivElement>(null)
  const [top, setTop] = useState(0)
  const [{ row, height }, setView] = useState({ row: 36, height: 800 })
  const newest = items[0]?.key
  const newestBefore = useRef(newest)
  const rowBefore = useRef(row)

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

  // Keep the same rows in sight when all become higher or less high, with the one whose detail opened.
  useLayoutEffect(() => {
    const element = box.current as Element
    element.scrollTop = (top * row) / rowBefore.current
    rowBefore.current = row
    const low = items.findIndex((it) => it.key === open) * row
    // The heading of the table covers the height of one row.
    if (low >= 0) element.scrollTop = Math.min(low, Math.max(element.scrollTop, low + 2 * row - element.clientHeight))
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
