import type { PAGE_TOKEN } from '../features.js'
import { hexOf } from './model/format.js'
import { BASE } from './router.js'
import { signal } from './signal.js'

/** Name of the token in requests and in the tab's session storage (rules/operator.md#page). */
export const TOKEN: typeof PAGE_TOKEN = 'page-token'
/** Name in the session storage of the key with which a server proves that it is the server of this tab. */
const PROOF_KEY = 'page-proof-key'

const FIRST_WAIT = 250
const LONGEST_WAIT = 5000
/** Ms without a response after which the tab says so: a restart takes less. */
const GONE_MS = 3000

/**
 * What this tab knows of the server at its address: the tab's own server, no response, or a server that cannot prove to
 * be its own. Until a server proves it, the tab sends no token and loads no script: another program may have the port.
 */
export const standing = signal<'own' | 'silent' | 'stranger'>('own')

/** Time of the browser in ms since which no server responds; null during a short restart. */
export const goneSince = signal<number | null>(null)

/** Number of proofs; after each, views read their data again. */
export const proofs = signal(0)

/** Stores what the server gave for the ticket of a link. */
export function storeSession({ token, proof_key }: { readonly token: string; readonly proof_key: string }): void {
  sessionStorage.setItem(TOKEN, token)
  sessionStorage.setItem(PROOF_KEY, proof_key)
}

/**
 * Opens a new tab with a copy of this tab's session: the browser copies the storage of a tab that opens another one.
 * Without its own server, the tab gives its session to nobody, and returns false.
 */
export function openTab(href: string): boolean {
  if (standing.value !== 'own') return false
  const tab = open(href)
  // The new tab needs no way back into this one.
  if (tab) tab.opener = null
  return true
}

let proving: Promise<void> | undefined

/** Resolves when the tab may send its token. */
export const trusted = (): Promise<void> => proving ?? Promise.resolve()

/** Loads a file of the page as soon as the server is known to be the tab's own; null if the file does not load. */
export const loadFile = <File>(load: () => File | Promise<File>): Promise<File | null> =>
  trusted()
    .then(load)
    .catch(() => null)

let build: string | undefined

/** Stores the checksum of the files from which this tab loads. */
export function noteBuild(of: string): void {
  build ??= of
}

/** Stops the tab after a lost connection, until the server proves to be its own. */
export function distrust(): Promise<void> {
  proving ??= awaitProof().finally(() => {
    proving = undefined
    proofs.value++
  })
  return proving
}

async function awaitProof(): Promise<void> {
  standing.value = 'silent'
  const since = Date.now()
  for (let wait = FIRST_WAIT; ; wait = Math.min(LONGEST_WAIT, wait * 2)) {
    const proved = await prove().catch(() => 'silent' as const)
    standing.value = typeof proved === 'string' ? proved : 'own'
    goneSince.value = proved === 'silent' && Date.now() - since > GONE_MS ? since : null
    if (typeof proved === 'string') await new Promise((resolve) => setTimeout(resolve, wait))
    // The server proved itself, so its files may be loaded: views of another build would not fit these.
    else if (build !== undefined && proved.build !== build) location.reload()
    else return
  }
}

/** Asks the server for a proof without sending the token. */
async function prove(): Promise<{ readonly build: string } | 'silent' | 'stranger'> {
  const nonce = hexOf(crypto.getRandomValues(new Uint8Array(32)))
  const session = hexOf(
    new Uint8Array(await crypto.subtle.digest('SHA-256', bytesOf(sessionStorage.getItem(TOKEN) ?? ''))),
  )
  const body = JSON.stringify({ session, nonce })
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(`${BASE}/proof`, { method: 'POST', headers, body })
  // A server that stops gives no proof: its successor on the port may be another program.
  if (response.status === 503) return 'silent'
  const { proof, build } = (await response.json().catch(() => ({}))) as { proof?: unknown; build?: unknown }
  const key = fromHex(sessionStorage.getItem(PROOF_KEY) ?? '')
  if (key.length === 0 || typeof proof !== 'string' || typeof build !== 'string') return 'stranger'
  const hmac = await crypto.subtle.importKey('raw', key, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify'])
  // The origin is part of it: a program on this port cannot pass on the proof of a server on another port.
  const isOwn = await crypto.subtle.verify('HMAC', hmac, fromHex(proof), bytesOf(`${location.origin} ${nonce}`))
  return isOwn ? { build } : 'stranger'
}

const bytesOf = (text: string) => new TextEncoder().encode(text)

const fromHex = (hex: string) => Uint8Array.from(hex.match(/[\da-f]{2}/g) ?? [], (it) => Number.parseInt(it, 16))
