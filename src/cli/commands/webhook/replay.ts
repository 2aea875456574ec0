import { DEFAULT_TOLERANCE_SECONDS } from '../../../webhook/signature.js'
import { updateIdOf } from '../../../workbench/header-pairs.js'
import type { DeliverySummary } from '../../../workbench/inbox.js'
import { InboxWriter } from '../../../workbench/inbox-writer.js'
import { resign, sendReplay } from '../../../workbench/replay.js'
import type { Context } from '../../command/context.js'
import { leaf } from '../../command/leaf.js'
import { type Failure, fail, usage } from '../../failures/failure.js'
import { excluding, list, needing, ofKind, text, toggle, type ValuesOf } from '../../flags/flags.js'
import type { Outcome } from '../../output/outcome.js'
import { changedDelivery } from './changed-delivery.js'
import { sinceFlag, timeOf } from './inbox.js'
import { inboxFailure, inboxFlag, notRecorded, type OpenedInbox, openInbox } from './inbox-dir.js'
import { receiverUrl } from './receiver-url.js'
import { sharedStdin, signingSecrets } from './secrets.js'

const replayFlags = {
  ...inboxFlag,
  id: ofKind('recorded', list('ID', 'This delivery, such as 1-17, or the newest of an update_id')),
  last: toggle('The newest verified delivery'),
  failed: toggle('All that the application has never responded to with 2xx'),
  since: sinceFlag,
  resign: excluding(toggle('Sign again, with the current time'), 'as-recorded'),
  'as-recorded': toggle('Signature and timestamp as they came; the default'),
  set: list('PATH=VALUE', 'Change a member of the update, such as message.text=Hi; signs again unless --as-recorded'),
  'secret-file': needing(
    excluding(text('FILE|-', 'The secret, else VOUCHERCTL_WEBHOOK_SECRET'), 'as-recorded'),
    'resign',
    'set',
  ),
  to: receiverUrl('The application; default: the URL that it was forwarded to'),
}
type ReplayFlags = ValuesOf<typeof replayFlags>

interface ReplayReport {
  readonly id: string
  readonly update_id: number | string | null
  readonly type: string | null
  readonly to: string
  readonly status: number | null
  readonly duration_ms: number
  readonly error: string | null
  readonly fault?: string
}

export const replay = leaf({
  name: 'replay',
  summary: 'Send recorded deliveries to the application again',
  notes: [
    'Body and headers go byte for byte as they were recorded, one delivery after the other, oldest first. An application that verifies refuses timestamps older than 5 minutes: then --resign signs the same bytes again with the current time.',
    '--failed, --last and --since take verified deliveries and no repeats; --id takes any. Without --to, --failed and --since leave out what no application ever got. Responses are recorded, so that a second --failed leaves out what the first one made good.',
    'One line a delivery. Exits with 0 when every response was 2xx, with 9 when one was 5xx or missing, else with 8; with 11 when a line of the inbox is damaged, which is reported and skipped.',
  ],
  flags: replayFlags,
  examples: [
    { command: 'voucherctl webhook replay --failed --resign --secret-file secret.txt', comment: 'What it missed' },
    'voucherctl webhook replay --last --to http://localhost:3000/hook',
    { command: 'voucherctl webhook replay --last --set message.text=Hi', comment: 'With a change, signed again' },
  ],
  changes: true,
  view: {
    headline: ({ id, type, update_id, status, duration_ms, to, error, ...others }: ReplayReport) =>
      [
        id,
        `${type ?? 'unverified'} #${update_id ?? '?'}`,
        status ?? 'no response',
        `${duration_ms} ms`,
        error ?? to,
        ...('fault' in others ? [`fault ${others.fault}`] : []),
      ].join('  '),
  },
  run: async (context, { flags: given }) => {
    const ways = [given.id.length > 0, given.last, given.failed, given.since !== undefined].filter((it) => it)
    if (ways.length !== 1) return usage('Give one of --id, --last, --failed and --since.')
    // A change makes the recorded signature invalid.
    const flags = { ...given, resign: given.resign || (given.set.length > 0 && !given['as-recorded']) }
    const secret = await secretOf(context, flags)
    if (!secret.ok) return secret
    const opened = openInbox(context, flags.inbox)
    if (!opened.ok) return opened
    try {
      const picked = pick(context, flags, opened, secret.value)
      if (!picked.ok) return picked
      const { deliveries, neverForwarded } = picked
      for (const { listed } of deliveries) {
        const stored = flags.set.length === 0 ? undefined : opened.inbox.read(listed.id)
        const changed = stored === undefined ? undefined : changedDelivery(stored, flags.set)
        if (changed?.ok === false) return changed
      }
      if (neverForwarded > 0) {
        context.output.notice(
          `warning: ${neverForwarded} left out that no application ever got; to send them too, give --to URL.`,
        )
      }
      return await replayAll(context, flags, opened, deliveries, secret.value)
    } catch (error) {
      return inboxFailure(error, opened.dir)
    }
  },
})

async function secretOf(
  context: Context,
  flags: ReplayFlags,
): Promise<{ readonly ok: true; readonly value: string } | Failure> {
  const file = flags['secret-file']
  if (!flags.resign) return { ok: true, value: '' }
  const shared = sharedStdin(context, { 'secret-file': file })
  if (shared !== undefined) return shared
  const secrets = await signingSecrets(context, file === undefined ? [] : [file])
  return secrets.ok ? { ok: true, value: secrets.value[0] as string } : secrets
}

interface PickedDelivery {
  readonly listed: DeliverySummary
  readonly to: URL
}

interface ReplaySelection {
  readonly ok: true
  /** Deliveries to replay, oldest first. */
  readonly deliveries: readonly PickedDelivery[]
  /** Number of matching deliveries that were never forwarded, so that no application has failed to process them. */
  readonly neverForwarded: number
}

/** Selects deliveries; fails if a named one, or each one, cannot be sent (rules/workbench.md#replay-of-deliveries). */
function pick(
  context: Context,
  flags: ReplayFlags,
  { inbox, dir }: OpenedInbox,
  secret: string,
): ReplaySelection | Failure {
  const isNamed = flags.id.length > 0
  const filter = { verdicts: ['ok'], failed: flags.failed, since: timeOf(context, flags.since) } as const
  const found = isNamed ? findNamed(flags, { inbox, dir }, secret) : inbox.find(filter, flags.last ? 1 : undefined)
  if ('code' in found) return found
  if (flags.last && found.length === 0) return fail('DELIVERY_NOT_RECORDED', `No verified delivery is in ${dir}.`)
  const deliveries: PickedDelivery[] = []
  const nowhere: string[] = []
  for (const listed of found) {
    const to = flags.to ?? (listed.to === null ? undefined : new URL(listed.to))
    if (to === undefined) nowhere.push(listed.id)
    else deliveries.push({ listed, to })
  }
  if (nowhere.length > 0 && (isNamed || deliveries.length === 0)) {
    const hint = 'Name a URL with --to, which gets all picked deliveries; --id picks single ones.'
    return fail('INPUT_REQUIRED', `${nowhere[0]} was never forwarded: name a URL with --to.`, hint, {
      missing: ['--to'],
    })
  }
  return { ok: true, deliveries, neverForwarded: nowhere.length }
}

function findNamed(
  { id: ids, resign: resigns }: ReplayFlags,
  { inbox, dir }: Pick<OpenedInbox, 'inbox' | 'dir'>,
  secret: string,
): DeliverySummary[] | Failure {
  const found: DeliverySummary[] = []
  for (const id of ids) {
    const listed = inbox.byId(id)
    if (listed === undefined) return notRecorded(id, dir)
    const stored = resigns ? inbox.read(listed.id) : undefined
    if (stored !== undefined && resign(stored, secret, 0) === undefined)
      return fail('INVALID_INPUT', `${listed.id} has no update_id, so it cannot be signed.`)
    found.push(listed)
  }
  return found
}

async function replayAll(
  context: Context,
  flags: ReplayFlags,
  { inbox, dir, exit }: OpenedInbox,
  deliveries: readonly PickedDelivery[],
  secret: string,
): Promise<Outcome<ReplayReport>> {
  const { host, output } = context
  if (context.dryRun) {
    const plans = deliveries.map(({ listed, to }) => context.plan(`send ${listed.id} to ${to.href}`))
    return plans.at(-1) ?? context.plan('send nothing: no delivery is picked')
  }
  if (deliveries.length === 0) output.notice('Nothing to replay.')
  if (!flags.resign && deliveries.some(({ listed }) => isStale(listed, host.now()))) {
    output.notice(
      'warning: some timestamps are older than 5 minutes; an application that verifies refuses them. See --resign.',
    )
  }
  const { Forwarder } = await import('../../../workbench/forwarding.js')
  const forwarder = new Forwarder()
  const writer = new InboxWriter(dir)
  const statuses: (number | null)[] = []
  try {
    for (const { listed, to } of deliveries) {
      if (host.signal.aborted || host.stdout.gone?.aborted) break
      const { id, update_id, type } = listed
      const stored = inbox.read(id)
      const timestamp = Math.floor(host.now() / 1000)
      if (stored === undefined) return notRecorded(id, dir)
      const changed = changedDelivery(stored, flags.set)
      if (!changed.ok) return changed
      const headers = flags.resign ? resign(changed.value, secret, timestamp) : changed.value.headers
      if (headers === undefined) return notRecorded(id, dir)
      const tools = { forwarder, inbox: writer, now: host.now }
      const { response, duration_ms } = await sendReplay(tools, to, id, { headers, body: changed.value.body })
      const { status, failure } = response
      const outcome = { to: to.href, status, duration_ms, error: failure?.message ?? null, ...faultOf(flags, listed) }
      statuses.push(status)
      await output.printLine({ id, update_id: updateIdOf(update_id), type, ...outcome }, replay.view)
    }
  } finally {
    forwarder.close()
    await writer.close()
  }
  return { ok: true, printed: true, exit: exitOf(statuses) || exit }
}

const faultOf = ({ resign }: ReplayFlags, { fault }: DeliverySummary) => (fault && !resign ? { fault } : {})

function exitOf(statuses: readonly (number | null)[]): number {
  if (statuses.some((it) => it === null || it >= 500)) return 9
  return statuses.some((it) => it === null || it < 200 || it > 299) ? 8 : 0
}

/** True if the timestamp was too old when the delivery arrived, or is too old now. */
const isStale = ({ at, reason }: DeliverySummary, now: number) =>
  reason === 'stale' || Math.abs(now - at) > DEFAULT_TOLERANCE_SECONDS * 1000
