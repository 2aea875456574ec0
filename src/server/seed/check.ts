import type { ValidationIssue } from '../../contract/envelope.js'
import { APPLICATIONS_PER_ACCOUNT } from '../../domain/application.js'
import { BOTS_PER_ACCOUNT } from '../../domain/bot/bot.js'
import { isWellFormedToken, tokenChecksum } from '../../domain/tokens.js'
import { readValidity } from '../../domain/validity.js'
import { parseBody } from '../http/body.js'
import { lazyValidator } from '../http/validation.js'
import { type Seed, type SeedBot, seedSchema } from './schema.js'

type CheckedSeed =
  | { readonly ok: true; readonly seed: Seed }
  | { readonly ok: false; readonly issues: readonly ValidationIssue[] }

const validate = lazyValidator(seedSchema)

/** Checks a value as a seed: the rules of the calls that would make its records, and fixed ids and tokens. */
export function checkSeed(value: unknown): CheckedSeed {
  // The rules for texts in a body (DECISIONS.md#text) hold for texts in a seed too.
  const body = parseBody(Buffer.from(JSON.stringify(value) ?? 'null'))
  if (!body.ok) return { ok: false, issues: issuesOf(body.details) }
  const issues = validate(body.value) ?? rulesOf(body.value as Seed)
  return issues.length === 0 ? { ok: true, seed: body.value as Seed } : { ok: false, issues }
}

function issuesOf({ errors, reason }: Readonly<Record<string, unknown>> = {}): readonly ValidationIssue[] {
  if (Array.isArray(errors)) return errors
  return [{ pointer: '', code: 'depth', message: `is ${String(reason ?? 'not readable')}` }]
}

function rulesOf(seed: Seed): ValidationIssue[] {
  const { account, applications = [], bots = [] } = seed
  const issues: ValidationIssue[] = []
  const wrong = (pointer: string, code: string, message: string) => void issues.push({ pointer, code, message })
  const taken = new Set<string>()
  /** Reports a value that an earlier record has; `kind` separates values that may be equal. */
  const unique = (pointer: string, kind: string, value: string) => {
    const key = `${kind} ${value}`
    if (taken.has(key)) wrong(pointer, 'unique', 'is that of an earlier record')
    taken.add(key)
  }
  const scopes = (pointer: string, values: readonly string[]) => {
    if (new Set(values).size < values.length) wrong(pointer, 'uniqueItems', 'must name each scope once')
  }
  const token = (pointer: string, prefix: 'sop_' | 'sbot_', value: string) => {
    const message = refuseToken(prefix, value)
    if (message === undefined) unique(pointer, 'token', value)
    else wrong(pointer, 'token', message)
  }
  const perAccount = (pointer: string, limit: number, records: readonly { account?: string }[]) => {
    for (const name of new Set(records.map((it) => it.account ?? account))) {
      const { length } = records.filter((it) => (it.account ?? account) === name)
      if (length > limit) wrong(pointer, 'maxItems', `must have at most ${limit} records of account ${name}`)
    }
  }

  for (const [n, application] of applications.entries()) {
    const at = `/applications/${n}`
    unique(`${at}/id`, 'id', application.id)
    for (const [i, it] of (application.tokens ?? []).entries()) {
      unique(`${at}/tokens/${i}/id`, 'id', it.id)
      scopes(`${at}/tokens/${i}/scopes`, it.scopes)
      token(`${at}/tokens/${i}/token`, 'sop_', it.token)
    }
    for (const [i, it] of (application.templates ?? []).entries()) {
      const pointer = `${at}/templates/${i}`
      unique(`${pointer}/id`, 'id', it.id)
      unique(`${pointer}/external_template_id`, application.id, it.external_template_id)
      const validity = readValidity(it.validity)
      if (!validity.ok) issues.push({ ...validity.issue, pointer: `${pointer}${validity.issue.pointer}` })
    }
  }
  perAccount('/applications', APPLICATIONS_PER_ACCOUNT, applications)

  for (const [n, bot] of bots.entries()) {
    const at = `/bots/${n}`
    unique(`${at}/id`, 'id', bot.id)
    unique(`${at}/username`, 'username', bot.username)
    scopes(`${at}/scopes`, bot.scopes ?? [])
    if (bot.token !== undefined) token(`${at}/token`, 'sbot_', bot.token)
    if (bot.avatar !== undefined && !URL.canParse(bot.avatar)) wrong(`${at}/avatar`, 'format', 'must be an https URL')
    if (bot.review_status === 'pending' && (bot.token !== undefined || bot.application_id !== undefined))
      wrong(`${at}/review_status`, 'const', 'must be approved for a bot with a token or an application')
    const link = refuseLink(seed, bot)
    if (link !== undefined) wrong(`${at}/application_id`, 'enum', link)
  }
  perAccount('/bots', BOTS_PER_ACCOUNT, bots)
  return issues
}

function refuseLink({ account, applications = [] }: Seed, bot: SeedBot): string | undefined {
  if (bot.application_id === undefined) return undefined
  const application = applications.find(({ id }) => id === bot.application_id)
  if (application === undefined) return 'must be the id of an application of the seed'
  const isSame = (application.account ?? account) === (bot.account ?? account)
  return isSame ? undefined : 'must be an application of the account of the bot'
}

/** Says what is wrong with a token, without the token itself; its checksum follows from the rest and is no secret. */
function refuseToken(prefix: 'sop_' | 'sbot_', value: string): string | undefined {
  if (value.startsWith(prefix) && isWellFormedToken(value)) return undefined
  const checksum = value.startsWith(prefix) ? tokenChecksum(value) : undefined
  return checksum === undefined
    ? `must be ${prefix}, 30 letters and digits, and their checksum of 6`
    : `must end with its checksum, the 6 characters ${checksum}`
}
