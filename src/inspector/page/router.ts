import { signal } from './signal.js'

/** Where the server mounts the page. */
export const BASE = '/_platform/ui'

/** Properties of every view. */
export interface ViewProps {
  /** Path parameters, such as `id`. */
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
}

/** The path is below the mount point, such as `/requests/REQ`. */
const read = () => ({
  path: location.pathname.slice(BASE.length) || '/',
  query: new URLSearchParams(location.search),
})

/** Present address of the page; each view and each object has a path. */
export const place = signal(read())

/** Number of visits before this place, as its entry of the history has it: Escape goes back only within this page. */
let visits: number = history.state ?? 0

/** Builds a link within the page; escapes each part of the path. A lone surrogate has no escape. */
export function linkTo(parts: readonly string[], query?: Readonly<Record<string, string>>): string {
  const search = new URLSearchParams(query).toString()
  return `${BASE}/${parts.map(escaped).join('/')}${search && `?${search}`}`
}

const escaped = (part: string) => encodeURIComponent(part.replace(/\p{Cs}/gu, '\ufffd'))

export function visit(href: string): void {
  history.pushState(++visits, '', href)
  place.value = read()
}

/** Replaces the query of the address, so that a reload or a copied address keeps the filters. */
export function setQuery(query: URLSearchParams): void {
  const search = query.toString()
  history.replaceState(history.state, '', location.pathname + (search && `?${search}`))
  place.value = read()
}

/** Sets or removes one filter; a list then begins at its first page. */
export function setFilter(name: string, value: string): void {
  const query = new URLSearchParams(place.value.query)
  query.delete('page')
  if (value === '') query.delete(name)
  else query.set(name, value)
  setQuery(query)
}

/** Returns to the previous place, or to the stream if the page was opened here. */
export function leave(): void {
  // The step back takes a moment, in which a second one would leave the page.
  if (visits < history.state) return
  if (visits > 0) {
    visits--
    history.back()
  } else if (place.value.path !== '/') visit(linkTo([]))
}

/**
 * Follows links within the page without a reload. The browser handles other links.
 * @param openTab opens a link in a new tab, and returns false to leave that to the browser
 */
export function startRouter(openTab: (href: string) => boolean): void {
  addEventListener('popstate', ({ state }) => {
    visits = state ?? 0
    place.value = read()
  })
  const follow = (event: MouseEvent) => {
    const link = (event.target as Element).closest?.('a')
    if (!link || event.altKey || event.button > 1 || link.origin !== location.origin || link.target) return
    if (!`${link.pathname}/`.startsWith(`${BASE}/`)) return
    const inTab = event.button === 1 || event.ctrlKey || event.metaKey || event.shiftKey
    if (inTab && !openTab(link.href)) return
    event.preventDefault()
    if (!inTab && link.href !== location.href) visit(link.href)
  }
  addEventListener('click', follow)
  // The middle button.
  addEventListener('auxclick', follow)
}
