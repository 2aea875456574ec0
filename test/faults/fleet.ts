import { setTimeout as wait } from 'node:timers/promises'
import { securely } from '../support/secure/send.js'
import type { ApiResponse, Send, WireRequest } from '../support/server/client.js'
import type { Tenant } from '../support/server/tenant.js'
import { type Server, tenantAt } from './server.js'
import type { Sometimes } from './sometimes.js'

export type Place = 0 | 1

const CALLS_PER_SECOND = 200
/** Maximum ms until a response on a quiet machine; long polls are exempt. */
const RESPONSE_MS_MAX = 8_000
const AGAIN_MS = 50

/** Two servers on one database, and calls that clients repeat until they succeed. */
export class Fleet {
  /** Number of successful calls of each server. */
  readonly served: [number, number] = [0, 0]
  /** Durations of the 503 responses in ms. */
  readonly refusedMs: number[] = []
  readonly wrong: string[] = []
  slowestMs = 0
  calls = 0
  /** Ends the repeats of all calls. */
  isOver = false
  #nextAt = 0

  constructor(
    readonly servers: readonly [Server, Server],
    readonly sometimes: Sometimes,
    readonly patience: number,
  ) {}

  /** Sends calls to a server, at most CALLS_PER_SECOND in total, and checks duration and form of each response. */
  once(place: Place): Send {
    return async (request) => {
      const dueAt = Math.max(performance.now(), this.#nextAt)
      this.#nextAt = dueAt + 1_000 / CALLS_PER_SECOND
      await wait(dueAt - performance.now())
      const sentAt = performance.now()
      const response = await this.servers[place].send(request)
      this.#check(place, request, response, performance.now() - sentAt)
      return response
    }
  }

  /** Repeats a call with its idempotency key until it succeeds or is refused for good, sometimes at the other server. */
  patient(place: Place, sendAt = (at: Place) => this.once(at)): Send {
    const sends = [sendAt(0), sendAt(1)] as const
    return async (request) => {
      for (let tries = 0; ; tries++) {
        const at = tries % 4 === 3 ? other(place) : place
        const response = await sends[at](request).catch(() => null)
        if (response === null) this.sometimes.note('a call got no response')
        else if (response.status !== 503 && response.code !== 'IDEMPOTENCY_KEY_IN_PROGRESS') return response
        if (this.isOver) throw new Error('the campaign is over')
        await wait(AGAIN_MS)
      }
    }
  }

  /** Like patient(), in encrypted sessions that the client opens again when the servers have lost them. */
  encrypted(place: Place): Send {
    const sessionAt = (at: Place) => {
      const opened = (request: WireRequest) => {
        if (request.path.endsWith('/session')) this.sometimes.note('an encrypted session was opened')
        return this.once(at)(request)
      }
      return securely(opened, { now: Date.now })
    }
    return this.patient(place, sessionAt)
  }

  at(place: Place, tenant: Tenant, send = this.patient(place)): Tenant {
    return tenantAt({ send, operatorKey: this.servers[place].operatorKey }, tenant)
  }

  #check(place: Place, { path }: WireRequest, response: ApiResponse, ms: number): void {
    const isPoll = path.endsWith('/getUpdates')
    this.calls += 1
    if (!isPoll) this.slowestMs = Math.max(this.slowestMs, ms)
    if (!isPoll && ms > RESPONSE_MS_MAX * this.patience)
      this.wrong.push(`${path} responded ${response.status} after ${Math.round(ms)} ms`)
    if (response.status < 300) this.served[place] += 1
    if (response.status < 500) return
    this.refusedMs.push(ms)
    if (response.status === 503)
      this.sometimes.note(`the ${place === 0 ? 'first' : 'second'} server refused a call with 503`)
    if (response.code !== 'SERVICE_UNAVAILABLE' || response.headers['retry-after'] === undefined) {
      this.wrong.push(`during the failover: ${path} ${response.status} ${response.text}`)
    }
  }
}

export const other = (place: Place): Place => (place === 0 ? 1 : 0)
