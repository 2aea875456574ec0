import {
  platformDeliveries as contract,
  type DeliveryReplay,
  REPLAY_BYTES_MAX,
} from '../../../contract/platform/deliveries.js'
import { defined } from '../../../values/json.js'
import { callLeaf, type Group, leaf } from '../../command/leaf.js'
import { listLeaf } from '../../command/paging.js'
import { suggested, usage } from '../../failures/failure.js'
import { at, excluding, member, text, toggle } from '../../flags/flags.js'
import { readBytes } from '../../host/files.js'
import { remember } from '../../host/secrets.js'
import { drawDelivery, drawReplay } from './delivery-drawing.js'

/** Exit codes of a replay, the same as for `webhook replay` (rules/workbench.md#replay-of-deliveries). */
function exitOf(replay: DeliveryReplay): number {
  // Copy the members: a response that is not an object then has none.
  const { error, status } = { ...replay }
  if (!error) return 0
  return status === null || status >= 500 ? 9 : 8
}

export const platformDeliveries: Group = {
  name: 'deliveries',
  alias: 'delivery',
  summary: 'Webhook deliveries of every bot, their signatures, and replays',
  commands: [
    listLeaf({
      name: 'list',
      endpoint: contract.deliveries,
      flags: {
        status: member('Only these'),
        bot: member('Only deliveries to this bot, bot_…', 'ID'),
        chat: member('Only deliveries of this chat, chat_…', 'ID'),
        type: member('Only deliveries of this type, such as message', 'TYPE'),
        update: member('Only deliveries of the update with this id', 'N'),
        sort: member('By created_at or bot_id; highest first with -, as in --sort=-bot_id', 'COLUMN'),
      },
      examples: [
        'voucherctl platform deliveries list',
        'voucherctl platform deliveries list --status failed --bot bot_01JC…',
      ],
      view: {
        members: ['id', 'status', 'update_type', 'update_id', 'last_status_code', 'attempt_count', 'created_at'],
      },
    }),
    callLeaf({
      name: 'show',
      endpoint: contract.delivery,
      notes: [
        'Shows what was signed: the timestamp, a dot and the body, with the HMAC of each secret, but no secret. If the application refused the delivery, the likely causes follow.',
      ],
      examples: ['voucherctl platform deliveries show dlv_01JC…'],
      view: {
        headline: ({ delivery }) => `Delivery ${delivery.id} is ${delivery.status}.`,
        drawing: drawDelivery,
        key: 'delivery.id',
        next: ({ delivery }) => `Send it again: ${suggested`platform deliveries replay ${delivery.id} --resign`}`,
      },
    }),
    leaf({
      name: 'replay',
      endpoint: contract.replayDelivery,
      notes: [
        'The replay is no attempt: status, counters and schedule of the delivery stay. It repeats the headers of the last attempt; after 300 s a receiver refuses them as stale. --resign signs again.',
        '--body-file sends other bytes and signs them; with --as-sent they keep the old signature, so that a receiver must refuse them.',
        'Exit code 9 if the response is 5xx or missing, otherwise 8 if it is not 2xx.',
      ],
      flags: {
        resign: at(['mode'], excluding(toggle('Sign again with the current time and secret'), 'as-sent')),
        'as-sent': at(['mode'], toggle('Keep the headers of the last attempt, also for other bytes')),
        'body-file': at(['body'], text('FILE|-', 'Send these bytes instead of the update, at most 1 MiB')),
      },
      examples: [
        'voucherctl platform deliveries replay dlv_01JC… --resign',
        {
          command: 'voucherctl platform deliveries replay dlv_01JC… --body-file update.json',
          comment: 'Other bytes, signed',
        },
      ],
      view: {
        headline: ({ status, error, duration_ms }: DeliveryReplay) =>
          [status ?? 'no response', `${duration_ms} ms`, status === null ? error?.message : undefined]
            .filter((it) => it !== undefined)
            .join('  '),
        isGood: (it) => it.error === null,
        drawing: drawReplay,
        key: 'status',
      },
      run: async (context, { positional, flags }) => {
        const file = flags['body-file']
        const read = file === undefined ? undefined : await readBytes(context.host, file)
        if (read?.ok === false) return read
        if (read !== undefined && read.bytes.byteLength > REPLAY_BYTES_MAX) {
          return usage(`${file} has ${read.bytes.byteLength} bytes; a replay sends at most 1 MiB.`)
        }
        const body = read?.bytes.toString('base64')
        // An update may hold secrets, which a dry run and errors must not show.
        if (body !== undefined) remember(context.host, body)
        const isSigned = flags.resign || (file !== undefined && !flags['as-sent'])
        const outcome = await context.call(contract.replayDelivery, {
          deliveryId: positional,
          mode: isSigned ? 'resigned' : 'as_sent',
          ...defined({ body }),
        })
        return outcome.ok ? { ...outcome, exit: exitOf(outcome.data) } : outcome
      },
    }),
  ],
}
