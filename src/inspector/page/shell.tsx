import type { VNode } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { NO_RESPONSE, NO_SESSION, sessionEnded } from './api.js'
import { Failed, Heading, Loading } from './components.js'
import { matchPath } from './model/match-path.js'
import { leave, linkTo, place, type ViewProps } from './router.js'
import { signal } from './signal.js'
import { announcement, features } from './state.js'
import { connection } from './stream.js'
import { StreamView } from './stream-view.js'

type ViewComponent = (props: ViewProps) => VNode | null

interface View {
  /**
   * Path below the page's address, such as `/requests/:id`. The page omits the view unless the server lists the first
   * part in `features.views`.
   */
  readonly path: string
  /** Label in the navigation and the title; the view of one object uses its id as title. */
  readonly nav?: string
  /** Loads the view on first use: every view but the first one is a file of its own. */
  readonly load: () => Promise<ViewComponent> | ViewComponent
}

/** All views of the page, in navigation order. */
const views: readonly View[] = [
  { path: '/', nav: 'Stream', load: () => StreamView },
  { path: '/requests/:id', load: () => import('./views/request.js').then((it) => it.RequestView) },
  { path: '/vouchers', nav: 'Vouchers', load: () => import('./views/vouchers.js').then((it) => it.VouchersView) },
  { path: '/vouchers/:id', load: () => import('./views/voucher.js').then((it) => it.VoucherView) },
  {
    path: '/deliveries',
    nav: 'Deliveries',
    load: () => import('./views/deliveries.js').then((it) => it.DeliveriesView),
  },
  { path: '/deliveries/:id', load: () => import('./views/delivery.js').then((it) => it.DeliveryView) },
  { path: '/templates', nav: 'Templates', load: () => import('./views/templates.js').then((it) => it.TemplatesView) },
  { path: '/templates/:id', load: () => import('./views/template.js').then((it) => it.TemplateView) },
  { path: '/bots/:id', load: () => import('./views/bot.js').then((it) => it.BotView) },
  { path: '/chats', nav: 'Chats', load: () => import('./views/chats.js').then((it) => it.ChatsView) },
  { path: '/chats/:id', load: () => import('./views/chat.js').then((it) => it.ChatView) },
  { path: '/reviews', nav: 'Reviews', load: () => import('./views/reviews.js').then((it) => it.ReviewsView) },
  { path: '/clock', nav: 'Clock', load: () => import('./views/clock.js').then((it) => it.ClockView) },
  { path: '/faults', nav: 'Faults', load: () => import('./views/faults.js').then((it) => it.FaultsView) },
]

const keys = [
  ['/', 'Find in the stream'],
  ['j  ↓', 'Next entry'],
  ['k  ↑', 'Previous entry'],
  ['Enter', 'Open the entry'],
  ['Escape', 'Back'],
  ['?', 'These keys'],
] as const

/** Loaded views by path; null for a view whose file could not be loaded. */
const loaded = signal<Readonly<Record<string, ViewComponent | null>>>({ '/': StreamView })

async function load(view: View) {
  const component = await Promise.resolve(view.load()).catch(() => null)
  loaded.value = { ...loaded.value, [view.path]: component }
}

/** True while a dialog is open, which has keys of its own. */
const isAsking = () => document.querySelector('dialog[open]') !== null

export function Shell() {
  const { path, query } = place.value
  const known = features.value
  const offered = views.filter(({ path: it }) => it === '/' || known?.views.some((name) => name === it.split('/')[1]))
  const found = offered.map((it) => ({ it, params: matchPath(it.path, path) })).find(({ params }) => params)
  const view = found?.it
  const View = view && loaded.value[view.path]
  const product = known?.source === 'listener' ? 'voucherctl webhook listen' : 'voucherctl'
  const local = `local · ${product} :${location.port || '80'}`
  const title = found?.params && path !== '/' ? `${local} · ${found.it.nav ?? found.params.id}` : local
  const main = useRef<HTMLElement>(null)
  const dialog = useRef<HTMLDialogElement>(null)
  const first = useRef(true)

  useEffect(() => {
    document.title = title
  }, [title])

  useEffect(() => {
    if (view && !View) void load(view)
  }, [view])

  // Do what a browser does after loading a page: scroll to the top, and let a screen reader read the heading.
  useEffect(() => {
    if (view && !View) return
    if (!first.current) main.current?.querySelector<HTMLElement>('h1')?.focus()
    first.current = false
    main.current?.scrollTo(0, 0)
  }, [path, view, View])

  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isAsking()) return
      const target = event.target as HTMLElement
      const isField = target.matches('input, select, textarea')
      if (event.key === 'Escape') {
        // Escape would clear the search field in Chrome.
        event.preventDefault()
        if (isField) target.blur()
        else leave()
      } else if (isField) return
      else if (event.key === '?') dialog.current?.showModal()
      else if (event.key === '/') {
        event.preventDefault()
        document.getElementById('filter-find')?.focus()
      }
    }
    addEventListener('keydown', onKeyDown)
    return () => removeEventListener('keydown', onKeyDown)
  }, [])

  const section = path.split('/')[1] ?? ''
  const isHere = (to: string) => section === to.slice(1) || (to === '/' && section === 'requests')
  const state = connection.value
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
        <nav aria-label="Views">
          {offered
            .filter((it) => it.nav)
            .map((view) => (
              <a
                href={linkTo(view.path.split('/').filter(Boolean))}
                aria-current={isHere(view.path) ? 'page' : undefined}
              >
                {view.nav}
              </a>
            ))}
        </nav>
        <p class={`connection ${state}`}>{state}</p>
        <button type="button" class="help" aria-label="Keys" onClick={() => dialog.current?.showModal()}>
          ?
        </button>
      </header>
      {sessionEnded.value && (
        <p class="ended" role="alert">
          {NO_SESSION}
        </p>
      )}
      <main id="main" tabindex={-1} ref={main}>
        {found?.params && View ? (
          <View key={path} params={found.params} query={query} />
        ) : view && View === null ? (
          <Failed failure={{ sentence: NO_RESPONSE }} retry={() => load(view)} />
        ) : view ? (
          <Loading />
        ) : (
          <>
            <Heading>Not found</Heading>
            <Failed failure={{ sentence: 'Nothing is at this address.' }} />
          </>
        )}
      </main>
      <p class="toast" role="status">
        {announcement.value}
      </p>
      <dialog ref={dialog} aria-labelledby="keys">
        <h2 id="keys">Keys</h2>
        <dl>
          {keys.map(([key, text]) => (
            <div>
              <dt>
                <code>{key}</code>
              </dt>
              <dd>{text}</dd>
            </div>
          ))}
        </dl>
        <form method="dialog">
          <button>Close</button>
        </form>
      </dialog>
    </>
  )
}
