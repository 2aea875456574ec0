import { type Refusal, refuse } from '../contract/errors.js'
import { fileResponse, jsonResponse, type PageResponse, packageVersion, pageBuild } from './assets.js'
import { PAGE_TOKEN, type PageFeatures } from './features.js'
import { type PageConnection, PageSessions, type SessionStorage } from './page-sessions.js'
import {
  type AllowedOrigin,
  allowedOriginOf,
  type PageMessage,
  refuseHost,
  refuseSite,
  valuesOf,
} from './request-origin.js'

const UI = '/_platform/ui'

interface InspectorOptions {
  readonly random: (size: number) => Uint8Array
  /** System time in ms, even on a server with a test clock. */
  readonly now: () => number
  readonly sessions: SessionStorage
  readonly features: Omit<PageFeatures, 'version' | 'build' | 'base_url' | 'start_command' | 'keeps_sessions'>
  /** Makes the command that starts the same process again, without secrets; absent inside another program. */
  readonly startCommand?: ((port: string) => string) | undefined
}

/** A request that may contain the token of a page. */
export type PageRequest = PageMessage & { readonly socket: PageConnection }

/** The page of one port: access, tickets, sessions and files (rules/operator.md#page). */
export class Inspector {
  readonly #sessions: PageSessions
  readonly #features: Omit<PageFeatures, 'version' | 'build' | 'base_url' | 'start_command'>
  readonly #startCommand: InspectorOptions['startCommand']
  #baseUrl = ''
  #origin: AllowedOrigin | undefined
  #isClosing = false

  constructor({ random, now, sessions, features, startCommand }: InspectorOptions) {
    this.#sessions = new PageSessions(random, now, sessions)
    this.#features = { ...features, keeps_sessions: sessions.file !== undefined }
    this.#startCommand = startCommand
  }

  /** Sets the address when the port is open; until then `refuse` refuses every request. */
  listen(baseUrl: string): void {
    this.#baseUrl = baseUrl
    this.#origin = allowedOriginOf(baseUrl)
    this.#sessions.open(this.#origin.origin)
  }

  /** Stores the sessions for the next start, and gives no more proofs. Call it before the port closes. */
  close(): void {
    this.#isClosing = true
    this.#sessions.save()
  }

  /** Makes a URL that opens the page once. Its secret is in the fragment, which browsers do not send to a server. */
  newLink(): { url: string; expires_at: string } {
    const { secret, expiresAt } = this.#sessions.newTicket()
    return { url: `${this.#baseUrl}${UI}/#ticket=${secret}`, expires_at: new Date(expiresAt).toISOString() }
  }

  /** Refuses a request neither from the page nor from a tool on this machine. For all paths below /_platform. */
  refuse(message: PageMessage): Refusal | undefined {
    if (this.#origin === undefined) return refuse('HOST_NOT_ALLOWED')
    const fromPage = isPagePath(message.url ?? '') || this.usesSession(message)
    return refuseHost(this.#origin, message) ?? refuseSite(this.#origin, message, fromPage)
  }

  /** True for a request with a page token and without another credential. */
  usesSession(message: PageMessage): boolean {
    return valuesOf(message, 'authorization').length === 0 && valuesOf(message, PAGE_TOKEN).length > 0
  }

  /** Refuses a request without a valid page token. Call `refuse` first. */
  refuseSession(request: PageRequest): Refusal<'PAGE_SESSION_REQUIRED'> | undefined {
    const [token, ...others] = valuesOf(request, PAGE_TOKEN)
    const isKnown = token !== undefined && others.length === 0 && this.#sessions.use(token, request.socket)
    // A tab without a session names the command that opens one.
    return isKnown ? undefined : refuse('PAGE_SESSION_REQUIRED', { source: this.#features.source })
  }

  /** Responds to a GET below /_platform/ui. */
  async get(request: PageRequest): Promise<PageResponse | Refusal> {
    const path = pathOf(request.url ?? '').slice(UI.length + 1)
    if (path !== 'features') return (await fileResponse(path)) ?? refuse('ROUTE_NOT_FOUND')
    const [version, build] = [await packageVersion(), await pageBuild()]
    const base_url = this.#baseUrl
    const start_command = this.#startCommand?.(new URL(base_url).port || '80') ?? null
    return this.refuseSession(request) ?? jsonResponse({ ...this.#features, version, build, base_url, start_command })
  }

  /** Responds to POST /_platform/ui/session: exchanges a ticket for a token. */
  startSession(body: unknown): PageResponse | Refusal {
    const { ticket } = (body ?? {}) as { ticket?: unknown }
    const session = typeof ticket === 'string' ? this.#sessions.exchange(ticket) : undefined
    return session === undefined ? refuse('PAGE_SESSION_REQUIRED') : jsonResponse(session)
  }

  /** Responds to POST /_platform/ui/proof: proves to a page, without its token, that this server has its session. */
  async prove(body: unknown): Promise<PageResponse | Refusal> {
    const { session, nonce } = (body ?? {}) as { session?: unknown; nonce?: unknown }
    const isAsked = typeof session === 'string' && typeof nonce === 'string' && /^[\da-f]{32,128}$/.test(nonce)
    const proof = isAsked ? this.#sessions.prove(session, nonce) : undefined
    if (proof === undefined) return refuse('PAGE_SESSION_REQUIRED')
    const build = await pageBuild()
    // With a proof the page would send its token, perhaps to the next program on this port.
    return this.#isClosing ? refuse('SERVICE_UNAVAILABLE') : jsonResponse({ proof, build })
  }
}

/** Path of a target, decoded as the router decodes it: `/%5Fplatform` is `/_platform`. */
export function pathOf(target: string): string {
  const path = target.replace(/^https?:\/\/[^/?#]*/i, '').split(/[?#]/, 1)[0] as string
  try {
    return decodeURI(path)
  } catch {
    return path
  }
}

/** True for the page and the operator API. */
export const isPlatformPath = (target: string): boolean => /^\/_platform(?:\/|$)/.test(pathOf(target))

/** True for the routes of the page itself. */
export const isPagePath = (target: string): boolean => /^\/_platform\/ui(?:\/|$)/.test(pathOf(target))
