import { type Refusal, refuse } from '../../contract/errors.js'
import { type DeliveryReplay, REPLAY_BYTES_MAX } from '../../contract/platform/deliveries.js'
import { faultOfHeaders } from '../../contract/platform/fault-kinds.js'
import { updateSubject } from '../../domain/update.js'
import * as deliveries from '../../store/delivery/deliveries.js'
import { hintsOf } from '../../webhook/refusal-hints.js'
import { readUpdate } from '../../webhook/signature.js'
import { trueTime } from '../clock.js'
import { exchangeOf, type MadeAttempt } from '../delivery/attempt-log.js'
import { deliveryDetail, lastRequest, verificationOf } from '../delivery/detail.js'
import { deliveryHeaders, openWebhook, signingSecrets } from '../delivery/signing.js'
import { invalid, type MakeSome, replyOf } from '../handler.js'

/** Concurrent replays per process. */
const REPLAYS_MAX = 16

/** Deliveries in the operator API (rules/operator.md#replays-by-the-operator). */
export const deliveryHandlers = (({ store, clock, keys, attempts, sender, gate }, { read }) => {
  const times = () => ({ now: clock.now(), trueNow: trueTime(clock) })
  /** Bots of running replays, with one entry per replay. */
  const running: string[] = []
  const isBusy = ({ bot, inFlight }: deliveries.DeliveryWithUpdate, webhook: ReplayableDelivery['webhook']) => {
    const ofBot = inFlight + running.filter((botId) => botId === bot.id).length
    return running.length >= REPLAYS_MAX || ofBot >= webhook.max_connections
  }

  /** Reads a delivery while no reset runs. The replay itself bypasses the gate, so that resets need not wait for it. */
  const readBetweenResets = (deliveryId: string) => gate.run(() => store.read(() => deliveries.show(deliveryId)))

  return {
    deliveries: (filter) => read(() => deliveries.listAll(filter)),

    delivery: async ({ deliveryId }) => {
      const found = await store.read(() => deliveries.show(deliveryId))
      if ('ok' in found) return found
      const webhook = found.webhook && openWebhook(found.webhook, keys)
      return replyOf(deliveryDetail(found, webhook, attempts.of(deliveryId), times()))
    },

    replayDelivery: {
      bypassesGate: true,
      handle: async ({ deliveryId, mode, body: replacement }) => {
        const bytes = replacement === undefined ? undefined : Buffer.from(replacement, 'base64')
        if (bytes !== undefined && bytes.byteLength > REPLAY_BYTES_MAX) {
          return invalid({ pointer: '/body', code: 'format', message: 'must be base64 of at most 1 MiB, with padding' })
        }
        const found = await readBetweenResets(deliveryId)
        if ('ok' in found) return found
        const { generation } = gate
        const { delivery, bot } = found
        const isSigned = mode === 'resigned'
        const replayable = checkReplay(found, bytes, isSigned)
        if (!replayable.ok) return replayable
        const { stored, body } = replayable
        if (isBusy(found, replayable.webhook)) return { ...refuse('RATE_LIMITED'), retryAfterSeconds: 1 }

        const webhook = openWebhook(replayable.webhook, keys)
        const { now, trueNow } = times()
        const secrets = signingSecrets(webhook, now)
        const headers =
          isSigned || stored === undefined
            ? deliveryHeaders(body, updateIdOf(body) ?? delivery.update_id, secrets, Math.floor(trueNow / 1000))
            : lastRequest(found, stored, webhook, attempts.of(deliveryId), { now, trueNow }).headers
        running.push(bot.id)
        const { url, allowedIps, isBorrowed } = webhook
        const result = await sender
          .send({ url, body, headers, allowedIps, isBorrowed })
          .finally(() => running.splice(running.indexOf(bot.id), 1))
        const { fault } = faultOfHeaders(Object.entries(headers))
        const made: MadeAttempt = {
          ...{ deliveryId, updateId: delivery.update_id, botId: bot.id, url, headers, body, result, secrets, fault },
          subject: found.body === null ? { type: delivery.update_type, voucherId: null } : updateSubject(found.body),
          startedAt: now,
          endedAt: trueTime(clock),
          attempt: null,
          manual: false,
          replay: true,
        }
        // A reset has replaced the state of this delivery.
        if (generation === gate.generation) attempts.add(made)
        const verification = verificationOf(headers, body, secrets, trueNow)
        const isEdited = !isSigned && stored?.equals(body) === false
        const { statusCode: status, response } = result
        const sent = { ...{ headers, body, status, response, verification, isEdited }, at: now, endedAt: made.endedAt }
        const data: DeliveryReplay = {
          status,
          error: result.error,
          duration_ms: result.durationMs,
          exchange: exchangeOf(made),
          verification,
          hints: hintsOf({ ...sent, aheadMs: now - trueNow }, webhook.row),
        }
        return replyOf(data)
      },
    },
  }
}) satisfies MakeSome<'platform'>

type NotReplayable = 'no_webhook' | 'bot_disabled' | 'bytes_deleted' | 'not_attempted'

function notReplayable(reason: NotReplayable): Refusal<'DELIVERY_NOT_REPLAYABLE'> {
  return refuse('DELIVERY_NOT_REPLAYABLE', { reason })
}

interface ReplayableDelivery {
  readonly ok: true
  readonly webhook: NonNullable<deliveries.DeliveryWithUpdate['webhook']>
  /** The bytes of the update; undefined after their deletion. */
  readonly stored: Buffer | undefined
  /** The bytes to send. */
  readonly body: Buffer
}

function checkReplay(
  { delivery, bot, webhook, body: text }: deliveries.DeliveryWithUpdate,
  replacement: Buffer | undefined,
  isSigned: boolean,
): ReplayableDelivery | Refusal<'DELIVERY_NOT_REPLAYABLE'> {
  const stored = text === null ? undefined : Buffer.from(text)
  const body = replacement ?? stored
  if (webhook === null) return notReplayable('no_webhook')
  if (bot.status !== 'active') return notReplayable('bot_disabled')
  if (body === undefined || (stored === undefined && !isSigned)) return notReplayable('bytes_deleted')
  if (!isSigned && delivery.last_attempt_at === null) return notReplayable('not_attempted')
  return { ok: true, webhook, stored, body }
}

/** Returns the update_id of edited bytes, which need not be an update. */
function updateIdOf(body: Uint8Array): string | undefined {
  const update = readUpdate(body)
  return update.ok ? update.updateId : undefined
}
