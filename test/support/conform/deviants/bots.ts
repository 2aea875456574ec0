import type { TransportRequest, TransportResponse } from '../../../../src/client/transport.js'
import {
  accepts,
  acceptsCode,
  bodyOf,
  type Call,
  codeOf,
  type Data,
  type Deviate,
  deviants,
  onPath,
  refuses,
  responds,
  returnsData,
  sends,
  sendsBody,
  success,
  withBody,
} from '../deviants.js'

const apply = onPath('POST /api/v1/bots/applications')
const list = onPath('GET /api/v1/bots/my')
const get = onPath('GET /api/v1/bots/my/[^/]+')
const patch = onPath('PATCH /api/v1/bots/my/[^/]+')
const setWebhook = onPath('POST /api/v1/bots/my/[^/]+/webhook')
const regenerate = onPath('POST /api/v1/bots/my/[^/]+/regenerate-token')
const metrics = onPath('GET /api/v1/bots/my/[^/]+/metrics')
const send = onPath('POST /api/v1/bots/sendMessage')
const poll = onPath('POST /api/v1/bots/getUpdates')
const info = onPath('GET /api/v1/bots/getWebhookInfo')

const without =
  (name: string) =>
  ({ [name]: _, ...rest }: Data) =>
    rest

/** Changes the items of a list. */
const items = (when: Call, change: (item: Data) => Data): Deviate =>
  returnsData(when, (data) => ({ ...data, items: data.items.map(change) }))

/** Changes the text of applications for a bot, so that the reference accepts them. */
const applied = (change: (body: Data) => Data) => sendsBody(apply, change)

const hasOffset = (request: TransportRequest) => poll(request) && Number.isInteger(bodyOf(request).offset)
const refusesTimeout = (seconds: number) => refuses((it) => poll(it) && bodyOf(it).timeout === seconds, 400)
const refusesText = (pattern: RegExp) => refuses((it) => send(it) && pattern.test(bodyOf(it).text), 400)

const itemsOf = ({ body }: TransportResponse): Data[] => JSON.parse(body).data?.items ?? []

/** Returns the webhook secret with the record of a bot. */
const showsSecret: Deviate = (next) => {
  let secret = ''
  return async (request) => {
    if (setWebhook(request)) secret = bodyOf(request).secret_token ?? ''
    const response = await next(request)
    return get(request)
      ? { ...response, body: response.body.replace('"webhook":{', `"webhook":{"s":"${secret}",`) }
      : response
  }
}

/** Returns the token of a bot with `count` records. */
const showsToken =
  (count: number): Deviate =>
  (next) => {
    const shown = new Map<string, { token: string; left: number }>()
    let last: Promise<unknown> = Promise.resolve()
    return (request) => {
      if (!get(request)) return next(request)
      const response = last.then(async () => {
        const got = await next(request)
        const json = JSON.parse(got.body)
        const token = json.data.one_time_token
        const kept = shown.get(request.path) ?? { token, left: count }
        if (kept.token === undefined || kept.left <= 0) return got
        shown.set(request.path, { ...kept, left: kept.left - 1 })
        return { ...got, body: JSON.stringify({ ...json, data: { ...json.data, one_time_token: kept.token } }) }
      })
      last = response.catch(() => {})
      return response
    }
  }

/** Confirms what a poll without an offset returns. */
const confirmsAll: Deviate = (next) => async (request) => {
  const response = await next(request)
  const last = poll(request) && bodyOf(request).offset === undefined ? itemsOf(response).at(-1) : undefined
  if (last !== undefined) await next(withBody(request, { offset: last.update_id + 1 }))
  return response
}

/** Counts update ids from 1 again when no update waits. */
const restartsIds: Deviate = (next) => {
  let [base, last] = [0, 0]
  return async (request) => {
    if (!poll(request)) return next(request)
    const { offset, ...body } = bodyOf(request)
    const from = offset > 0 ? offset + base : offset
    if (from > last && from < 1e9) base = last
    const response = await next(withBody(request, { ...body, ...(from === undefined ? {} : { offset: from }) }))
    last = Math.max(last, ...itemsOf(response).map(({ update_id }) => update_id))
    return { ...response, body: response.body.replace(/"update_id":(\d+)/g, (_, id) => `"update_id":${id - base}`) }
  }
}

/** Leaves gaps between update ids. */
const gaps: Deviate = (next) => async (request) => {
  if (!poll(request)) return next(request)
  const { offset, ...body } = bodyOf(request)
  const from = offset > 0 ? Math.ceil(offset / 2) : offset
  const response = await next(withBody(request, { ...body, ...(from === undefined ? {} : { offset: from }) }))
  return { ...response, body: response.body.replace(/"update_id":(\d+)/g, (_, id) => `"update_id":${id * 2}`) }
}

/** Serialises updates anew for each poll. */
const newBytes: Deviate = (next) => {
  let count = 0
  return async (request) => {
    const response = await next(request)
    count += 1
    return poll(request)
      ? { ...response, body: response.body.replaceAll('"type":', `"type":${' '.repeat(count % 2)}`) }
      : response
  }
}

/** Applies the selected types when updates are read, not when they are created. */
const selectsOnRead =
  (created: readonly string[] | undefined): Deviate =>
  (next) => {
    let selected: readonly string[] = []
    return async (request) => {
      if (!poll(request)) return next(request)
      const body = bodyOf(request)
      selected = body.allowed_updates ?? selected
      const isSelection = created !== undefined && body.allowed_updates !== undefined
      const response = await next(isSelection ? withBody(request, { ...body, allowed_updates: created }) : request)
      if (response.status !== 200) return response
      return success({ items: itemsOf(response).filter(({ type }) => selected.includes(type)) })
    }
  }

/** Stores the selection of a poll that it refuses. */
const storesRefused: Deviate = (next) => async (request) => {
  const response = await next(request)
  const { allowed_updates } = bodyOf(request)
  if (codeOf(response) === 'OFFSET_IN_FUTURE' && allowed_updates) await next(withBody(request, { allowed_updates }))
  return response
}

/** Confirms with a poll that it refuses for a webhook, as soon as a poll is possible. */
const confirmsRefused: Deviate = (next) => {
  let offset: number | undefined
  return async (request) => {
    if (!poll(request)) return next(request)
    const response = await next(offset === undefined ? request : withBody(request, { offset }))
    if (codeOf(response) === 'WEBHOOK_ACTIVE') offset = bodyOf(request).offset
    return response
  }
}

/** Deviant servers by the probe that reports them. */
export const bots = deviants({
  'bot-records/greatest-lengths': refuses(
    (it) => apply(it) && bodyOf(it).name?.length === 100 && bodyOf(it).avatar === undefined,
    400,
  ),
  'bot-records/name-of-101': applied((it) => ({ ...it, name: it.name.slice(0, 100) })),
  'bot-records/username-of-65': applied((it) => ({ ...it, username: it.username.slice(0, 64) })),
  'bot-records/username-with-upper-case': applied((it) => ({ ...it, username: it.username.toLowerCase() })),
  'bot-records/username-taken': accepts(apply, 409),
  'bot-records/avatar-without-https': applied((it) => ({
    ...it,
    ...(it.avatar && { avatar: it.avatar.replace('http:', 'https:') }),
  })),
  'bot-records/listed': items(list, without('token_prefix')),
  'bot-records/detail': returnsData(get, without('command_menus')),
  'bot-records/profile-defaults': returnsData(get, (it) => ({ ...it, profile: { ...it.profile, links: null } })),
  'bot-records/patch': sendsBody(patch, without('friend_request_mode')),
  'bot-records/patch-of-the-username': sendsBody(patch, without('username')),
  'bot-records/patch-without-a-change': sendsBody(patch, (it) => ({ about: `deviant ${Math.random()}`, ...it })),
  'bot-records/url-without-https': sends(patch, ({ body }) => ({ body: body?.replace('http:', 'https:') ?? '' })),
  'bot-records/menu-commands': sends(patch, ({ body }) => ({ body: body?.replace('"/start"', '"start"') ?? '' })),
  'bot-records/webhook-without-secret': showsSecret,
  'bot-records/token-only-by-get': sends(
    ({ method }) => method === 'HEAD',
    () => ({ method: 'GET' }),
  ),
  'bot-records/concurrent-gets': showsToken(2),
  'bot-records/first-get': returnsData(get, without('one_time_token')),
  'bot-records/user-bot-get': returnsData(onPath('GET /api/v1/bots/my/bot_shop'), (it) => ({
    ...it,
    one_time_token: 'shown',
  })),
  'bot-records/url-of-2048': refuses((it) => patch(it) && bodyOf(it).cover_url?.length === 2_048, 400),
  'bot-records/regenerate': returnsData(regenerate, (it) => ({ ...it, token_prefix: 'other' })),
  'bot-records/regenerated-token': returnsData(regenerate, (it) => ({
    ...it,
    one_time_token: `${it.one_time_token}x`,
  })),
  'bot-records/old-token': acceptsCode(info, 'TOKEN_REVOKED'),
  'bot-records/held-poll': acceptsCode(poll, 'TOKEN_REVOKED'),

  'bot-states/applied-is-pending': returnsData(apply, (it) => ({ ...it, review_status: 'approved' })),
  'bot-states/approved-is-active': items(list, (it) => ({ ...it, status: 'inactive' })),
  'bot-states/default-scopes': returnsData(apply, (it) => ({ ...it, scopes: [] })),
  'bot-states/no-scopes': accepts(apply, 400, (it) => bodyOf(it).scopes?.length === 0),
  'bot-states/unknown-scope': accepts(apply, 400, (it) => bodyOf(it).scopes?.length === 1),

  'bot-metrics/calls': returnsData(metrics, (it) => ({ ...it, calls: { ...it.calls, total: it.errors.total } })),
  'bot-metrics/refused-calls': returnsData(metrics, (it) => ({
    ...it,
    calls: { ...it.calls, total: it.calls.total - it.errors.total },
  })),
  'bot-metrics/errors': returnsData(metrics, (it) => ({ ...it, errors: { ...it.errors, total: 0 } })),
  'bot-metrics/errors-by-status': returnsData(metrics, (it) => ({ ...it, errors: { ...it.errors, by_status: {} } })),
  'bot-metrics/errors-by-code': returnsData(metrics, (it) => ({ ...it, errors: { ...it.errors, by_code: {} } })),
  'bot-metrics/quota': returnsData(metrics, (it) => ({ ...it, quota: { ...it.quota, remaining: -1 } })),
  'bot-metrics/updates': returnsData(metrics, (it) => ({ ...it, updates: 0 })),
  'bot-metrics/success-rate': returnsData(metrics, (it) => ({ ...it, webhook: { ...it.webhook, success_rate: 0 } })),

  'chats/not-started': accepts(send, 404),
  'messages/members': returnsData(send, without('from')),
  'messages/date': returnsData(send, (it) => ({ ...it, date: it.date * 1_000 })),
  'messages/ids': returnsData(send, (it) => ({ ...it, message_id: it.message_id * 2 })),
  'lines-of-a-message/line-feed': refusesText(/[^\r]\n/),
  'lines-of-a-message/tab': refusesText(/\t/),
  'lines-of-a-message/cr-lf': returnsData(send, (it) => ({ ...it, text: it.text.replace('\n', '\r\n') })),
  'lines-of-a-message/cr-alone': sendsBody(send, (it) => ({ ...it, text: it.text.replace(/\r(?!\n)/, '\n') })),
  'lines-of-a-message/length-of-4096': refusesText(/^.{4096}$/su),
  'lines-of-a-message/length-of-4097': sendsBody(send, (it) => ({
    ...it,
    text: it.text.replace(/^(x{4096})x$/, '$1'),
  })),
  'lines-of-a-message/length-as-sent': sendsBody(send, (it) => ({ ...it, text: it.text.replace('\r\n', '\n') })),

  'updates/members': items(poll, without('created_at')),
  'updates/same-bytes': newBytes,
  'updates/same-bytes-by-webhook': responds(poll, ({ body }) => ({ body: body.replaceAll('"type":', '"type": ') })),
  'updates/ids-without-gaps': gaps,
  'updates/ids-are-not-used-twice': restartsIds,

  'update-types/default': returnsData(info, (data) => ({
    ...data,
    allowed_updates: data.allowed_updates.filter((type: string) => type !== 'ping'),
  })),
  'update-types/absent': sendsBody(poll, (it) => (it.limit === 1 ? { allowed_updates: [], ...it } : it)),
  ...Object.fromEntries(
    (['issued', 'redeemed', 'reversed'] as const).map(
      (name) =>
        [
          `update-types/voucher-${name}`,
          returnsData(poll, (it) => ({ items: it.items.filter(({ type }: Data) => type !== `voucher_${name}`) })),
        ] as const,
    ),
  ),
  'update-types/not-named': sendsBody(poll, (data) => ({
    ...data,
    ...(data.allowed_updates?.[0]?.startsWith('voucher') && {
      allowed_updates: [...data.allowed_updates, 'voucher_issued'],
    }),
  })),
  'update-types/selected-later': selectsOnRead(['voucher_issued', 'voucher_redeemed', 'voucher_reversed']),
  'update-types/deselected-later': selectsOnRead(undefined),

  'polling/ascending': returnsData(poll, (it) => ({ items: it.items.reverse() })),
  'polling/unconfirmed': confirmsAll,
  'polling/offset': sendsBody(
    (it) => hasOffset(it) && bodyOf(it).offset > 0 && bodyOf(it).offset < 1e9,
    without('offset'),
  ),
  'polling/negative-offset': sendsBody((it) => hasOffset(it) && bodyOf(it).offset < 0, without('offset')),
  'polling/offset-in-the-future': acceptsCode(poll, 'OFFSET_IN_FUTURE'),
  'polling/limit': sendsBody(poll, without('limit')),
  'polling/limit-of-0': sendsBody(poll, (it) => ({ ...it, limit: it.limit || 1 })),
  'polling/limit-of-101': sendsBody(poll, (it) => (it.limit > 100 ? { ...it, limit: 100 } : it)),
  'polling/limit-of-100': refuses((it) => poll(it) && bodyOf(it).limit === 100 && bodyOf(it).offset === undefined, 400),
  'polling/timeout-too-long': sendsBody(poll, (it) => ({ ...it, timeout: Math.min(it.timeout ?? 0, 50) })),
  'polling/longest-timeout': refusesTimeout(50),
  'polling/held': sendsBody(poll, without('timeout')),
  'polling/newer-poll': acceptsCode(poll, 'POLL_TERMINATED', success({ items: [] })),
  'polling/refused-poll': storesRefused,
  'polling/refused-poll-ends-an-older-one': refuses(
    (it) => poll(it) && bodyOf(it).offset > 1e9,
    400,
    'OFFSET_IN_FUTURE',
  ),
  'polling/webhook-active': acceptsCode(poll, 'WEBHOOK_ACTIVE', success({ items: [] })),
  'polling/webhook-active-confirms-nothing': confirmsRefused,
})

/** Deviant servers that review bots later. */
export const botsInReview = deviants({
  'bot-records/patch-before-approval': acceptsCode(patch, 'BOT_NOT_APPROVED'),
  'bot-states/pending-is-not-active': items(list, (it) => ({ ...it, status: 'active' })),
  'bot-states/not-approved': acceptsCode(metrics, 'BOT_NOT_APPROVED'),
})
