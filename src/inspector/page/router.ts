import { signal } from './signal.js'

/** Where the server mounts the page. */
export const BASE = '/_platform/ui'

/** Properties of every view. */
export interface ViewProps {
  /** Path parameters, such as `id`. */
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
}

/** A list beside which details are shown. */
interface ListPlace {
  /** Visit at which the list was opened: a later visit of the same list begins anew. */
  readonly at: number
  readonly path: string
  readonly search: string
}

/** What an entry of the history stores: the number of its visit, and the list beside its detail. */
interface Visit {
  readonly at: number
  readonly list?: ListPlace
}

/** Details by the first part of their path, with the list beside which an address opened by hand shows them. */
const listsOfDetails: Readonly<Record<string, string>> = {
  requests: '/',
  vouchers: '/vouchers',
  deliveries: '/deliveries',
  templates: '/templates',
}
const lists: readonly string[] = [...Object.values(listsOfDetails), '/errors']

const listOfDetail = (path: string) => {
  const [, section = '', id] = path.split('/')
  return id ? listsOfDetails[section] : undefined
}

function listAt(path: string, { at, list }: Visit): ListPlace | null {
  if (lists.includes(path)) return { at: list?.path === path ? list.at : at, path, search: location.search }
  const own = listOfDetail(path)
  return own === undefined ? null : (list ?? { at, path: own, search: '' })
}

// An earlier version of the page stored a number.
const stored = (): Visit => (history.state?.at === undefined ? { at: 0 } : history.state)

/** How the page came to a place: a new visit, a step in the history, or a change of what a place shows. */
type Move = 'visit' | 'back' | 'change'

const pathOf = (pathname: string) => pathname.slice(BASE.length).replace(/(.)\/$/, '$1') || '/'

/** The path is below the mount point, such as `/requests/REQ`. */
function read(by: Move) {
  const path = pathOf(location.pathname)
  const list = listAt(path, stored())
  return { path, at: stored().at, list, query: new URLSearchParams(list?.search ?? location.search), by }
}

/** Present address of the page with the query of its list; each view and each object has a path. */
export const place = signal(read('change'))

/** Number of visits before this place, as its entry of the history has it: Escape goes back only within this page. */
let visits = stored().at

/** Builds a link within the page; escapes each part of the path. A lone surrogate has no escape. */
export function linkTo(parts: readonly string[], query?: Readonly<Record<string, string>>): string {
  const search = new URLSearchParams(query).toString()
  return `${BASE}/${parts.map(escaped).join('/')}${search && `?${search}`}`
}

const escaped = (part: string) => encodeURIComponent(part.replace(/\p{Cs}/gu, '\ufffd'))

/** Opens an address of the page. The list stays beside a detail, and where it was when the detail closes. */
export function visit(href: string): void {
  const { list, path: from } = place.value
  const { pathname, search } = new URL(href, location.href)
  const path = pathOf(pathname)
  const closesDetail = list !== null && from !== list.path && path === list.path && search === list.search
  const keepsList = closesDetail || listOfDetail(path) !== undefined
  history.pushState({ at: ++visits, ...(keepsList && list && { list }) } satisfies Visit, '', href)
  place.value = read('visit')
}

/** Ms after which the detail follows the selection: a held key passes many rows. */
const FOLLOW_MS = 80
const split = matchMedia('(min-width: 1100px)')
let following: ReturnType<typeof setTimeout> | undefined

/** Shows the detail of the row to which the user moved, if a detail is open beside the list. */
export function follow(href: string): void {
  clearTimeout(following)
  following = setTimeout(() => {
    const { list, path } = place.value
    if (!split.matches || list === null || list.path === path || href === location.pathname) return
    history.replaceState({ at: visits, list } satisfies Visit, '', href)
    place.value = read('change')
  }, FOLLOW_MS)
}

/** Replaces the query of the list, so that a reload or a copied address keeps the filters. */
export function setQuery(query: URLSearchParams): void {
  const { path, list } = place.value
  const text = query.toString()
  const search = text && `?${text}`
  const isBeside = list !== null && list.path !== path
  const state: Visit = isBeside ? { at: visits, list: { ...list, search } } : stored()
  history.replaceState(state, '', isBeside ? location.href : location.pathname + search)
  place.value = read('change')
}

/** Sets or removes one filter; a list then begins at its first page. */
export function setFilter(name: string, value: string): void {
  const query = new URLSearchParams(place.value.query)
  query.delete('page')
  if (value === '') query.delete(name)
  else query.set(name, value)
  setQuery(query)
}

/** Value of `aria-current` for the row of a list with a link to the open detail. */
export const currentIf = (href: string): 'true' | undefined => (href === BASE + place.value.path ? 'true' : undefined)

/** Returns to the previous place, or to the stream if the page was opened here. */
export function leave(): void {
  // The step back takes a moment, in which a second one would leave the page.
  if (visits < stored().at) return
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
  addEventListener('popstate', () => {
    visits = stored().at
    place.value = read('back')
  })
  const onClick = (event: MouseEvent) => {
    const link = (event.target as Element).closest?.('a')
    if (!link || event.altKey || event.button > 1 || link.origin !== location.origin || link.target) return
    if (!`${link.pathname}/`.startsWith(`${BASE}/`)) return
    const inTab = event.button === 1 || event.ctrlKey || event.metaKey || event.shiftKey
    if (inTab && !openTab(link.href)) return
    event.preventDefault()
    if (!inTab && link.href !== location.href) visit(link.href)
  }
  addEventListener('click', onClick)
  // The middle button.
  addEventListener('auxclick', onClick)
}
