import { randomBytes } from 'node:crypto'
import { updateTypes } from '../../../contract/updates.js'
import { webhook as contract, type DeliveryMode } from '../../../contract/webhook.js'
import { defined } from '../../../values/json.js'
import type { Context } from '../../command/context.js'
import { callLeaf, type Group, leaf } from '../../command/leaf.js'
import { type Failure, suggested } from '../../failures/failure.js'
import { at, duration, excluding, member, required, text, toggle } from '../../flags/flags.js'
import { deliveries, retry } from './deliveries.js'
import { inbox } from './inbox.js'
import { listen } from './listen.js'
import { replay } from './replay.js'
import { namedSecrets, sharedStdin } from './secrets.js'
import { sign } from './sign.js'
import { trigger } from './trigger.js'
import { verify } from './verify.js'

const dropPending = at('drop_pending_updates', member('Drop the waiting updates'))
const SECRET_BYTES = 32

const modeMembers = [
  'url',
  'has_secret_token',
  'allowed_updates',
  'allowed_ips',
  'max_connections',
  'pending_update_count',
  'dropped_updates',
  'warnings',
]

/** Returns the secret from a file or the environment, or generates one; undefined if the server shall decide. */
async function chooseSecret(
  context: Context,
  file: string | undefined,
  generate: boolean,
): Promise<{ ok: true; value: string | undefined; generated: boolean } | Failure> {
  if (generate) return { ok: true, value: randomBytes(SECRET_BYTES).toString('base64url'), generated: true }
  const shared = sharedStdin(context, { 'secret-file': file })
  if (shared !== undefined) return shared
  const named = await namedSecrets(context.host, file === undefined ? [] : [file])
  return named.ok ? { ok: true, value: named.value[0], generated: false } : named
}

export const webhook: Group = {
  name: 'webhook',
  alias: 'webhooks',
  summary: 'Where the updates of a bot are delivered, and tools to test a receiver',
  commands: [
    leaf({
      name: 'set',
      endpoint: contract.set,
      notes: [
        'The URL is https with a public host. On a local server, `server start --dev-webhook-loopback PORT` lets http://127.0.0.1:PORT through.',
        'Every delivery is signed. The secret comes from --secret-file or VOUCHERCTL_WEBHOOK_SECRET. Without either the one that is set stays; where there is none, the server makes one and shows it once.',
      ],
      flags: {
        url: required(member('Where updates are posted to', 'URL'), 'URL'),
        'secret-file': at(['secret_token'], text('FILE|-', 'The secret that signs: 1 to 256 of A-Z a-z 0-9 _ -')),
        'generate-secret': at(['secret_token'], excluding(toggle('Make a new secret and show it once'), 'secret-file')),
        'grace-seconds': at(['secret_grace_seconds'], duration('How long the old secret also signs, at most 1d')),
        'allowed-update': member(`Only these: ${updateTypes.join(', ')}`, 'TYPE'),
        'allowed-ip': member('Address or CIDR that the host may resolve to', 'ADDRESS'),
        'max-connections': member('Maximum concurrent deliveries, 1 to 100, default 40', 'N'),
        'drop-pending': dropPending,
      },
      examples: [
        'voucherctl webhook set bot_01JC… --url https://shop.example/hook --secret-file secret.txt',
        {
          command:
            'voucherctl webhook set bot_01JC… --url https://shop.example/hook --generate-secret --grace-seconds 1h',
          comment: 'Replace the secret; for an hour both sign',
        },
      ],
      run: async (context, { positional, flags, input }) => {
        const secret = await chooseSecret(context, flags['secret-file'], flags['generate-secret'])
        if (!secret.ok) return secret
        const grace = flags['grace-seconds']
        const secret_grace_seconds = grace === undefined ? undefined : Math.round(grace / 1000)
        const set = await context.call(
          contract.set,
          { ...input, ...defined({ secret_token: secret.value, secret_grace_seconds }) },
          { check: suggested`bots get ${positional}` },
        )
        if (!set.ok) return set
        const data = secret.generated ? { ...set.data, one_time_secret_token: secret.value } : set.data
        const reminder = data?.one_time_secret_token === undefined ? '' : ' Keep the secret now: it is not shown again.'
        await context.output.print(data as DeliveryMode, {
          headline: (it) => `Updates are delivered to ${it.url}.${reminder}`,
          members: [...modeMembers, 'one_time_secret_token'],
          shownOnce: { member: 'one_time_secret_token', otherwise: 'Set another one with --generate-secret.' },
          next: () => `Next: ${suggested`webhook deliveries ${positional}`}`,
        })
        return { ok: true, printed: true }
      },
    }),
    callLeaf({
      name: 'delete',
      endpoint: contract.delete,
      flags: { 'drop-pending': dropPending },
      examples: ['voucherctl webhook delete bot_01JC…'],
      view: {
        headline: (info) =>
          `Updates are polled now; ${info.pending_update_count} ${info.pending_update_count === 1 ? 'waits' : 'wait'}, ${info.dropped_updates} dropped.`,
        members: [],
        next: () => 'Next: `voucherctl bots updates --follow`',
      },
      check: ({ positional }) => suggested`bots get ${positional}`,
    }),
    callLeaf({
      name: 'info',
      endpoint: contract.info,
      notes: [
        'Asks as the bot, with its token. `bots get` shows the same from the console, without the path of the URL.',
      ],
      examples: ['voucherctl webhook info'],
      view: {
        headline: (info) =>
          info.delivery_mode === 'webhook' ? `Delivered to ${info.url}` : 'No webhook: updates are polled.',
        members: [
          'pending_update_count',
          'failed_count',
          'dead_letter_count',
          'last_error_message',
          'last_error_date',
          'last_success_date',
          'ip_address',
          'max_connections',
          'allowed_updates',
          'allowed_ips',
          'platform_egress_ips',
        ],
      },
    }),
    deliveries,
    retry,
    listen,
    inbox,
    replay,
    trigger,
    sign,
    verify,
  ],
}
