import type { VNode } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { NO_RESPONSE, sessionEnded } from './api.js'
import { Failed, Heading, Loading } from './components.js'
import { Ended } from './ended.js'
import { FindField } from './find-field.js'
import { Keys, useKeys } from './keys.js'
import { matchPath } from './model/match-path.js'
import { linkTo, place, type ViewProps } from './router.js'
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
  /** Loads the view on first use: every view but the first is its own file. */
  readonly load: () => Promise<ViewComponent> | ViewComponent
}

/** All views of the page, in navigation order. */
const views: readonly View[] = [
  { path: '/', nav: 'Stream', always: true, load: () => StreamView },
  { path: '/find', always: true, load: () => import('./views/log/find.js').then((it) => it.FindView) },
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

export function Shell() {
  const { path, query } = place.value
  const known = features.value
  const offered = views.filter(
    ({ path: it, always }) => always || known?.views.some((name) => name === it.split('/')[1]),
  )
  const found = offered.map((it) => ({ it, params: matchPath(it.path, path) })).find(({ params }) => params)
  const view = found?.it
  const View = view && loaded.value[view.path]
  const product = known?.source === 'listener' ? 'voucherctl webhook listen' : 'voucherctl'
  const local = `local · ${product} :${location.port || '80'}`
  const title = found?.params && path !== '/' ? `${local} · ${found.it.nav ?? found.params.id ?? 'Find'}` : local
  const main = useRef<HTMLElement>(null)
  const dialog = useRef<HTMLDialogElement>(null)
  const first = useRef(true)

  useEffect(() => {
    document.title = title
  }, [title])

  useEffect(() => {
    if (view && !View) void load(view)
  }, [view])

  // Do what a browser does after loading a page: scroll to the top, and focus the heading for screen readers. A key may
  // move the focus as soon as the view is shown.
  useLayoutEffect(() => {
    if (view && !View) return
    if (!first.current) main.current?.querySelector<HTMLElement>('h1')?.focus()
    first.current = false
    main.current?.scrollTo(0, 0)
  }, [path, view, View])

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
        <Tabs views={offered.filter((it) => it.nav)} section={path.split('/')[1] ?? ''} />
        <FindField />
        <p class={`connection ${stateOf()}`}>{stateOf()}</p>
        <button type="button" class="help" aria-label="Keys" onClick={() => dialog.current?.showModal()}>
          ?
        </button>
      </header>
      <Ended />
      <main id="main" tabindex={-1} ref={main}>
        {/* Without a session there is nothing to show beside the reason. */}
        {sessionEnded.value && !known ? null : (
          <Content view={view} key={path} params={found?.params ?? {}} query={query} />
        )}
      </main>
      <p class="toast" role="status">
        {announcement.value}
      </p>
      <Keys dialog={dialog} />
    </>
  )
}

function Tabs({ views, section }: { readonly views: readonly View[]; readonly section: string }) {
  const nav = useRef<HTMLElement>(null)
  const isHere = (to: string) => section === to.slice(1) || (to === '/' && section === 'requests')
  // A narrow screen shows only some of the tabs.
  useEffect(() => {
    const show = () =>
      nav.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' })
    show()
    addEventListener('resize', show)
    return () => removeEventListener('resize', show)
  }, [section, views.length])
  return (
    <nav aria-label="Views" ref={nav}>
      {views.map((view) => (
        <a href={linkTo(view.path.split('/').filter(Boolean))} aria-current={isHere(view.path) ? 'page' : undefined}>
          {view.nav}
        </a>
      ))}
    </nav>
  )
}

function Content({ view, params, query }: ViewProps & { readonly view: View | undefined }) {
  const View = view && loaded.value[view.path]
  if (View) return <View params={params} query={query} />
  if (view && View === null) return <Failed failure={{ sentence: NO_RESPONSE }} retry={() => load(view, true)} />
  if (view) return Loading()
  return (
    <>
      <Heading>Not found</Heading>
      <Failed failure={{ sentence: 'Nothing is at this address.' }} />
    </>
  )
}
