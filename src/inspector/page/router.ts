import { signal } from './signal.js'

/** Where the server mounts the page. */
export const BASE = '/_platform/ui'

interface Place {
  /** Path below the mount point, such as `/requests/REQ`. */
  readonly path: string
  readonly query: URLSearchParams
}

/** What a view gets from its address. */
export interface ViewProps {
  /** Values of the parts of the path, such as `id`. */
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
}

const read = (): Place => ({
  path: location.pathname.slice(BASE.length) || '/',
  query: new URLSearchParams(location.search),
})

/** Where the page is; each thing has a path of its own. */
export const place = signal(read())

/** Visits in this tab, so that Escape goes back only to a place of this page. */
let visits = 0

/** Link to a place of the page; each part of the path is escaped. */
export function linkTo(parts: readonly string[], query?: Readonly<Record<string, string>>): string {
  const search = new URLSearchParams(query).toString()
  return `${BASE}/${parts.map(encodeURIComponent).join('/')}${search && `?${search}`}`
}

function visit(href: string): void {
  visits++
  history.pushState(null, '', href)
  place.value = read()
}

/** Replaces the query of the present place, so that a reload and a copied address keep it. */
export function setQuery(query: URLSearchParams): void {
  const search = query.toString()
  history.replaceState(null, '', location.pathname + (search && `?${search}`))
  place.value = read()
}

/** Returns to the place before, or to the stream if this page was opened here. */
export function leave(): void {
  if (visits > 0) history.back()
  else if (place.value.path !== '/') visit(linkTo([]))
}

/** Follows links of the page without loading it again; leaves others, and clicks for a new tab, to the browser. */
export function startRouter(): void {
  addEventListener('popstate', () => {
    visits = Math.max(0, visits - 1)
    place.value = read()
  })
  document.addEventListener('click', (event) => {
    const link = (event.target as Element).closest?.('a')
    const plain = event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey)
    if (!link || !plain || link.origin !== location.origin || link.target) return
    if (!`${link.pathname}/`.startsWith(`${BASE}/`)) return
    event.preventDefault()
    if (link.href !== location.href) visit(link.href)
  })
}
