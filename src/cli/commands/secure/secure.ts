import { downgradeProtection } from '../../command/downgrade-protection.js'
import { type Group, leaf } from '../../command/leaf.js'
import type { Outcome } from '../../output/outcome.js'
import { secureCall } from './call.js'
import { check } from './check.js'
import { pin } from './pin.js'

interface Shown {
  readonly v?: number
  readonly suite?: string
  readonly enabled: boolean
  readonly kid?: string
  readonly serverPublicKey?: string
  readonly serverTime?: number
  readonly pin?: string
  /** Null where the profile has no pins. */
  readonly pinned?: boolean | null
  readonly clockOffsetMs?: number
}

interface Session {
  readonly sid: string
  readonly brand: string
  /** Empty when the session is not bound to one. */
  readonly origin: string
  readonly kid: string
  /** Milliseconds since 1970, by the server's clock. */
  readonly expiresAt: number
  readonly expiresInSeconds: number
  readonly saltBytes: number
}

export const secure: Group = {
  name: 'secure',
  summary: 'The encrypted transport: what a server offers, step by step',
  commands: [
    leaf({
      name: 'bootstrap',
      summary: 'Show what the server says of its encrypted transport',
      notes: ['The key with its pin, and how far the clock of the server is ahead of this one. Needs no credential.'],
      examples: [{ command: 'voucherctl secure bootstrap --base-url https://vouchers.example' }],
      view: { headline: ({ enabled }: Shown) => `The encrypted transport is switched ${enabled ? 'on' : 'off'}.` },
      run: async (context): Promise<Outcome<Shown>> => {
        const { describeServer, failureOf, reach } = await import('./server.js')
        const reached = await reach(context)
        if (!reached.ok) return reached
        if (context.dryRun) return context.plan(`ask ${reached.server.baseUrl} for its bootstrap`)
        const described = await describeServer(reached.server, context.host.now, [])
        if (!described.ok) return failureOf(described)
        if (!('offset' in described)) return { ok: true, data: { enabled: false } }
        const { PROTOCOL_VERSION, SUITE, encodeBase64url } = await import('../../../secure/index.js')
        const { kid, pin: shown, serverPublicKey, serverTime } = described.bootstrap
        const pins = context.settings.secure.pins.value
        return {
          ok: true,
          data: {
            v: PROTOCOL_VERSION,
            suite: SUITE,
            enabled: true,
            kid,
            serverPublicKey: encodeBase64url(serverPublicKey),
            serverTime,
            pin: shown,
            pinned: pins.length === 0 ? null : pins.includes(shown),
            clockOffsetMs: described.offset,
          },
        }
      },
    }),
    leaf({
      name: 'session',
      summary: 'Open a session and show it',
      notes: [
        'The keys are derived and forgotten: each command opens a session of its own. Of the salt only its length is shown. --origin binds the session to an origin.',
      ],
      examples: [
        { command: 'voucherctl secure session' },
        { command: 'voucherctl secure session --origin https://shop.example' },
      ],
      view: {
        headline: (it: Session) => `A session for ${it.expiresInSeconds} s.`,
        members: ['sid', 'brand', 'origin', 'kid', 'expiresAt', 'saltBytes'],
      },
      run: async (context): Promise<Outcome<Session>> => {
        const { failureOf, openSession, reach } = await import('./server.js')
        const reached = await reach(context)
        if (!reached.ok) return reached
        const { server } = reached
        if (context.dryRun) return context.plan(`open a session with ${server.baseUrl}`)
        const { origin, pins } = context.settings.secure
        const opened = await openSession(server, context.host.now, pins.value, origin.value ?? '')
        if (!opened.ok) return failureOf(opened)
        await downgradeProtection(context, server.baseUrl).set()
        const { sid, brand, origin: bound, kid, expiresAt, saltBytes } = opened.session
        const expiresInSeconds = Math.floor((expiresAt - opened.serverNow) / 1000)
        return { ok: true, data: { sid, brand, origin: bound, kid, expiresAt, expiresInSeconds, saltBytes } }
      },
    }),
    secureCall,
    check,
    pin,
  ],
}
