import type { ComponentChildren, RefObject } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { place } from './router.js'

/** A place of the page: a list, a detail beside it, or a view of its own. */
export interface KeptPlace {
  /** Visit at which it was opened. */
  readonly at: number
  readonly path: string
  readonly isList: boolean
}

/** Maximum places that stay in the page: a step back finds scroll positions, typed text and open parts there. */
const KEPT_MAX = 8

/** True for a place of the same visit and kind as one of others. */
export const isAmong = ({ at, isList }: KeptPlace, others: readonly KeptPlace[]): boolean =>
  others.some((it) => at === it.at && isList === it.isList)

/** Adds the shown places to the kept ones, the latest last. A place that replaced another one of the same visit stays. */
export const keep = (kept: readonly KeptPlace[], shown: readonly KeptPlace[]): readonly KeptPlace[] =>
  [...kept.filter((it) => !isAmong(it, shown)), ...shown].slice(-KEPT_MAX)

interface PaneProps {
  readonly shown: boolean
  /** True for the place that the address names. */
  readonly isCurrent: boolean
  readonly children?: ComponentChildren
}

/** Shows a place. While it is not shown its elements are out of the document, as they were, and not rendered again. */
export function Pane({ shown, isCurrent, children }: PaneProps) {
  const slot = useRef<HTMLDivElement>(null)
  const box = useRef<HTMLDivElement>(null)
  // An element outside the document has no scroll position.
  const tops = useRef(new Map<Element, number>())
  const focused = useRef<HTMLElement | null>(null)
  const drawn = useRef<ComponentChildren>(null)
  if (shown)
    drawn.current = (
      <div
        class={`pane ${isCurrent ? 'current' : ''}`}
        ref={box}
        onScrollCapture={({ target }) => tops.current.set(target as Element, (target as Element).scrollTop)}
        onFocusCapture={({ target }) => {
          focused.current = target as HTMLElement
        }}
      >
        {children}
      </div>
    )
  useLayoutEffect(() => {
    if (!shown) return box.current?.remove()
    if (box.current && !box.current.isConnected) slot.current?.append(box.current)
    // Only when the place that was shown before has left does this one have its size.
    queueMicrotask(() => {
      for (const [element, top] of tops.current) element.scrollTop = top
    })
  }, [shown])
  useLayoutEffect(() => {
    if (isCurrent && place.value.by === 'back') focused.current?.focus({ preventScroll: true })
  }, [isCurrent])
  // Preact skips an identical element.
  return (
    <div class="slot" ref={slot}>
      {drawn.current}
    </div>
  )
}

const ROW = '.pane :is(tr, .rows > li):is(:focus-within, [aria-current])'

/** Keeps the row that the user has chosen where it is, although rows are less high in a list beside a detail. */
export function useSteadyRow(main: RefObject<HTMLElement | null>): void {
  const shown = useRef('')
  const { path } = place.value
  // Measured before the page changes.
  const row = path === shown.current ? null : main.current?.querySelector(ROW)
  shown.current = path
  const top = row?.getClientRects()[0]?.top
  useLayoutEffect(() => {
    const moved = row?.getClientRects()[0]?.top
    const pane = row?.closest('.pane')
    if (pane && top !== undefined && moved !== undefined) pane.scrollTop += moved - top
  }, [path])
}
