import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach } from 'vitest'
import { contract, endpoints } from '../../../src/contract/index.js'
import { keyChecks } from '../../../src/server/keys.js'
import { runWorkerPass } from '../../../src/store/delivery/worker-pass.js'
import { registerKeys } from '../../../src/store/keys.js'
import { exportText, filledTables, keyChecksOf } from '../../../src/store/move/export.js'
import { importRows, requireEmpty } from '../../../src/store/move/import.js'
import { openPostgresSource, openPostgresTarget } from '../../../src/store/move/postgres-session.js'
import { readExport } from '../../../src/store/move/read.js'
import type { MoveSource, MoveTarget } from '../../../src/store/move/session.js'
import { openSqliteSource } from '../../../src/store/move/sqlite-session.js'
import type { Store } from '../../../src/store/store.js'
import { START_MS, type TestApp, testApp } from '../server/app.js'
import { newChat } from '../server/chats.js'
import { Scene, samples } from '../server/scene.js'
import { temporaryFolder } from '../server/server.js'
import { newTenant } from '../server/tenant.js'
import { newDelivery } from '../server/webhooks.js'

/** Members of the export header that are equal in every test. */
const facts = { version: '0.0.0', exported_at: new Date(START_MS).toISOString(), transport_keys: null }

/** Creates a folder before each test; returns a function that returns a new database path in that folder. */
export function databaseFiles(): () => string {
  let folder: string
  let made = 0
  beforeEach(() => {
    folder = temporaryFolder()
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))
  return () => join(folder, `${++made}.db`)
}

export async function exportOf(source: MoveSource): Promise<string> {
  const header = { ...facts, schema: await source.schema(), keys: await keyChecksOf(source) }
  let whole = ''
  for await (const { text } of exportText(source, header, await filledTables(source))) whole += text
  return whole
}

export const fromPostgres = (url: string) => openPostgresSource({ url, env: {} })
export const toPostgres = (url: string) => openPostgresTarget({ url, env: {} })
export const fromSqlite = (path: string) => openSqliteSource(path) as MoveSource

/** Returns the export of a source as text and closes the source. */
export async function textOf(source: MoveSource | Promise<MoveSource>): Promise<string> {
  const opened = await source
  try {
    return await exportOf(opened)
  } finally {
    await opened.close()
  }
}

/** Yields an export in chunks, as a socket would. */
export async function* inPieces(text: string | Buffer, bytes = 64 * 1024): AsyncGenerator<Uint8Array> {
  const all = Buffer.from(text as string)
  for (let at = 0; at < all.length; at += bytes) yield all.subarray(at, at + bytes)
}

/** Imports an export into the target and closes the target. @throws the errors of `server import` */
export async function moveInto(target: MoveTarget, text: string | Buffer): Promise<void> {
  try {
    await requireEmpty(target)
    await importRows(target, await readExport(inPieces(text)), () => {})
    await target.commit()
  } finally {
    await target.close()
  }
}

/** The row lines of an export; unlike its first and last line, they depend on the rows only. */
export const rowLinesOf = (text: string): readonly string[] => text.split('\n').slice(1, -2)

/** Sends a request to every endpoint, so that every table gets rows. */
export async function fillStore(store: Store): Promise<void> {
  const server = testApp({ store })
  try {
    await store.write(() => registerKeys(keyChecks(server.deps.keys), START_MS))
    for (const endpoint of endpoints) {
      if (samples[endpoint.id] === undefined) continue
      const scene = await Scene.of(server, endpoint)
      const response = await scene.send()
      if (response.status >= 400) throw new Error(`${endpoint.id}: ${response.text}`)
      await scene.close()
    }
    await fillTexts(server)
    await makeDeliveries(server)
    await server.deps.tokenUses.flush()
    await server.deps.botCalls.flush()
  } finally {
    await server.close()
  }
}

/** Stores messages with characters that programs often encode wrongly. */
async function fillTexts(server: TestApp): Promise<void> {
  const tenant = await newTenant(server)
  const bot = await tenant.bot()
  const chat = await newChat(tenant, bot)
  const texts = [
    '\u00fc \u{1f375} \u6f22 "quoted" \\ }}{"end":',
    '\ufffd\u{10ffff}\ue000',
    'null',
    '1e3',
    "'; --",
    '\\u0000',
  ]
  for (const text of texts) {
    const sent = await tenant.operator(contract.platform.sendAsUser, { chatId: chat.id, text })
    if (sent.status >= 400) throw new Error(`${JSON.stringify(text)}: ${sent.text}`)
  }
}

/** Creates one failed delivery, one successful delivery and one in flight. */
export async function makeDeliveries(server: TestApp): Promise<void> {
  const { store } = server.deps
  for (const failed of [true, false, null]) {
    const tenant = await newTenant(server)
    const bot = await tenant.bot()
    await newDelivery(tenant, bot)
    const at = { bots: new Map([[bot.id, null]]), lostBefore: null, room: 1, now: START_MS, trueNow: START_MS }
    const { begun } = await store.write(() => runWorkerPass({ ...at, ended: [] }))
    const [attempt] = begun
    if (attempt === undefined) throw new Error('nothing was delivered')
    if (failed === null) continue
    const error = failed ? { code: 'http_status', message: 'The endpoint responded with 500.' } : null
    const outcome = { statusCode: failed ? 500 : 200, error, durationMs: 12 }
    const ended = [{ attempt, outcome, ipAddress: '93.184.215.14', endedAt: START_MS }]
    await store.write(() => runWorkerPass({ ...at, bots: new Map(), ended }))
  }
}
