import { refuse } from '../../contract/errors.js'
import type { Review } from '../../contract/platform/platform.js'
import { platformPayload, platformUpdateIssues } from '../../domain/bot/platform-update.js'
import { formatInstant, parseInstant } from '../../domain/time.js'
import * as apps from '../../store/apps.js'
import * as bots from '../../store/bots/bots.js'
import * as chats from '../../store/bots/chats.js'
import * as updates from '../../store/delivery/updates.js'
import { overview } from '../../store/overview.js'
import * as templates from '../../store/templates.js'
import { totals } from '../../store/totals.js'
import { TestClock } from '../clock.js'
import { invalid, type MakeSome } from '../handler.js'
import { hourBefore } from '../observe/failure-counts.js'

const JWT_LIFETIME_SECONDS = 86_400
const TOTALS_SECONDS = 86_400
const TOTALS_BUCKETS = 24

/** Compares reviews, oldest first. All instants have the same format, so their text sorts by time. */
function byAge(one: Review, other: Review): number {
  if (one.submitted_at !== other.submitted_at) return one.submitted_at < other.submitted_at ? -1 : 1
  return one.id < other.id ? -1 : 1
}

/** The operator API (rules/operator.md#operator-api), except the endpoints of other files. */
export const platformHandlers = ((deps, { read, write }) => {
  const { store, clock, newId, random, keys, accounts, requestLog, activity } = deps
  const newDeliveryId = () => newId('dlv')
  const secureKeys = () => ({ ok: true, data: { items: deps.secure.keys.list(clock.now()) } }) as const
  const setBlocked = ({ chatId }: { chatId: string }, blocked: boolean) =>
    write(() => chats.setBlocked(chatId, blocked, { now: clock.now(), newDeliveryId }))
  return {
    issueAccountToken: async ({ accountId, expires_in_seconds: seconds = JWT_LIFETIME_SECONDS }) => {
      const now = clock.now()
      if (accounts.sign === null) {
        return invalid({ pointer: '/accountId', code: 'jwks', message: 'accounts of this server come from --jwks-url' })
      }
      const expiresAt = (Math.floor(now / 1000) + seconds) * 1000
      return {
        ok: true,
        data: { jwt: await accounts.sign(accountId, now, seconds), expires_at: formatInstant(expiresAt) },
      }
    },

    reviews: async ({ kind }) => {
      const waiting = await store.read(function* () {
        const ofTemplates = kind === 'bot' ? [] : yield* templates.pendingReviews()
        const ofBots = kind === 'template' ? [] : yield* bots.pendingReviews()
        return [...ofTemplates, ...ofBots]
      })
      return { ok: true, data: { items: waiting.sort(byAge) } }
    },

    approveTemplate: ({ templateId }) => write(() => templates.review(templateId, { approve: true }, clock.now())),
    rejectTemplate: ({ templateId, code, reason }) =>
      write(() => templates.review(templateId, { approve: false, code, reason }, clock.now())),

    applications: (page) => read(() => apps.listAll(page)),
    templates: (filter) => read(() => templates.listAll(filter)),
    template: ({ templateId }) => read(() => templates.show(templateId)),
    bots: (filter) => read(() => bots.listAll(filter)),
    bot: ({ botId }) => read(() => bots.show(botId)),
    totals: async ({ from, seconds: given, until, buckets = TOTALS_BUCKETS, template_id: templateId }) => {
      const end = until === undefined ? clock.now() : parseInstant(until)
      if (end === null) return invalid({ pointer: '/until', code: 'format', message: 'is not a time that exists' })
      if (from !== undefined && given !== undefined) {
        return invalid({ pointer: '/from', code: 'conflict', message: 'stands instead of seconds, not beside it' })
      }
      const begin = from === undefined ? Math.max(0, end - (given ?? TOTALS_SECONDS) * 1000) : parseInstant(from)
      if (begin === null) return invalid({ pointer: '/from', code: 'format', message: 'is not a time that exists' })
      if (begin >= end) return invalid({ pointer: '/from', code: 'maximum', message: 'must lie before the end' })
      return read(() => totals({ from: begin, until: end, buckets, templateId }))
    },

    suspendApp: ({ appId }) => write(() => apps.updateByOperator(appId, { suspended: true }, clock.now())),
    reinstateApp: ({ appId }) => write(() => apps.updateByOperator(appId, { suspended: false }, clock.now())),
    setAppFeatures: ({ appId, features }) => write(() => apps.updateByOperator(appId, { features }, clock.now())),

    approveBot: ({ botId }) => write(() => bots.decide(botId, 'approve', clock.now())),
    rejectBot: ({ botId, note }) => write(() => bots.decide(botId, { reject: note }, clock.now())),
    disableBot: ({ botId }) => write(() => bots.decide(botId, 'disable', clock.now())),
    enableBot: ({ botId }) => write(() => bots.decide(botId, 'enable', clock.now())),

    addUpdate: {
      check: platformUpdateIssues,
      handle: ({ botId, ...it }) => {
        const now = clock.now()
        const newPayloadId = () => Buffer.from(random(10)).toString('hex')
        const payload = platformPayload(it, newPayloadId, now)
        return store.write(() => updates.addByPlatform({ botId, type: it.type, payload, now, newDeliveryId }))
      },
    },

    createChat: async ({ bot_id: botId, user_id: userId, type = 'private' }) => {
      const call = { botId, userId, type, chatId: newId('chat'), now: clock.now(), newDeliveryId }
      return write(() => chats.start(call))
    },
    chats: (filter) => read(() => chats.list(filter)),
    chat: ({ chatId }) => read(() => chats.show(chatId)),
    messages: ({ chatId, ...page }) => read(() => chats.messages(chatId, page, keys)),
    sendAsUser: ({ chatId, text }) => write(() => chats.sendAsUser({ chatId, text, now: clock.now() }, newDeliveryId)),
    blockChat: (input) => setBlocked(input, true),
    unblockChat: (input) => setBlocked(input, false),

    secureKeys: async () => secureKeys(),
    rotateSecureKeys: async () => {
      await deps.secure.keys.rotate(clock.now())
      return secureKeys()
    },

    openPage: async () => (deps.inspector === null ? refuse('PAGE_OFF') : { ok: true, data: deps.inspector.newLink() }),

    overview: () => {
      const since = hourBefore(clock.now())
      const calls = activity.failures.list()
      return read(function* () {
        const stored = yield* overview(since, deps.leaseNow())
        return {
          ...stored,
          failed_calls: { ...calls, since: formatInstant(calls.since) },
          failed_attempts: { ...stored.failed_attempts, since: formatInstant(since) },
          faults: deps.faults.list().length,
          clock_ahead_ms: clock instanceof TestClock ? clock.ahead : 0,
        }
      })
    },

    activity: async ({ follow, bodies, names }) => ({
      ok: true,
      data: activity.stream({ follow: follow === 'true', bodies: bodies === 'true', names: names === 'true' }),
    }),
    requests: async ({ follow }) => ({ ok: true, data: requestLog.stream(follow === 'true') }),
  }
}) satisfies MakeSome<'platform'>
