import { setMaxListeners } from 'node:events'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Client } from 'pg'
import { contract } from '../../../src/contract/index.js'
import { pause } from '../../../src/files/pause.js'
import { openDatabase } from '../../../src/store/sqlite/engine.js'
import { startPostgres } from '../../support/postgres/server.js'
import { type ApiResponse, callerOf } from '../../support/server/client.js'
import { codeOf, newTenant, type Tenant } from '../../support/server/tenant.js'
import { type Explain, fullScansOfFind } from '../../support/store/find-plans.js'
import type { Campaign, Facts, Run } from '../campaign.js'
import { type Server, startServer, tenantAt } from '../server.js'

const CONNECTIONS = 12
/** Calls a second within the default rate limits of the console and of an application. */
const CONSOLE_PER_SECOND = 10
const BOT_CALLS_PER_SECOND = 30
const READS_PER_SECOND = 100
const VERIFY_EVERY_MS = 10
const RATIO_MAX = 3
/** A shorter p99 counts as this: the client itself, its timers and, in the short form, other work take as long. */
const P99_MS_MIN = { short: 20, long: 5 }

interface Owner {
  readonly tenant: Tenant
  readonly botId: string
  readonly botToken: string
  readonly templateId: string
}

/** Rows of one tenant; `i` counts from 1. They are spread over the last day and over all states. */
const rowsOf = ({ tenant, botId, templateId }: Owner, now: number, n: number): readonly string[] => {
  const at = `${now} - ((${n} - i) * 80000000.0) / ${n}`
  const time = `cast(${at} as bigint)`
  const from = `from (with recursive n (i) as (select 1 union all select i + 1 from n where i < ${n}) select i from n) n`
  const status = `case i % 5 when 0 then 'dead_letter' when 1 then 'cancelled' when 2 then 'failed' else 'delivered' end`
  const app = `'${tenant.appId}'`
  return [
    `update update_queues set last_update_id = ${n} where bot_id = '${botId}'`,
    `insert into updates (bot_id, update_id, type, body, created_at, pending)
     select '${botId}', i, 'ping', '{}', ${time}, i % 2 ${from}`,
    `insert into deliveries (id, bot_id, update_id, update_type, chat_key, status, cancel_reason, attempt_count,
       manual_attempt_count, created_at, last_attempt_at, next_attempt_at, ready)
     select 'dlv_' || i, '${botId}', i, 'ping', 'c', ${status}, case when i % 5 = 1 then 'dropped' end, 1, 0, ${time},
       ${time}, case when i % 5 = 2 then ${now + 10 ** 12} end, 0 ${from}`,
    `insert into delivery_attempts (delivery_id, number, bot_id, manual, started_at, duration_ms, status_code, error_code)
     select 'dlv_' || i, 1, '${botId}', 0, ${time}, i % 1000, 200, case when i % 3 = 0 then 'http_status' end ${from}`,
    `insert into tokens (id, application_id, name, token_hash, token_prefix, last4, scopes, created_at, revoked_at)
     select 'tok_' || i, ${app}, 'a', 'hash' || i, 'sop_', 'abcd', '[]', ${time}, ${time} ${from}`,
    `insert into templates (application_id, id, account_id, external_template_id, name, type, issuer_name,
       fulfiller_name, fulfillment_category, acquisition_source, validity, issue_limit, issued_count, status, metadata,
       created_at, updated_at, submitted_at)
     select ${app}, 'tpl_' || i, account_id, 'ext' || i, name, type, issuer_name, fulfiller_name, fulfillment_category,
       acquisition_source, validity, 10, 0, case i % 2 when 0 then 'draft' else 'reviewing' end, metadata, ${time},
       ${time}, ${time} ${from}, templates where id = '${templateId}'`,
    `insert into vouchers (application_id, id, template_id, external_issue_id, recipient_user_id, state, valid_from,
       valid_until, code_hint, key_id, key_counter, redeem_code_hash, qr_token_hash, channel, issued_at,
       issue_request_id, issued_by, metadata, updated_at, redeemed_at, redemption_id)
     select ${app}, 'vch_' || i, '${templateId}', 'i' || i, 'user' || (i % 1000), 'redeemed', 0, ${now + 10 ** 9}, 'abcd',
       'k', 0, 'r' || i, 'q' || i, 'direct', ${time}, 'req', 'tok', '{}', ${time}, ${time}, 'rdm_' || i ${from}`,
    `insert into redemptions (application_id, id, voucher_id, template_id, external_issue_id, recipient_user_id,
       credential_type, metadata, redeemed_at, redeem_request_id, redeem_idempotency_key, redeemed_by)
     select ${app}, 'rdm_' || i, 'vch_' || i, '${templateId}', 'i' || i, 'user' || (i % 1000), 'redeem_code', '{}',
       ${time}, 'req', 'key' || i, 'tok' ${from}`,
    `update templates set issued_count = ${n}, issue_limit = ${n} where id = '${templateId}'`,
    `insert into bot_calls (bot_id, minute, method, status, code, calls)
     select '${botId}', ${Math.floor(now / 60_000)} - i / 16, 'method' || (i % 16), 200, '', 1 ${from} where i <= 20000`,
    `insert into chats (id, bot_id, user_id, type, blocked, last_message_id, created_at)
     select 'chat_' || i, '${botId}', 'user' || i, 'private', 0, 0, ${time} ${from}`,
  ]
}

type Lists = Readonly<Record<string, readonly [perSecond: number, call: (tenant: Tenant) => Promise<ApiResponse>]>>

/** Every list and count that can be long. */
function listsOf({ botId, botToken, templateId }: Owner, n: number, hasTestClock: boolean): Lists {
  const deep = Math.floor(n / 50)
  const { bots, platform, templates, tokens, webhook } = contract
  const deliveries = (filter: { status?: 'delivered' | 'failed' | 'cancelled'; page?: number }) =>
    [CONSOLE_PER_SECOND, (it: Tenant) => it.console(webhook.deliveries, { botId, ...filter })] as const
  const operator = (call: (it: Tenant) => Promise<ApiResponse>) => [READS_PER_SECOND, call] as const
  return {
    deliveries: deliveries({}),
    'deliveries, deep page': deliveries({ page: deep }),
    'deliveries?status=delivered': deliveries({ status: 'delivered' }),
    'deliveries?status=delivered, deep page': deliveries({ status: 'delivered', page: Math.floor(deep / 3) }),
    'deliveries?status=failed': deliveries({ status: 'failed' }),
    'deliveries?status=cancelled, deep page': deliveries({ status: 'cancelled', page: Math.floor(deep / 3) }),
    metrics: [CONSOLE_PER_SECOND, (it) => it.console(bots.metrics, { botId })],
    getWebhookInfo: [BOT_CALLS_PER_SECOND, (it) => callerOf(it.place.send, botToken)(webhook.info, {})],
    'tokens, deep page': [CONSOLE_PER_SECOND, (it) => it.console(tokens.list, { appId: it.appId, page: deep })],
    'a new token': [
      CONSOLE_PER_SECOND,
      (it) => it.console(tokens.create, { appId: it.appId, name: 'a', scopes: ['vouchers:read'] }),
    ],
    'templates, deep page': [READS_PER_SECOND, (it) => it.runtime(templates.list, { page: deep })],
    'templates?status=active': [READS_PER_SECOND, (it) => it.runtime(templates.list, { status: 'active' })],
    'templates?external_template_id': [
      READS_PER_SECOND,
      (it) => it.runtime(templates.list, { external_template_id: 'ext1' }),
    ],
    'all deliveries?status=failed': operator((it) => it.operator(platform.deliveries, { status: 'failed' })),
    'all vouchers, deep page': operator((it) => it.operator(platform.vouchers, { page: deep })),
    'all vouchers?status=issued': operator((it) => it.operator(platform.vouchers, { status: 'issued' })),
    'all vouchers?template_id': operator((it) => it.operator(platform.vouchers, { template_id: templateId })),
    'all templates?status=draft': operator((it) => it.operator(platform.templates, { status: 'draft' })),
    'chats of a bot, deep page': operator((it) => it.operator(platform.chats, { bot_id: botId, page: deep })),
    'chats of a user': operator((it) => it.operator(platform.chats, { user_id: 'user1' })),
    applications: operator((it) => it.operator(platform.applications, {})),
    reviews: operator((it) => it.operator(platform.reviews, {})),
    totals: operator((it) => it.operator(platform.totals, {})),
    'totals?template_id': operator((it) => it.operator(platform.totals, { template_id: templateId })),
    'all deliveries?update_id': operator((it) => it.operator(platform.deliveries, { update_id: 1 })),
    'deliveries of a chat, deep page': operator((it) => it.operator(platform.deliveries, { chat_id: 'c', page: deep })),
    'all bots': operator((it) => it.operator(platform.bots, {})),
    // People search, a few times a minute.
    find: [CONSOLE_PER_SECOND, (it) => it.operator(platform.find, { text: 'user1' })],
    recording: [CONSOLE_PER_SECOND, (it) => it.operator(platform.recordScenario, {})],
    ...(hasTestClock ? { forecast: operator((it) => it.operator(platform.forecast, { seconds: 86_400 })) } : {}),
  }
}

/** Verifies a voucher of another tenant again and again; returns the p99 in milliseconds. */
async function verifies(call: () => Promise<ApiResponse>, ms: number, broken: string[]): Promise<number> {
  const until = performance.now() + ms
  const times: number[] = []
  while (performance.now() < until) {
    const begun = performance.now()
    const { status, text } = await call()
    times.push(performance.now() - begun)
    if (status !== 200) broken.push(`verify got ${status} ${text}`)
    await wait(VERIFY_EVERY_MS)
  }
  return times.sort((one, next) => one - next)[Math.floor(times.length * 0.99)] ?? 0
}

async function tryAll(server: Server, lists: Lists, owner: Tenant, other: Tenant, run: Run, broken: string[]) {
  const ms = run.quick ? 300 : 10_000
  const least = run.quick ? P99_MS_MIN.short : P99_MS_MIN.long
  const facts: Record<string, string> = {}
  const credential = codeOf(await other.issue())
  const verify = () => other.runtime(contract.vouchers.verify, { credential })
  await verifies(verify, ms, broken)
  const quiet = await verifies(verify, ms * 2, broken)
  facts['quiet p99'] = `${quiet.toFixed(1)} ms`
  const lines = Array.from({ length: CONNECTIONS }, () => server.line())
  for (const [name, [perSecond, call]] of Object.entries(lists)) {
    run.say(name)
    const over = new AbortController()
    // One for each connection that waits.
    setMaxListeners(CONNECTIONS, over.signal)
    let calls = 0
    const loads = lines.map(async ({ send }, index) => {
      const tenant = tenantAt({ send, operatorKey: server.operatorKey }, owner)
      await pause((1_000 * index) / perSecond, over.signal)
      while (!over.signal.aborted) {
        const { status, text, code } = await call(tenant)
        calls += 1
        // An application has a maximum of active tokens.
        if (status >= 300 && code !== 'TOKEN_LIMIT_REACHED') broken.push(`${name} got ${status} ${text.slice(0, 200)}`)
        await pause((1_000 * CONNECTIONS) / perSecond, over.signal)
      }
    })
    const p99 = await verifies(verify, ms, broken)
    over.abort()
    await Promise.all(loads)
    const ratio = Math.max(p99, least) / Math.max(quiet, least)
    facts[name] = `${ratio.toFixed(1)}x (${p99.toFixed(1)} ms, ${calls} calls)`
    if (ratio > RATIO_MAX * run.patience) broken.push(`beside ${name} the p99 of verify is ${ratio.toFixed(1)} times`)
  }
  for (const line of lines) line.close()
  return facts
}

async function requireIndexes(explain: Explain, broken: string[]): Promise<void> {
  for (const scan of await fullScansOfFind(explain)) broken.push(`a search reads a whole table: ${scan}`)
}

async function onEngine(run: Run, folder: string, url: string | undefined, broken: string[]): Promise<Facts> {
  const n = run.quick ? 20_000 : 1_000_000
  const flags = ['--rate-limit', 'off', ...(url === undefined ? ['--test-clock'] : [])]
  const env: Record<string, string> = url === undefined ? {} : { VOUCHERCTL_DATABASE_URL: url }
  const first = await startServer(run.root, folder, flags, env)
  const tenant = await newTenant(first)
  const { id: botId, token: botToken } = await tenant.bot()
  const { id: templateId } = await tenant.template()
  const other = await newTenant(first)
  const owner = { tenant, botId, botToken, templateId }
  await first.stop()
  const statements = [...rowsOf(owner, Date.now(), n), 'analyze']
  if (url === undefined) {
    const db = openDatabase(join(folder, 'voucherctl.db'))
    for (const sql of statements.slice(0, -1)) db.exec(sql)
    await requireIndexes(async (sql) => {
      const plan = db.prepare(`explain query plan ${sql}`).all() as readonly { readonly detail: string }[]
      return plan.map((it) => it.detail)
    }, broken)
    db.close()
  } else {
    const client = new Client({ connectionString: url })
    await client.connect()
    for (const sql of statements) await client.query(sql)
    await requireIndexes(async (sql, params) => {
      const { rows } = await client.query<{ 'QUERY PLAN': string }>(`explain ${sql}`, [...params])
      return rows.map((it) => it['QUERY PLAN'])
    }, broken)
    await client.end()
  }
  const server = await startServer(run.root, folder, flags, env)
  const lists = listsOf(owner, n, url === undefined)
  const facts = await tryAll(server, lists, tenant, tenantAt(server, other), run, broken)
  await server.stop()
  return facts
}

export const longLists: Campaign = {
  row: 'R20',
  name: 'long lists: every list, count and search with a million rows of one tenant, beside the verify of another',
  tags: ['lists/5'],
  requirement:
    'A tenant has many rows. Beside each of its lists, the p99 of another tenant at most triples, and searches use indexes.',

  async run(run: Run) {
    const broken: string[] = []
    const sqlite = await onEngine(run, join(run.folder, 'sqlite'), undefined, broken)
    const database = await startPostgres()
    try {
      const postgres = await onEngine(run, join(run.folder, 'postgres'), database.url, broken)
      const named = (facts: Facts, engine: string) =>
        Object.fromEntries(Object.entries(facts).map(([name, value]) => [`${engine}: ${name}`, value]))
      return { facts: { ...named(sqlite, 'SQLite'), ...named(postgres, 'PostgreSQL') }, broken }
    } finally {
      await database.remove()
    }
  },
}
