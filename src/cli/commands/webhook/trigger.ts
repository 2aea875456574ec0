import { updateTypes } from '../../../contract/updates.js'
import { didYouMean } from '../../../values/closest.js'
import { readUpdate } from '../../../webhook/signature.js'
import {
  type FaultName,
  faultRules,
  faults,
  sendOrder,
  signWithFault,
  type UnsignedUpdate,
  updatesNeeded,
} from '../../../workbench/faults.js'
import { isInvalidResponse } from '../../../workbench/final-response.js'
import { updateIdOf } from '../../../workbench/header-pairs.js'
import { isDelivered, POST_TIMEOUT_MS, type PostResult, post } from '../../../workbench/post.js'
import { type Override, syntheticUpdate } from '../../../workbench/synthetic.js'
import type { Context } from '../../command/context.js'
import { leaf } from '../../command/leaf.js'
import { type Failure, fail, usage } from '../../failures/failure.js'
import { at, choice, excluding, integer, list, text } from '../../flags/flags.js'
import { readBytes } from '../../host/files.js'
import type { Outcome } from '../../output/outcome.js'
import { askFor } from '../../prompts/prompts.js'
import { required } from '../../prompts/required.js'
import {
  makeUpdate,
  makeUpdates,
  type RequestedUpdate,
  refuseUpdate,
  type UpdateRequest,
} from '../../server/make-updates.js'
import { overridesOf } from './changed-delivery.js'
import { receiverUrl } from './receiver-url.js'
import { sharedStdin, signingSecrets } from './secrets.js'
import { secondsOf } from './sign.js'

/** URL of `webhook listen` with its default port. */
const DEFAULT_URL = 'http://127.0.0.1:8787'

/** A sent delivery and the receiver's response. */
interface SentDelivery {
  readonly time: string
  readonly update_id: number | string | null
  readonly type: string | null
  readonly fault: FaultName | null
  readonly status: number | null
  readonly error: string | null
  readonly duration_ms: number
  /** True if the receiver responded as a correct receiver must. */
  readonly as_expected: boolean
}

export const trigger = leaf({
  name: 'trigger',
  summary: 'Send a made-up update to a receiver, also with a mistake on purpose',
  notes: [
    `TYPE is one of ${updateTypes.join(', ')}. --set message.text=Hi replaces a member by its path; --set update_id=N names the first id.`,
    `Exit code 0 if the receiver took all (2xx), 8 if it refused one (3xx, 4xx), 9 if it failed (5xx) or did not respond. With --fault 0 if it refused (4xx) ${namesOf('refused')}, or took (2xx) ${namesOf('accepted')}; otherwise 1.`,
    'With --bot the server makes and delivers message, friend_request, inline_query or ping.',
  ],
  table: { title: 'Faults', rows: faults.map((it) => [it, faultRules[it].does] as const) },
  positional: { name: 'TYPE', summary: 'Type of the update', choices: updateTypes },
  flags: {
    url: receiverUrl(`URL of the receiver, default ${DEFAULT_URL}`),
    'secret-file': text('FILE|-', 'Secret, default VOUCHERCTL_WEBHOOK_SECRET'),
    set: list('PATH=VALUE', 'Replace a member'),
    'body-file': excluding(text('FILE|-', 'File with the body, in place of TYPE'), 'set'),
    fault: { ...choice(faults, 'A mistake on purpose, one of those below'), value: 'NAME' },
    count: integer('N', 'Number of updates, default 1', 1, 10_000),
    bot: excluding(
      at('botId', text('ID', 'Let the chosen server make it for this bot')),
      'url',
      'secret-file',
      'fault',
      'body-file',
    ),
  },
  examples: [
    'voucherctl webhook trigger message --secret-file key.txt --set message.text=Hi',
    {
      command: 'voucherctl webhook trigger ping --secret-file key.txt --fault bad-signature',
      comment: 'Exit code 1 if the receiver takes it',
    },
    'voucherctl webhook trigger message --bot bot_01JC…',
  ],
  changes: true,
  view: { headline: (it: unknown) => lineOf({ ...(it as SentDelivery | RequestedUpdate) }) },
  run: async (context, { positional, flags }): Promise<Outcome<unknown>> => {
    const { 'body-file': bodyFile, 'secret-file': secretFile, set, fault, bot } = flags
    const named = await nameOfType(context, positional, bodyFile !== undefined)
    if (!named.ok) return named
    const type = updateTypes.find((name) => name === named.value)
    if (named.value !== undefined && type === undefined) return refuseType(named.value)
    if (bodyFile !== undefined && type !== undefined) {
      return usage('--body-file is sent as it is: give it without TYPE.')
    }
    const overrides = overridesOf(type, set)
    if (!overrides.ok) return overrides
    const count = Math.max(flags.count ?? 1, updatesNeeded(fault))
    if (bot !== undefined && type !== undefined) {
      return requestUpdates(context, { botId: bot, type, overrides: overrides.value }, count)
    }
    const shared = sharedStdin(context, { 'body-file': bodyFile, 'secret-file': secretFile })
    if (shared !== undefined) return shared
    const url = flags.url ?? new URL(DEFAULT_URL)
    const updates =
      type === undefined
        ? await recorded(context, bodyFile as string, count)
        : { ok: true as const, value: synthetic(context, type, overrides.value, count) }
    if (!updates.ok) return updates
    const secrets = await signingSecrets(context, secretFile === undefined ? [] : [secretFile])
    if (!secrets.ok) return secrets
    const order = sendOrder(updates.value, fault)
    if (context.dryRun)
      return context.plan(`POST ${url.href}: ${describe(order)}${fault === undefined ? '' : `; ${fault}`}`)
    const [secret] = secrets.value as [string]
    return { ok: true, lines: send(context, { url, order, secret, fault, type: type ?? null }) }
  },
})

/** Lets the server make the updates. */
const requestUpdates = async (context: Context, request: UpdateRequest, count: number): Promise<Outcome<unknown>> =>
  refuseUpdate(request) ??
  (context.dryRun ? makeUpdate(context, request) : { ok: true, lines: makeUpdates(context, request, count) })

function refuseType(name: string): Failure {
  return usage(`Unknown update type ${name}.`, didYouMean(name, updateTypes, `It is one of ${updateTypes.join(', ')}.`))
}

const describe = (order: readonly UnsignedUpdate[]) =>
  `${order.map(({ updateId, body }) => `update ${updateId} of ${body.length} bytes`).join(', ')}, signed`

/** Returns the update type; asks for it if the flags name neither a type nor a body. */
async function nameOfType(
  context: Context,
  positional: string | undefined,
  hasBody: boolean,
): Promise<{ readonly ok: true; readonly value: string | undefined } | Failure> {
  if (positional !== undefined || hasBody) return { ok: true, value: positional }
  const missing = () => required(['TYPE'], ['TYPE or --body-file'])
  const question = { message: 'Type of the update', slot: 0, kind: 'choices', choices: updateTypes } as const
  const asked = await askFor(context, question, missing)
  return asked.ok ? { ok: true, value: asked.value[0] } : asked
}

function namesOf(right: 'refused' | 'accepted'): string {
  return faults.filter((it) => faultRules[it].right === right).join(', ')
}

function synthetic(
  { host }: Context,
  type: (typeof updateTypes)[number],
  overrides: readonly Override[],
  count: number,
): UnsignedUpdate[] {
  const now = host.now()
  const first = overrides.find(({ path }) => path === 'update_id')?.value
  const others = overrides.filter(({ path }) => path !== 'update_id')
  return Array.from({ length: count }, (_, index) => {
    const updateId = (typeof first === 'number' ? first : now) + index
    const update = syntheticUpdate(type, { updateId, now, overrides: others })
    return { updateId: String(updateId), body: Buffer.from(JSON.stringify(update)) }
  })
}

async function recorded(
  { host }: Context,
  file: string,
  count: number,
): Promise<{ ok: true; value: UnsignedUpdate[] } | Failure> {
  const read = await readBytes(host, file)
  if (!read.ok) return read
  const update = readUpdate(read.bytes)
  if (!update.ok) return fail('INVALID_INPUT', 'The body is not a JSON object with an integer update_id.')
  return { ok: true, value: Array.from({ length: count }, () => ({ updateId: update.updateId, body: read.bytes })) }
}

interface SendOptions {
  readonly url: URL
  readonly order: readonly UnsignedUpdate[]
  readonly secret: string
  readonly fault: FaultName | undefined
  readonly type: string | null
}

async function* send(
  context: Context,
  { url, order, secret, fault, type }: SendOptions,
): AsyncGenerator<SentDelivery, Failure | undefined> {
  let worst: Failure | undefined
  for (const update of order) {
    if (context.host.signal.aborted) return fail('ABORTED', 'Interrupted.')
    const { headers, body, paceMs } = signWithFault(update, { secret, timestamp: secondsOf(context) }, fault)
    const time = new Date(context.host.now()).toISOString()
    const result = await post({ url, headers, body, paceMs })
    const failure = failureOf(result, fault, url)
    const { status, error, durationMs } = result
    yield {
      time,
      update_id: updateIdOf(update.updateId),
      type,
      fault: fault ?? null,
      status,
      error,
      duration_ms: durationMs,
      as_expected: failure === undefined,
    }
    // The receiver is unreachable: do not send the remaining deliveries.
    if (failure?.code === 'NETWORK_ERROR') return failure
    worst ??= failure
  }
  return worst
}

function failureOf(result: PostResult, fault: FaultName | undefined, { host }: URL): Failure | undefined {
  const { status, error } = result
  if (status === null) {
    if (error !== null && isInvalidResponse(error)) {
      return fail('RECEIVER_FAILED', `${host} failed: it sent no valid HTTP response (${error}).`)
    }
    if (error === 'TIMEOUT') return fail('TIMEOUT', `${host} did not respond within ${POST_TIMEOUT_MS / 1000} s.`)
    return fail(
      'NETWORK_ERROR',
      `${host} did not respond (${error}).`,
      'Start the receiver, or name it with --url URL.',
    )
  }
  const isRefused = status >= 400 && status < 500
  if (fault === undefined) {
    if (isDelivered(result)) return undefined
    return status >= 500
      ? fail('RECEIVER_FAILED', `${host} failed: it responded with ${status}.`)
      : fail('RECEIVER_REFUSED', `${host} refused the delivery: it responded with ${status}.`, refusedHint(status))
  }
  const { right, because } = faultRules[fault]
  if (right === 'refused' ? isRefused : isDelivered(result)) return undefined
  const wanted = right === 'refused' ? 'must be refused with 4xx' : 'must be taken with 2xx'
  return fail('RECEIVER_WRONG', `${host} responded with ${status} to ${fault}, which ${wanted}: ${because}.`)
}

const refusedHint = (status: number) =>
  status === 401 || status === 403 ? 'Both sides need the same secret: `voucherctl webhook verify --help`.' : null

function lineOf(sent: SentDelivery | RequestedUpdate): string {
  if ('bot_id' in sent)
    return `${sent.time}  ${sent.type}  ${sent.update_id === null ? '' : `#${sent.update_id}  `}made for ${sent.bot_id}`
  const response = sent.status === null ? `no response (${sent.error})` : String(sent.status)
  const verdict = sent.fault === null ? '' : `  ${sent.fault}: ${sent.as_expected ? 'as expected' : 'NOT as expected'}`
  return `${sent.time}  #${sent.update_id}  ${sent.type ?? '-'}  ${response}  ${sent.duration_ms} ms${verdict}`
}
