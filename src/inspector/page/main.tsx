import { render } from 'preact'
import type { PageFeatures } from '../features.js'
import { noteSession, send, TOKEN } from './api.js'
import { BASE, startRouter } from './router.js'
import { Shell } from './shell.js'
import { onChange } from './signal.js'
import { features, startClock } from './state.js'
import { followActivity } from './stream.js'

/** Beginning of the fragment of a link. */
const TICKET = '#ticket='

/** Exchanges the ticket of the address for a token, and reads what this page can show; null without a session. */
async function openSession(): Promise<PageFeatures | null> {
  const [, ticket] = location.hash.split(TICKET)
  // Remove the ticket first, so that neither history nor a bookmark keeps it.
  if (ticket !== undefined) {
    history.replaceState(null, '', location.pathname + location.search)
    const exchange = await send(`${BASE}/session`, 'POST', { ticket })
    // The ticket of a link that was opened again is used, but this tab may have the token for it.
    if (exchange.ok) sessionStorage.setItem(TOKEN, ((await exchange.json()) as { token: string }).token)
  }
  const response = await send(`${BASE}/features`)
  noteSession(response)
  return response.ok ? ((await response.json()) as PageFeatures) : null
}

async function start(): Promise<void> {
  features.value = await openSession().catch(() => null)
  const show = () => render(<Shell />, document.getElementById('page') as HTMLElement)
  onChange(show)
  show()
  // A new link in this tab changes only the fragment, for which the browser loads nothing.
  addEventListener('hashchange', () => location.hash.startsWith(TICKET) && location.reload())
  startRouter()
  startClock()
  await followActivity()
}

// Without await: detail.ts imports from this file, so it would load only after the end of the stream.
void start()
