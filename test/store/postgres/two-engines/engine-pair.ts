import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { MoveSource } from '../../../../src/store/move/session.js'
import { run } from '../../../../src/store/operation.js'
import { openPostgresStore } from '../../../../src/store/postgres/store.js'
import { openSqliteStore } from '../../../../src/store/sqlite/store.js'
import type { Store } from '../../../../src/store/store.js'
import { Random } from '../../../faults/random.js'
import { DELETE_ALL, takeDatabase } from '../../../support/postgres/database.js'
import { ApiResponse, type WireRequest } from '../../../support/server/client.js'
import { temporaryFolder } from '../../../support/server/server.js'
import { exportOf, fromPostgres, fromSqlite } from '../../../support/store/move.js'
import { withRandomOf } from './call-random.js'
import { EngineServer } from './engine-server.js'

/** A difference between the two engines. */
export class Difference extends Error {
  override readonly name = 'Difference'
  constructor(
    readonly of: 'responses' | 'exports',
    what: string,
    [sqlite, postgres]: readonly [string, string],
  ) {
    super(`${what}\n  SQLite:     ${sqlite}\n  PostgreSQL: ${postgres}`)
  }
}

/** The failure of an encrypted session as a response. */
const failedSession = ({ message }: Error) => new ApiResponse(0, {}, JSON.stringify({ success: false, code: message }))

const MASKED = /"(duration_ms|seq)":[0-9.]+/g

/** Sorts the remarks of a recording. */
function withSortedRemarks(_: string, value: unknown): unknown {
  const remarks = (value as { remarks?: unknown } | null)?.remarks
  return Array.isArray(remarks) ? { ...(value as object), remarks: remarks.toSorted() } : value
}

/**
 * The response as text, without the real time. The lines of a stream and the remarks of a recording are sorted:
 * both follow the log, and concurrent calls end in any order.
 */
function textOf({ status, headers: { date: _, ...headers }, text }: ApiResponse): string {
  const isStream = headers['content-type']?.includes('ndjson') === true
  if (isStream) {
    const lines = text.replaceAll(MASKED, '"$1":0').split('\n').sort()
    return `${status} ${JSON.stringify({ ...headers, 'content-length': undefined })} ${lines.join('\n')}`
  }
  const body = text.includes('"remarks":[') ? JSON.stringify(JSON.parse(text, withSortedRemarks)) : text
  return `${status} ${JSON.stringify(headers)} ${body}`
}

/** One server on SQLite and one on PostgreSQL, with equal ids and clocks, which get the same calls. */
export class EnginePair {
  #calls = 0
  /** The latest call, for the message of a difference. */
  #latest = 'no call'

  private constructor(
    readonly seed: string,
    readonly engines: readonly [EngineServer, EngineServer],
  ) {}

  static async start(seed: string, sqlite: Store, postgres: Store): Promise<EnginePair> {
    const pair = withRandomOf(
      `${seed} start`,
      () => new EnginePair(seed, [new EngineServer(sqlite), new EngineServer(postgres)]),
    )
    await pair.#onBoth('start', (it) => it.start())
    return pair
  }

  get latest(): string {
    return this.#latest
  }

  get operatorKey(): string {
    return this.engines[0].server.operatorKey
  }

  now(): number {
    return this.engines[0].server.clock.now()
  }

  advance(ms: number): void {
    for (const { server } of this.engines) server.clock.advance(ms)
  }

  /** Sends a call to both servers, in plain text or encrypted. @throws Difference */
  async send(request: WireRequest, isSealed = false): Promise<ApiResponse> {
    const call = ++this.#calls
    const [sqlite, postgres] = await this.#onBoth(`call ${call}`, ({ server, sealed }) =>
      isSealed ? sealed(request).catch(failedSession) : server.send(request),
    )
    return this.#equal(call, request, sqlite, postgres)
  }

  /** Sends a poll, and runs `meanwhile` while the poll waits on both servers. @throws Difference */
  async poll(request: WireRequest, meanwhile: () => Promise<void>): Promise<ApiResponse> {
    const call = ++this.#calls
    const polls = this.engines.map(({ server, polls }) => {
      const waits = new Promise<'waits'>((resolve) => {
        polls.beforeWait = async () => resolve('waits')
      })
      const response = withRandomOf(`${this.seed} call ${call}`, () => server.send(request))
      return { waits, response }
    })
    const states = await Promise.all(polls.map(({ waits, response }) => Promise.race([waits, response])))
    if (states.every((it) => it === 'waits')) await meanwhile()
    const [sqlite, postgres] = await Promise.all(polls.map((it) => it.response))
    return this.#equal(call, request, sqlite as ApiResponse, postgres as ApiResponse)
  }

  /** Does background work on both engines. @throws Difference */
  async work(): Promise<void> {
    const call = ++this.#calls
    const [sqlite, postgres] = await this.#onBoth(`call ${call}`, (it) =>
      it.work(new Random(`${this.seed} work ${call}`)),
    )
    this.#latest = `call ${call}, work in the background`
    if (sqlite !== postgres) throw new Difference('responses', this.#latest, [sqlite, postgres])
  }

  async close(): Promise<void> {
    for (const { server } of this.engines) await server.close()
  }

  #equal(call: number, request: WireRequest, sqlite: ApiResponse, postgres: ApiResponse): ApiResponse {
    const texts = [textOf(sqlite), textOf(postgres)] as const
    this.#latest = `call ${call}, ${request.method} ${request.path} ${request.body ?? ''}`
    if (texts[0] !== texts[1]) throw new Difference('responses', this.#latest, texts)
    for (const { server } of this.engines) {
      const error = server.errors.at(-1)
      if (error !== undefined) throw new Error(`${this.#latest}: a server failed`, { cause: error })
    }
    return sqlite
  }

  #onBoth<T>(name: string, call: (engine: EngineServer) => Promise<T>): Promise<[T, T]> {
    const [sqlite, postgres] = this.engines.map((it) => withRandomOf(`${this.seed} ${name}`, () => call(it)))
    return Promise.all([sqlite as Promise<T>, postgres as Promise<T>])
  }
}

/** The export of a source with the same engine name for both engines. */
async function comparableExport(source: MoveSource): Promise<string> {
  try {
    return await exportOf({ ...source, dialect: 'sqlite' })
  } finally {
    await source.close()
  }
}

/** Starts pairs of servers on empty stores, one after the other; reuses the PostgreSQL store. */
export class EnginePairs {
  readonly #database = takeDatabase()
  #postgres: Store | undefined

  /** Runs `use` with a new pair, then compares the exports of both stores. @throws Difference */
  async run(seed: string, use: (pair: EnginePair) => Promise<void>): Promise<void> {
    const url = await this.#database.url
    this.#postgres ??= await openPostgresStore({ url, env: {} })
    await this.#postgres.write(() => run(DELETE_ALL))
    const folder = temporaryFolder()
    const path = join(folder, 'voucherctl.db')
    const sqlite = openSqliteStore(path)
    try {
      const pair = await EnginePair.start(seed, sqlite, this.#postgres)
      try {
        await use(pair)
      } finally {
        await pair.close()
        await sqlite.close()
      }
      const exports = [await comparableExport(fromSqlite(path)), await comparableExport(await fromPostgres(url))]
      compareExports(pair.latest, exports[0] as string, exports[1] as string)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }

  async close(): Promise<void> {
    await this.#postgres?.close()
    this.#database.release()
  }
}

/** @throws Difference */
function compareExports(latest: string, sqlite: string, postgres: string): void {
  if (sqlite === postgres) return
  const [left, right] = [sqlite.split('\n'), postgres.split('\n')]
  const line = left.findIndex((it, index) => index > 0 && it !== right[index])
  const at = line === -1 ? 0 : line
  throw new Difference('exports', `line ${at + 1} of the export after ${latest}`, [String(left[at]), String(right[at])])
}
