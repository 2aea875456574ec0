import type { ClientSession } from '../../../secure/client/negotiation.js'
import { isLogicalPath } from '../../../secure/inner-request.js'
import type { SessionKeys } from '../../../secure/key-schedule.js'
import type { BootstrapResponse } from '../../../secure/server/session.js'
import { readPath, withoutQuery, withQuery } from '../../command/call-path.js'
import { downgradeProtection } from '../../command/downgrade-protection.js'
import { findRoute, methods } from '../../command/known-routes.js'
import { type Group, leaf } from '../../command/leaf.js'
import { sendAny } from '../../command/send.js'
import { fromCall } from '../../failures/call-failure.js'
import { usage } from '../../failures/failure.js'
import { choice, pairs, text } from '../../flags/flags.js'
import type { Outcome } from '../../output/outcome.js'
import { plain, wrap } from '../../output/text.js'
import { readJsonBody } from '../api/body.js'
import { pin } from './pin.js'
import type { WalkReport, WalkStep } from './walk.js'

interface SecureReport extends Partial<BootstrapResponse> {
  readonly enabled: boolean
  readonly pin?: string
  /** True if one of the profile's pins matches the server's key; null if the profile has no pins. */
  readonly pinned?: boolean | null
  readonly clockOffsetMs?: number
}

interface Session extends Omit<ClientSession, keyof SessionKeys> {
  readonly expiresInSeconds: number
}

const secureCall = leaf({
  name: 'call',
  summary: 'Make any call through the encrypted transport',
  alsoCalls: { 'secure.dispatch': '' },
  notes: [
    'Always encrypted, whatever --secure says. The credential follows the path; --as names its kind for a path that is not known here. Calls that take an Idempotency-Key get one.',
    'PATH is written as for `voucherctl api`: below /api/v1, with or without it, and with or without a query. Its segments have letters, digits and . _ ~ -',
  ],
  positional: { name: 'METHOD', summary: methods.join(', '), ask: 'Method', choices: methods },
  second: { name: 'PATH', summary: 'Such as /open-platform/vouchers/templates?limit=5', ask: 'Path' },
  flags: {
    body: text('FILE|-', 'JSON of the body'),
    query: pairs('Member of the query'),
    as: choice(['token', 'bot', 'jwt'], 'Kind of the credential'),
  },
  examples: [
    'voucherctl secure call GET /open-platform/vouchers/templates --query limit=5',
    'voucherctl secure call POST /open-platform/vouchers/verify --body verify.json',
  ],
  changes: true,
  idempotent: true,
  run: async (context, { positional, second: typed, flags }): Promise<Outcome<unknown>> => {
    const method = positional.toUpperCase()
    if (!methods.includes(method)) return usage(`METHOD must be one of ${methods.join(', ')}.`)
    const read = readPath(typed)
    if (!read.ok) return read
    const path = withoutQuery(read.path)
    if (!isLogicalPath(path))
      return usage('PATH must be below /api/v1, with segments of letters, digits and . _ ~ - only.')
    const route = await findRoute(method, path)
    const kind = flags.as ?? route?.caller
    if (kind === undefined)
      return usage(`${method} ${path} is not known here.`, 'Say with --as which credential it takes.')
    const body = await readJsonBody(context, flags.body, '--body')
    if (!body.ok) return body
    const full = withQuery(read.path, Object.entries(flags.query ?? {}))
    const call = { method, path: full, body: body.text, kind, route }
    const sent = await sendAny(context, call, 'required')
    if (!sent.ok) return sent
    return sent.result.ok ? { ok: true, data: sent.result.data } : fromCall(sent.result, sent.facts)
  },
})

const LABEL_WIDTH = 26
const INDENT = ' '.repeat(4)

const check = leaf({
  name: 'check',
  summary: 'Walk through the protocol of a server, step by step',
  notes: [
    'Bootstrap, key, clock, session, key derivation, a dispatch, then what a server must refuse (a replay, a changed tag, another origin), and the decryption of the response: each with its time, its bytes, and what was verified. Keys, salt and credentials are left out.',
    'The call inside reads one item with the credential that is there (application token, account JWT, bot token; --as names one). Without one it is sent all the same, and its refusal is what comes back encrypted.',
    'Exit 10 when a step fails, 9 without a response or after 5xx, 7 after 429. Three of the requests are refused on purpose.',
  ],
  flags: { as: choice(['token', 'jwt', 'bot'], 'Credential of the call inside') },
  examples: ['voucherctl secure check', 'voucherctl secure check --base-url https://vouchers.example --json'],
  run: async (context, { flags }): Promise<Outcome<never>> => {
    const { reach } = await import('./server.js')
    const reached = await reach(context)
    if (!reached.ok) return reached
    if (context.dryRun) return context.plan(`walk through the encrypted transport of ${reached.server.baseUrl}`)
    const { walk } = await import('./walk.js')
    const walked = await walk(context, reached.server, flags.as)
    if (!walked.ok) return walked
    const { data, exit } = walked
    const { width } = context.output
    await context.output.print(data, {
      headline: checkHeadline,
      body: ({ steps }) => steps.map((it) => lineOf(it, width)).join('\n'),
    })
    return { ok: true, printed: true, ...(exit === undefined ? {} : { exit }) }
  },
})

const checkHeadline = ({ ok, base_url, steps }: WalkReport) =>
  ok
    ? `${base_url}: all ${steps.length} steps passed.`
    : `${base_url}: ${steps.filter((it) => !it.ok).length} of ${steps.length} steps failed.`

/** Formats a step on one line; on a terminal with a width, on several indented lines. */
function lineOf({ step, ok, ms, request_bytes, response_bytes, result }: WalkStep, width: number | undefined): string {
  const bytes = response_bytes === null ? '' : `${request_bytes ?? 0} bytes out, ${response_bytes} back: `
  const head = `${ok ? '✓' : '✗'} ${step.padEnd(LABEL_WIDTH)} ${ms.toFixed(1).padStart(7)} ms`
  const words = plain(`${bytes}${result}`)
  if (width === undefined) return `${head}  ${words}`
  return [head, ...wrap(words, width - INDENT.length).map((it) => INDENT + it)].join('\n')
}

export const secure: Group = {
  name: 'secure',
  summary: 'The encrypted transport: what a server offers, step by step',
  commands: [
    leaf({
      name: 'bootstrap',
      summary: 'Show what the server says of its encrypted transport',
      alsoCalls: { 'secure.bootstrap': '' },
      notes: ['The key with its pin, and how far the clock of the server is ahead of this one. Needs no credential.'],
      examples: ['voucherctl secure bootstrap --base-url https://vouchers.example'],
      view: {
        headline: ({ enabled }: SecureReport) => `The encrypted transport is switched ${enabled ? 'on' : 'off'}.`,
      },
      run: async (context): Promise<Outcome<SecureReport>> => {
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
      alsoCalls: { 'secure.session': '' },
      notes: [
        'The keys are derived, then discarded: each command opens its own session. Of the salt only its length is shown. --origin binds the session to an origin.',
      ],
      examples: ['voucherctl secure session', 'voucherctl secure session --origin https://shop.example'],
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
