import type { VNode } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { NO_RESPONSE, sessionEnded } from './api.js'
import { Attention, tabCounts } from './attention.js'
import { Failed, Heading, Loading } from './components.js'
import { Ended } from './ended.js'
import { FindField } from './find-field.js'
import { Keys, useKeys } from './keys.js'
import { count } from './model/format.js'
import { matchPath } from './model/match-path.js'
import { isAmong, type KeptPlace, keep, Pane, useSteadyRow } from './panes.js'
import { BASE, linkTo, place, type ViewProps } from './router.js'
import { signal } from './signal.js'
import { announcement, features } from './state.js'
import { connection } from './stream.js'
import { StreamView } from './stream-view.js'
import { loadFile, standing } from './trust.js'

type ViewComponent = (props: ViewProps) => VNode | null

interface View {
  /**
   * Path below the page's address, such as `/requests/:id`. The page omits the view unless the server lists the first
   * part in `features.views`.
   */
  readonly path: string
  /** Label in the navigation and the title; the view of one object uses its id as title. */
  readonly nav?: string
  /** True for a view of every server and listener. */
  readonly always?: true
  /** Loads the view on first use: all views but the first are one file. */
  readonly load: () => Promise<ViewComponent> | ViewComponent
}

/** All views of the page, in navigation order. */
const views: readonly View[] = [
  { path: '/', nav: 'Stream', always: true, load: () => StreamView },
  { path: '/requests/:id', load: () => import('./views/log/request.js').then((it) => it.RequestView) },
  {
    path: '/vouchers',
    nav: 'Vouchers',
    load: () => import('./views/voucher/vouchers.js').then((it) => it.VouchersView),
  },
  { path: '/vouchers/:id', load: () => import('./views/voucher/voucher.js').then((it) => it.VoucherView) },
  {
    path: '/deliveries',
    nav: 'Deliveries',
    load: () => import('./views/delivery/deliveries.js').then((it) => it.DeliveriesView),
  },
  { path: '/deliveries/:id', load: () => import('./views/delivery/delivery.js').then((it) => it.DeliveryView) },
  {
    path: '/templates',
    nav: 'Templates',
    load: () => import('./views/voucher/templates.js').then((it) => it.TemplatesView),
  },
  { path: '/templates/:id', load: () => import('./views/voucher/template.js').then((it) => it.TemplateView) },
  { path: '/bots/:id', load: () => import('./views/bot/bot.js').then((it) => it.BotView) },
  { path: '/chats', nav: 'Chats', load: () => import('./views/bot/chats.js').then((it) => it.ChatsView) },
  { path: '/chats/:id', load: () => import('./views/bot/chat.js').then((it) => it.ChatView) },
  { path: '/reviews', nav: 'Reviews', load: () => import('./views/reviews.js').then((it) => it.ReviewsView) },
  { path: '/clock', nav: 'Clock', load: () => import('./views/state/clock.js').then((it) => it.ClockView) },
  { path: '/faults', nav: 'Faults', load: () => import('./views/state/faults.js').then((it) => it.FaultsView) },
  { path: '/errors', nav: 'Errors', load: () => import('./views/log/errors.js').then((it) => it.ErrorsView) },
  { path: '/state', nav: 'State', load: () => import('./views/state/state.js').then((it) => it.StateView) },
  { path: '/reference', nav: 'API', load: () => import('./views/reference.js').then((it) => it.ReferenceView) },
]

/** Loaded views by path; null for a view whose file could not be loaded. */
const loaded = signal<Readonly<Record<string, ViewComponent | null>>>({ '/': StreamView })

/** @param isRetry true after a file could not be loaded: some browsers keep that failure until the page is loaded anew */
async function load(view: View, isRetry = false) {
  const component = await loadFile(view.load)
  if (component === null && isRetry && standing.value === 'own') return location.reload()
  loaded.value = { ...loaded.value, [view.path]: component }
}

/** Text beside the tabs: whether the page shows what happens. */
const stateOf = () => (standing.value === 'stranger' ? 'Stopped' : connection.value)

const offered = () =>
  views.filter(({ path, always }) => always || features.value?.views.some((name) => name === path.split('/')[1]))

function viewAt(path: string) {
  for (const view of offered()) {
    const params = matchPath(view.path, path)
    if (params) return { view, params }
  }
  return undefined
}

export function Shell() {
  const { path, list, at, query, by } = place.value
  const known = features.value
  const found = viewAt(path)
  const View = found && loaded.value[found.view.path]
  const product = known?.source === 'listener' ? 'voucherctl webhook listen' : 'voucherctl'
  const local = `local · ${product} :${location.port || '80'}`
  const title = found && path !== '/' ? `${local} · ${found.view.nav ?? found.params.id}` : local
  const main = useRef<HTMLElement>(null)
  const dialog = useRef<HTMLDialogElement>(null)
  const kept = useRef<readonly KeptPlace[]>([])
  const current: KeptPlace = { at: list?.path === path ? list.at : at, path, isList: list?.path === path }
  const beside = list && !current.isList && viewAt(list.path) ? [{ ...list, isList: true }] : []
  const shown = [...beside, current]
  kept.current = keep(kept.current, shown)

  useEffect(() => {
    document.title = title
  }, [title])

  // Do what a browser does after loading a page: focus the heading for screen readers. A key may move the focus as soon
  // as the view is shown.
  useLayoutEffect(() => {
    const pane = main.current?.querySelector('.current')
    if (found && !View) return
    if (by !== 'change' && !pane?.contains(document.activeElement))
      pane?.querySelector<HTMLElement>('h1')?.focus({ preventScroll: true })
  }, [at, path, View])

  useSteadyRow(main)
  useKeys(main, dialog)

  return (
    <>
      <button class="unseen" onClick={() => main.current?.focus()}>
        Skip to the content
      </button>
      <header>
        <a class="brand" href={linkTo([])}>
          <span class="logo" aria-hidden="true"></span>
          {product}
          <span class="local">local :{location.port || '80'}</span>
        </a>
        <FindField views={offered().filter((it) => it.nav)} />
        <p class={`connection ${stateOf()}`}>{stateOf()}</p>
        <button type="button" class="help" aria-label="Keys" onClick={() => dialog.current?.showModal()}>
          ?
        </button>
      </header>
      <Ended />
      <Attention />
      <div class="body">
        <Views section={(list?.path ?? path).split('/')[1] ?? ''} />
        <main id="main" tabindex={-1} ref={main} class={beside.length > 0 ? 'split' : ''}>
          {/* Without a session there is nothing to show beside the reason. */}
          {sessionEnded.value && !known
            ? null
            : kept.current
                .toSorted((one, other) => one.at - other.at || Number(other.isList) - Number(one.isList))
                .map((it) => (
                  <Pane key={`${it.at} ${it.isList} ${it.path}`} shown={isAmong(it, shown)} isCurrent={it === current}>
                    <Content {...viewAt(it.path)} query={query} list={it === current ? beside[0] : undefined} />
                  </Pane>
                ))}
        </main>
      </div>
      <p class="toast" role="status">
        {announcement.value}
      </p>
      <Keys dialog={dialog} />
    </>
  )
}

/** Links to the views: a side bar, or in a narrow window a menu. */
function Views({ section }: { readonly section: string }) {
  const [open, setOpen] = useState(false)
  const tabs = offered().filter((it) => it.nav)
  const counts = tabCounts()
  const isHere = ({ path }: View) => path === `/${section}`
  // A choice closes the menu, also by a key.
  useEffect(() => setOpen(false), [place.value])
  return (
    <nav
      aria-label="Views"
      class={open ? 'open' : ''}
      onKeyDown={(event) => {
        if (!open || event.key !== 'Escape') return
        event.preventDefault()
        setOpen(false)
      }}
      onFocusOut={({ currentTarget, relatedTarget: next }) => {
        if (next && !currentTarget.contains(next as Node)) setOpen(false)
      }}
    >
      <button type="button" class="menu" aria-expanded={open} onClick={() => setOpen(!open)}>
        ☰ {tabs.find(isHere)?.nav ?? 'Views'}
      </button>
      <ul>
        {tabs.map((view) => (
          <li>
            <a href={BASE + view.path} aria-current={isHere(view) ? 'page' : undefined}>
              {view.nav}
              {counts[view.path] ? <span class="count">{count(counts[view.path] ?? 0)}</span> : null}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  )
}

interface ContentProps {
  readonly view?: View
  readonly params?: ViewProps['params']
  readonly query: URLSearchParams
  /** The list beside a detail. */
  readonly list: KeptPlace | undefined
}

function Content({ view, params = {}, query, list }: ContentProps) {
  const View = view && loaded.value[view.path]
  useEffect(() => {
    if (view && !View) void load(view)
  }, [view])
  if (View)
    return (
      <>
        {list && <Close list={list} />}
        <View params={params} query={query} />
      </>
    )
  if (view && View === null) return <Failed failure={{ sentence: NO_RESPONSE }} retry={() => load(view, true)} />
  if (view) return Loading()
  return (
    <>
      <Heading>Not found</Heading>
      <Failed failure={{ sentence: 'Nothing is at this address.' }} />
    </>
  )
}

/** Link from a detail to its list, as it was. */
const Close = ({ list: { path } }: { readonly list: KeptPlace }) => (
  <a class="close" href={linkTo(path.split('/').filter(Boolean), Object.fromEntries(place.value.query))}>
    ← {viewAt(path)?.view.nav}
  </a>
)
