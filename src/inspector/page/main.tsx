import { render } from 'preact'
import type { PageFeatures } from '../features.js'
import { isSessionEnd } from './api.js'
import { startRouter } from './router.js'
import { Shell } from './shell.js'
import { onChange } from './signal.js'
import { features, startClock } from './state.js'
import { followActivity } from './stream.js'

const ui = '/_platform/ui'

/** Exchanges the ticket of the address for the cookie, and reads what this page can show; null without a session. */
async function openSession(): Promise<PageFeatures | null> {
  const ticket = new URLSearchParams(location.hash.slice(1)).get('ticket')
  // Remove the ticket first, so that neither history nor a bookmark keeps it.
  if (ticket !== null) {
    history.replaceState(null, '', location.pathname + location.search)
    const headers = { 'content-type': 'application/json' }
    // A reloaded or copied link has a used ticket, but this browser may have its session.
    await fetch(`${ui}/session`, { method: 'POST', headers, body: JSON.stringify({ ticket }) })
  }
  const response = await fetch(`${ui}/features`)
  return response.ok ? ((await response.json()) as PageFeatures) : null
}

features.value = await openSession().catch(() => null)
if (features.value === null) isSessionEnd(401)

const show = () => render(<Shell />, document.getElementById('page') as HTMLElement)
onChange(show)
show()
// A new link in this tab changes only the fragment, for which the browser loads nothing.
addEventListener('hashchange', () => location.hash.startsWith('#ticket=') && location.reload())
startRouter()
startClock()
await followActivity()
