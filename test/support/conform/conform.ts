import { afterAll, beforeAll } from 'vitest'
import { createHttpTransport } from '../../../src/client/http.js'
import { withSecure } from '../../../src/client/secure.js'
import type { Transport } from '../../../src/client/transport.js'
import { WebhookReceiver } from '../../../src/conform/receiver.js'
import type { Leftover, ProbeResult } from '../../../src/conform/result.js'
import { type ConformOptions, conform } from '../../../src/conform/start.js'
import type { WireExchange } from '../../../src/conform/wire.js'
import type { UpdateType } from '../../../src/contract/updates.js'
import type { SeedTemplate } from '../../../src/server/seed/schema.js'
import { startServer } from '../../../src/testing/index.js'
import { defaultSeed } from '../../../src/testing/options.js'
import type { Seed, StartOptions } from '../../../src/testing/types.js'
import { takeDatabase } from '../postgres/database.js'
import { onPostgres } from '../store/engine-name.js'

/** The reference server with all that a run can be offered. */
export interface Reference {
  readonly baseUrl: string
  readonly offer: Required<Pick<ConformOptions, 'credentials' | 'template' | 'botId' | 'chat'>>
  /** Runs probes against it, over `changed` in place of its own responses. */
  run(options?: RunChanges): Promise<{ readonly results: readonly ProbeResult[]; readonly left: readonly Leftover[] }>
  close(): Promise<void>
}

interface RunChanges {
  readonly only?: readonly string[]
  readonly readOnly?: boolean
  readonly encrypted?: boolean
  readonly maxWaitMs?: number
  readonly quota?: number
  /** Address of a proxy before the reference. */
  readonly baseUrl?: string
  /** Makes a deviant server of the reference. */
  readonly deviate?: (reference: Transport) => Transport
  readonly onExchange?: (exchange: WireExchange) => void
}

let runs = 0

/** Id of the application's template that the platform has rejected. */
const REJECTED = 'tpl_rejected'
const inReview = (template: SeedTemplate): SeedTemplate => ({
  ...template,
  id: REJECTED,
  external_template_id: 'rejected',
  status: 'reviewing',
})

type SeededOptions = Omit<StartOptions, 'seed'> & { readonly seed?: Seed }

export async function startReference({ seed = defaultSeed, ...options }: SeededOptions = {}): Promise<Reference> {
  const bots = (seed.bots ?? []).map((it) => ({ ...it, allowed_updates: [] as UpdateType[] }))
  const applications = (seed.applications ?? []).map((application) => ({
    ...application,
    templates: (application.templates ?? []).flatMap((one) => [one, inReview(one)]),
  }))
  const records = { ...seed, applications, bots }
  const database = onPostgres ? takeDatabase() : undefined
  const place = database === undefined ? {} : { databaseUrl: await database.url }
  const server = await startServer({ seed: records, clock: false, autoApprove: true, ...place, ...options })
  await server.operator.rejectTemplate({ templateId: REJECTED, code: 'unclear', reason: 'Name the shop.' })
  const [bot] = bots
  const botId = bot?.id ?? ''
  const jwt = await server.operator.issueAccountToken({ accountId: 'acme' })
  const chat = await server.operator.createChat({ bot_id: botId, user_id: 'user-1' })
  if (!jwt.ok || !chat.ok) throw new Error(`No account or no chat: ${JSON.stringify(jwt.ok ? chat : jwt)}`)
  const offer = {
    credentials: { token: server.token, jwt: jwt.data.jwt, bot: bot?.token ?? '' },
    template: seed.applications?.[0]?.templates?.[0]?.id ?? '',
    botId,
    chat: chat.data.id,
  }
  const receiver = await WebhookReceiver.listen(0)
  return {
    baseUrl: server.baseUrl,
    offer,
    async run({ only = [], readOnly = false, encrypted = false, maxWaitMs = 5_000, quota = 1_000, ...rest } = {}) {
      const { deviate = (it: Transport) => it, onExchange, baseUrl = server.baseUrl } = rest
      const results: ProbeResult[] = []
      const plain = deviate(createHttpTransport(baseUrl))
      runs += 1
      const run = `test${runs}`
      // Runs may be concurrent: nobody else writes into the chat of a run.
      const own = await server.operator.createChat({ bot_id: botId, user_id: run })
      if (!own.ok) throw new Error('The reference has no chat')
      const left = await conform({
        baseUrl,
        plain,
        ...(encrypted ? { encrypted: deviate(withSecure(plain, { mode: 'required', trustedChannel: true })) } : {}),
        ...offer,
        chat: own.data.id,
        receiver,
        quota,
        maxWaitMs,
        only,
        readOnly,
        rate: 1_000,
        run,
        signal: new AbortController().signal,
        onResult: (it) => results.push(it),
        ...(onExchange === undefined ? {} : { onExchange }),
      })
      return { results, left }
    },
    async close() {
      await receiver.close()
      await server.close()
      database?.release()
    },
  }
}

/** The startReference() of all tests of a file or a `describe`, which ends after them. */
export function useReference(options?: SeededOptions): Pick<Reference, 'baseUrl' | 'run'> {
  let reference: Reference
  beforeAll(async () => {
    reference = await startReference(options)
  })
  afterAll(() => reference.close())
  return {
    get baseUrl() {
      return reference.baseUrl
    },
    run: (changes) => reference.run(changes),
  }
}
