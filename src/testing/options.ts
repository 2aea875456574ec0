import { botScopes, scopes } from '../contract/endpoint.js'
import { templateBody } from '../contract/openapi/template-body.js'
import { type RateLimit, rateLimitNames } from '../contract/rate-limits.js'
import { updateTypes } from '../contract/updates.js'
import { readText } from '../files/read-file.js'
import { type Clock, LATEST_TEST_TIME, steadyNow, systemClock, TestClock } from '../server/clock.js'
import type { ServerOptions } from '../server/options.js'
import type { Seed } from '../server/seed/schema.js'
import {
  INSTANT_WORDS,
  isDate,
  readBoolean,
  readInstant,
  readInteger,
  requireMembers,
  wrongType,
  wrongValue,
} from './arguments.js'
import type { StartOptions } from './types.js'

/** Default seed: an application that can issue and redeem, and its bot. */
export const defaultSeed: Seed = {
  account: 'acme',
  applications: [
    {
      id: 'app_shop',
      name: 'Shop',
      tokens: [
        { id: 'tok_shop', name: 'shop', token: 'sop_TokenOfTheShopInTests00000000041iuWD', scopes: [...scopes] },
      ],
      templates: [{ ...templateBody, id: 'tpl_coffee', external_template_id: 'coffee', issue_limit: 100_000 }],
    },
  ],
  bots: [
    {
      id: 'bot_shop',
      name: 'Shop bot',
      username: 'shop_bot',
      scopes: [...botScopes],
      application_id: 'app_shop',
      token: 'sbot_TokenOfTheBotInTests00000000001WcpfD',
      allowed_updates: [...updateTypes],
    },
  ],
}

interface CheckedOptions {
  readonly seed: Seed
  readonly autoApprove: boolean
  readonly clock: Clock
  readonly secure: boolean
  readonly requireSecure: boolean
  readonly rateLimits: NonNullable<ServerOptions['rateLimits']>
  readonly listens: boolean
  readonly databaseUrl?: string
}

const known = ['seed', 'autoApprove', 'clock', 'secure', 'databaseUrl', 'rateLimit', 'listen']

/** @throws TypeError or RangeError that names the wrong option */
export async function readOptions(options: StartOptions): Promise<CheckedOptions> {
  requireMembers('options', options, known)
  const { databaseUrl, secure } = options
  if (databaseUrl !== undefined && typeof databaseUrl !== 'string') {
    throw new TypeError('options.databaseUrl must be a URL such as postgres://user@localhost:5432/test')
  }
  if (secure !== undefined && secure !== 'required' && typeof secure !== 'boolean') {
    throw wrongType('options.secure', "true, false or 'required'", secure)
  }
  const clock = readClock(options.clock, databaseUrl !== undefined)
  return {
    autoApprove: readBoolean('options.autoApprove', options.autoApprove, false),
    clock,
    secure: secure !== false,
    requireSecure: secure === 'required',
    rateLimits: readLimits(options.rateLimit === undefined ? false : options.rateLimit),
    listens: readBoolean('options.listen', options.listen, true),
    ...(databaseUrl === undefined ? {} : { databaseUrl }),
    seed: await readSeedOption(options.seed, clock.now()),
  }
}

function readClock(value: StartOptions['clock'], onPostgres: boolean): Clock {
  if (value === false || (value === undefined && onPostgres)) return systemClock
  if (onPostgres) {
    throw new TypeError('options.clock must be absent or false with options.databaseUrl: PostgreSQL has no test clock')
  }
  if (value === undefined || value === true) return new TestClock()
  if (!isDate(value) && typeof value !== 'string') {
    throw wrongType('options.clock', `true, false, ${INSTANT_WORDS}`, value)
  }
  const startMs = readInstant('options.clock', value)
  if (startMs > LATEST_TEST_TIME) throw wrongValue('options.clock', 'a time before the year 9990', value)
  const shift = startMs - steadyNow()
  return new TestClock({ now: () => steadyNow() + shift })
}

function readLimits(value: StartOptions['rateLimit']): CheckedOptions['rateLimits'] {
  if (value === true) return {}
  if (value === false) return 'off'
  if (typeof value !== 'object' || value === null)
    throw wrongType('options.rateLimit', 'true, false or an object', value)
  requireMembers('options.rateLimit', value, rateLimitNames)
  for (const [name, limit] of Object.entries(value as Record<string, RateLimit>)) {
    const path = `options.rateLimit.${name}`
    requireMembers(path, limit, ['calls', 'seconds'])
    for (const member of ['calls', 'seconds'] as const) {
      const given: unknown = limit[member]
      if (readInteger(`${path}.${member}`, given, 1, 999_999_999) === undefined) {
        throw wrongType(`${path}.${member}`, 'a number', given)
      }
    }
  }
  return value as Exclude<typeof value, boolean | undefined>
}

export async function readSeedOption(value: StartOptions['seed'], now: number): Promise<Seed> {
  if (value === undefined) return defaultSeed
  if (typeof value === 'string') return readSeedFile(value, now)
  if (typeof value !== 'object' || value === null)
    throw wrongType('options.seed', 'a seed or the path of a file', value)
  const { checkSeed } = await import('../server/seed/read.js')
  const checked = checkSeed(value, now)
  if (checked.ok) return checked.seed
  const { issueText } = await import('../server/seed/read.js')
  const mistakes = checked.issues.map((issue) => issueText(issue, 'it'))
  throw new TypeError(`options.seed has mistakes: ${mistakes.join('; ')}`)
}

async function readSeedFile(path: string, now: number): Promise<Seed> {
  const { readSeed } = await import('../server/seed/read.js')
  let text: string
  try {
    text = readText(path)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new RangeError(`options.seed must be the path of a file that can be read, got '${path}' (${code})`, { cause })
  }
  const read = await readSeed(text, now)
  if (read.ok) return read.seed
  const mistakes = read.problems.map((it) => `${path}:${it.line}:${it.column} ${it.message}`)
  throw new RangeError(`options.seed names a file with mistakes:\n${mistakes.join('\n')}`)
}
