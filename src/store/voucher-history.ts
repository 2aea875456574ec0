import type { InputOf } from '../contract/endpoint.js'
import { type Refusal, refuse } from '../contract/errors.js'
import type { platformVouchers, VoucherEvent, VoucherHistory } from '../contract/platform/voucher-history.js'
import type { Credential, Voucher } from '../contract/vouchers.js'
import type { TokenRow } from '../domain/application.js'
import type { MessageRow, UpdateRow } from '../domain/bot/rows.js'
import type { Keyring } from '../domain/keyring.js'
import type { TemplateRow } from '../domain/template.js'
import { UNCONFIRMED_UPDATE_RETENTION_MS } from '../domain/update.js'
import { type RedemptionRow, type VoucherRow, voucherRecord } from '../domain/voucher.js'
import { eventsOf, type LoggedCall } from '../domain/voucher-history.js'
import { attempted } from './delivery/backlog.js'
import { deliveriesOf } from './delivery/deliveries.js'
import { type Condition, equals, listPage, type Page, SLICE_ROWS } from './list-page.js'
import { all, interleave, type Op, one, type Value } from './operation.js'
import { selecting } from './select.js'
import { templateSummary } from './template-summary.js'
import { credentialsOf, type HashedCredential } from './vouchers.js'

interface VoucherFilter extends Omit<InputOf<typeof platformVouchers.vouchers>, 'since'> {
  /** Earliest time of issue, ms since the epoch. */
  readonly since?: number | undefined
}

/** Lists the vouchers of all applications. */
export function* list(filter: VoucherFilter, now: number): Op<Page<Voucher>> {
  const params: Value[] = []
  const { template_id: templateId, since, status, sort = '-issued_at' } = filter
  const from = ['vouchers where true']
  const others: Condition[] = []
  const template =
    templateId === undefined
      ? undefined
      : yield* one<TemplateRow>('select * from templates where id = $1', [templateId])
  // Indexes of external ids find an id, and a template's vouchers, but not in order: too slow for a large template.
  const isSmallTemplate = templateId !== undefined && Number(template?.issued_count ?? 0) <= SLICE_ROWS
  const isSmall = isSmallTemplate || filter.external_issue_id !== undefined
  if (isSmall && templateId !== undefined) from.push(`application_id = $${params.push(template?.application_id ?? '')}`)
  for (const member of ['application_id', 'template_id', 'external_issue_id', 'recipient_user_id'] as const) {
    const value = filter[member]
    if (value === undefined) continue
    if (isSmall) from.push(`${member} = $${params.push(value)}`)
    else others.push(...equals(member, value))
  }
  if (status === 'redeemed') others.push(() => `state = 'redeemed'`)
  else if (status !== undefined) {
    others.push((add) => `state = 'issued' and valid_until ${status === 'issued' ? '>' : '<='} ${add(now)}`)
  }
  const isByTime = sort.endsWith('issued_at')
  if (!isByTime && since !== undefined) others.push((add) => `issued_at >= ${add(since)}`)
  const options = { sort, isSmall, since: isByTime ? since : undefined, match: others }
  const page = yield* listPage<VoucherRow, VoucherRow>(from.join(' and '), params, filter, (row) => row, options)
  const summaries = new Map()
  const items: Voucher[] = []
  for (const row of page.items) {
    items.push(voucherRecord(row, yield* templateSummary(summaries, row.application_id, row.template_id), now))
  }
  return { ...page, items }
}

/** Maximum redemptions in the history of a voucher: callers may redeem and reverse without limit. */
export const SHOWN_REDEMPTIONS_MAX = 100

type StoredHistory = Pick<VoucherHistory, 'voucher' | 'events' | 'older_redemptions'>

const REDEMPTION = 'select * from redemptions where application_id in (select id from applications) and id = $1'

/**
 * Reads a voucher and its events.
 * @param wanted id of the voucher or of one of its redemptions, or a credential
 * @param loggedCalls returns calls of the voucher that only the request log has
 */
export function* history(
  wanted: { readonly id: string } | HashedCredential,
  loggedCalls: (voucherId: string) => readonly LoggedCall[],
  now: number,
): Op<{ ok: true; data: StoredHistory } | Refusal<'VOUCHER_NOT_FOUND'>> {
  const wantedId = 'id' in wanted ? ((yield* one<RedemptionRow>(REDEMPTION, [wanted.id]))?.voucher_id ?? wanted.id) : ''
  const voucher = yield* 'id' in wanted ? voucherBy('id', [wantedId]) : voucherBy(`${wanted.type}_hash`, wanted.hashes)
  if (voucher === undefined) return refuse('VOUCHER_NOT_FOUND')
  const { application_id: applicationId, id } = voucher
  const logged = loggedCalls(id)
  const [summary, inForce, reversed, message] = yield* interleave(
    templateSummary(new Map(), applicationId, voucher.template_id),
    all<RedemptionRow>('select * from redemptions where application_id = $1 and id = $2', [
      applicationId,
      voucher.redemption_id,
    ]),
    all<RedemptionRow>(
      `select * from redemptions where application_id = $1 and voucher_id = $2 and reversed_at is not null
       order by redeemed_at desc, id desc limit ${SHOWN_REDEMPTIONS_MAX + 1}`,
      [applicationId, id],
    ),
    one(
      selecting<Pick<MessageRow, 'chat_id' | 'message_id'>>()(
        'select chat_id, message_id from messages where application_id = $1 and voucher_id = $2',
      ),
      [applicationId, id],
    ),
  )
  const redemptions = [...reversed.slice(0, SHOWN_REDEMPTIONS_MAX).reverse(), ...inForce]
  const requests = redemptions.flatMap((it) => [it.redeem_request_id, it.reverse_request_id])
  const callers = redemptions.flatMap((it) => [it.redeemed_by, it.reversed_by])
  const life = {
    voucher,
    redemptions,
    logged,
    tokens: yield* tokensOf([voucher.issued_by, ...callers, ...logged.map((it) => it.calledBy)]),
    message: message ?? null,
    updates: yield* updatesOf([voucher.issue_request_id, ...requests], now),
  }
  return {
    ok: true,
    data: {
      voucher: voucherRecord(voucher, summary, now),
      events: eventsOf(life, now),
      older_redemptions: reversed.length > SHOWN_REDEMPTIONS_MAX,
    },
  }
}

/** Derives the credentials of a voucher of any application. */
export function* credentials(
  voucherId: string,
  keys: Keyring,
): Op<{ applicationId: string; credentials: Credential[] } | Refusal<'VOUCHER_NOT_FOUND'>> {
  const row = yield* voucherBy('id', [voucherId])
  if (row === undefined) return refuse('VOUCHER_NOT_FOUND')
  return { applicationId: row.application_id, credentials: credentialsOf(row, keys) }
}

/** Finds a voucher of any application, although the indexes of vouchers begin with the application. */
function* voucherBy(
  column: 'id' | 'redeem_code_hash' | 'qr_token_hash',
  values: readonly string[],
): Op<VoucherRow | undefined> {
  for (const value of values) {
    const row = yield* one<VoucherRow>(
      `select * from vouchers where application_id in (select id from applications) and ${column} = $1`,
      [value],
    )
    if (row !== undefined) return row
  }
  return undefined
}

/** Reads the application tokens of calls; prefixes of bot tokens and null have no row. */
function* tokensOf(callers: readonly (string | null)[]): Op<Pick<TokenRow, 'id' | 'name' | 'token_prefix'>[]> {
  const ids = [...new Set(callers)]
  const rows = yield* interleave(
    ...ids.map((id) =>
      one(
        selecting<Pick<TokenRow, 'id' | 'name' | 'token_prefix'>>()(
          'select id, name, token_prefix from tokens where id = $1',
        ),
        [id],
      ),
    ),
  )
  return rows.filter((it) => it !== undefined)
}

type CausedUpdate = Pick<UpdateRow, 'bot_id' | 'update_id' | 'type'> & { readonly request_id: string }

/** Reads the updates that requests caused, with their deliveries, by request id. Ignores null. */
function* updatesOf(requestIds: readonly (string | null)[], now: number): Op<Map<string, VoucherEvent['updates']>> {
  const found = yield* interleave(
    ...requestIds.map((id) =>
      all(
        selecting<CausedUpdate, { readonly waits: number }>()(`select bot_id, update_id, type, request_id,
           case when pending = 1 and (created_at > $2 or ${attempted('updates')}) and update_id > coalesce(
             (select q.confirmed_to from update_queues q where q.bot_id = updates.bot_id), 0)
           then 1 else 0 end as waits
         from updates where request_id = $1 order by bot_id`),
        [id, now - UNCONFIRMED_UPDATE_RETENTION_MS],
      ),
    ),
  )
  const updates = found.flat()
  const deliveries = yield* deliveriesOf(updates)
  const byRequest = new Map<string, VoucherEvent['updates']>()
  updates.forEach(({ bot_id, update_id, type, request_id, waits }, at) => {
    const update = { bot_id, update_id, type: type as VoucherEvent['updates'][number]['type'], pending: waits === 1 }
    byRequest.set(request_id, [...(byRequest.get(request_id) ?? []), { ...update, delivery: deliveries[at] ?? null }])
  })
  return byRequest
}
