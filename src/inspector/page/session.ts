import type { PageFeatures } from '../features.js'

const ui = '/_platform/ui'

/** What a call returned: data, or the failure code and message to show. */
export type Opened =
  | { readonly ok: true; readonly features: PageFeatures }
  | { readonly ok: false; readonly code: string; readonly message: string }

/** Exchanges the ticket of the address for the cookie, and reads what this page can show. */
export async function openSession(): Promise<Opened> {
  const ticket = new URLSearchParams(location.hash.slice(1)).get('ticket')
  // Remove the ticket first, so that neither history nor a bookmark keeps it.
  if (ticket !== null) {
    history.replaceState(null, '', location.pathname + location.search)
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ ticket })
    const exchanged = await fetch(`${ui}/session`, { method: 'POST', headers, body })
    if (!exchanged.ok) {
      // A reloaded or copied link has a used ticket, but this browser may have its session.
      const opened = await readFeatures()
      return opened.ok ? opened : failureOf(exchanged)
    }
  }
  return readFeatures()
}

async function readFeatures(): Promise<Opened> {
  const response = await fetch(`${ui}/features`)
  return response.ok ? { ok: true, features: (await response.json()) as PageFeatures } : failureOf(response)
}

async function failureOf(response: Response): Promise<Opened> {
  const { code, message } = (await response.json()) as { code: string; message: string }
  return { ok: false, code, message }
}
