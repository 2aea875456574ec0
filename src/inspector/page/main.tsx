import { render } from 'preact'
import type { PageFeatures } from '../features.js'
import { send } from './api.js'
import { BASE, startRouter } from './router.js'
import { Shell } from './shell.js'
import { onChange } from './signal.js'
import { features, readFeatures, startClock } from './state.js'
import { followActivity } from './stream.js'
import { openTab, storeSession } from './trust.js'

/** Start of a link's fragment. */
const TICKET = '#ticket='

/** Exchanges the ticket in the address for a token, then reads the features of the page; null without a session. */
async function openSession(): Promise<PageFeatures | null> {
  const [, ticket] = location.hash.split(TICKET)
  // Remove the ticket first, so that neither history nor bookmarks keep it.
  if (ticket !== undefined) {
    history.replaceState(null, '', location.pathname + location.search)
    const exchange = await send(`${BASE}/session`, 'POST', { ticket })
    // The ticket of a reopened link is already used, but this tab may still have its token.
    if (exchange.ok) storeSession((await exchange.json()) as { token: string; proof_key: string })
  }
  return readFeatures()
}

async function start(): Promise<void> {
  features.value = await openSession().catch(() => null)
  const show = () => render(<Shell />, document.getElementById('page') as HTMLElement)
  onChange(show)
  show()
  // A new link in the same tab changes only the fragment, after which the browser does not reload.
  addEventListener('hashchange', () => location.hash.startsWith(TICKET) && location.reload())
  startRouter(openTab)
  startClock()
  await followActivity()
}

// No await: files of views import from this one, and would otherwise load only after the end of the stream.
void start()
