import { appendFile, chmod } from 'node:fs/promises'
import { bots } from '../../../contract/bots.js'
import { isLoopbackHost } from '../../../contract/values/loopback.js'
import { codeOf } from '../../../files/error-code.js'
import { refuseForeignFile } from '../../../files/replace-file.js'
import { signWebhook } from '../../../webhook/signature.js'
import {
  type BridgeLine,
  type BridgeOptions,
  type ConnectionLine,
  FAST_DELAYS_MS,
  PLATFORM_DELAYS_MS,
  bridge as run,
} from '../../../workbench/bridge.js'
import type { PollOutcome } from '../../../workbench/polling.js'
import { post } from '../../../workbench/post.js'
import type { Context } from '../../command/context.js'
import { leaf } from '../../command/leaf.js'
import { type Failure, fail, usage } from '../../failures/failure.js'
import { integer, needing, required, text, toggle } from '../../flags/flags.js'
import type { Outcome } from '../../output/outcome.js'
import { inWords, longestHold, polledOf, polls } from '../bots/polling.js'
import { receiverUrl } from './receiver-url.js'
import { sharedStdin, signingSecrets } from './secrets.js'
import { secondsOf } from './sign.js'

export const bridge = leaf({
  name: 'bridge',
  summary: 'Poll the updates of a bot and post them, signed, to an app on this machine',
  notes: [
    'Works against any base URL and needs no public URL: the updates are polled with the bot token, signed here with the secret that the app knows, and posted with the three headers of the platform. Only to this machine, unless --allow-remote.',
    'One at a time, in order. An update is confirmed once the app responded with 2xx; whatever ends the bridge, the others come again, some perhaps twice: tell repeats by X-Platform-Update-Id. An app has 15 s to respond.',
    'A failed delivery is retried after 1, 5, 15 and 60 minutes, then each hour without an end, and the updates behind it wait; --retry-fast begins with 100 ms and doubles up to 10 s. After --max-attempts it goes into the file of --dead-letter, one JSON object a line, and the next one follows.',
    'A bot with a webhook cannot poll: exit code 6. Nothing is deleted for you: voucherctl webhook delete BOT_ID. Another poller of the same bot ends the bridge with 6 too.',
    'A lost connection to the server is retried for about a minute, then exit code 9; with --retries 0 immediately. The lines say disconnected and reconnected. Ctrl-C finishes the delivery in flight and confirms what was delivered.',
  ],
  flags: {
    'forward-to': required(receiverUrl('Where the app takes its updates'), 'URL of the app'),
    'secret-file': text('FILE|-', 'The secret that signs, else VOUCHERCTL_WEBHOOK_SECRET'),
    'retry-fast': toggle('Retry after 100 ms, 200 ms and so on, at most 10 s'),
    'max-attempts': needing(
      integer('N', 'Attempts before an update becomes a dead letter', 1, 1_000_000),
      'dead-letter',
    ),
    'dead-letter': needing(text('FILE', 'Where dead letters are appended to'), 'max-attempts'),
    'allow-remote': toggle('Allow an app on another machine'),
  },
  examples: [
    'voucherctl webhook bridge --forward-to http://127.0.0.1:3000/hook --secret-file secret.txt',
    {
      command:
        'voucherctl webhook bridge --forward-to http://127.0.0.1:3000/hook --retry-fast --max-attempts 5 --dead-letter dead.ndjson --json',
      comment: 'One JSON object for each attempt',
    },
  ],
  view: { headline: (it: unknown) => lineOf(it as BridgeLine | ConnectionLine) },
  run: async (context, { flags }): Promise<Outcome<unknown>> => {
    const { 'secret-file': secretFile, 'max-attempts': attemptsMax, 'dead-letter': deadLetter } = flags
    const url = flags['forward-to']
    if (!flags['allow-remote'] && !isLoopbackHost(url.hostname)) {
      return usage(`${url.host} is not this machine.`, 'Updates hold what people wrote; allow it with --allow-remote.')
    }
    const shared = sharedStdin(context, { 'secret-file': secretFile })
    if (shared !== undefined) return shared
    const secrets = await signingSecrets(context, secretFile === undefined ? [] : [secretFile])
    if (!secrets.ok) return secrets
    if (context.dryRun) return context.call(bots.updates, { timeout: 0 })
    // Create the dead letter file at the start, so that an unwritable path is an error before it is needed.
    const unwritable = await append(deadLetter, '')
    if (unwritable !== undefined) return unwritable
    const options = bridgeOptions(context, { url, secrets: secrets.value, deadLetter })
    const delaysMs = flags['retry-fast'] ? FAST_DELAYS_MS : PLATFORM_DELAYS_MS
    return { ok: true, lines: run({ ...options, delaysMs, attemptsMax }) }
  },
})

export interface BridgeTarget {
  readonly url: URL
  readonly secrets: readonly string[]
  readonly deadLetter?: string | undefined
}

export function bridgeOptions(
  context: Context,
  { url, secrets, deadLetter }: BridgeTarget,
): Omit<BridgeOptions<Failure>, 'delaysMs' | 'attemptsMax'> {
  const { host } = context
  const polling = polls(context, (hold) => (hold === 'none' ? 0 : longestHold(context)))
  return {
    ...polling,
    poll: async (from, hold) => advised(polledOf(await polling.poll(from, hold), from)),
    confirm: async (before) => (await polling.confirm(before)).ok,
    deliver(update) {
      const body = Buffer.from(JSON.stringify(update))
      const headers = signWebhook({ rawBody: body, secrets, timestamp: secondsOf(context), updateId: update.update_id })
      return post({ url, headers, body })
    },
    addDeadLetter: (letter) => append(deadLetter, `${JSON.stringify(letter)}\n`),
    ready: () => polling.notice(`Ready: updates go to ${url.href}`),
    inWords,
    withSentence: (failure, words) => ({
      ...failure,
      hint: [failure.hint, words].filter((it) => it !== null).join(' '),
    }),
    now: host.now,
  }
}

/** Adds a hint to the failure WEBHOOK_ACTIVE. The bridge never deletes a webhook, because others may use it. */
function advised(polled: PollOutcome<Failure>): PollOutcome<Failure> {
  if (polled.ok || polled.failure.code !== 'WEBHOOK_ACTIVE') return polled
  const hint =
    'To poll instead, delete the webhook: `voucherctl webhook delete`. What it has not delivered can then be polled. The bridge deletes nothing.'
  return { ...polled, failure: { ...polled.failure, hint } }
}

/** Appends to a private file (mode 0600, because updates contain users' messages) and syncs it to disk. */
async function append(path: string | undefined, text: string): Promise<Failure | undefined> {
  if (path === undefined) return undefined
  try {
    refuseForeignFile(path)
    await appendFile(path, text, { mode: 0o600, flush: true })
    await chmod(path, 0o600)
    return undefined
  } catch (error) {
    const message = `${path} cannot be written (${codeOf(error)}).`
    return fail('FILE_UNWRITABLE', message, 'Name another file with --dead-letter.')
  }
}

const seconds = (ms: number) => (ms < 1000 ? `${ms} ms` : `${ms / 1000} s`)

function lineOf(line: BridgeLine | ConnectionLine): string {
  if (!('update_id' in line)) return [line.time, line.outcome, ...(line.error === null ? [] : [line.error])].join('  ')
  const response = line.status === null ? `no response (${line.error})` : String(line.status)
  const next = line.retry_in_ms === null ? '' : `, again in ${seconds(line.retry_in_ms)}`
  const result = line.outcome === 'dead_letter' ? 'dead letter' : line.outcome
  return `${line.time}  #${line.update_id}  ${typeof line.type === 'string' ? line.type : JSON.stringify(line.type)}  ${response}  ${line.duration_ms} ms  ${result}, attempt ${line.attempt}${next}`
}
