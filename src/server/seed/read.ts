import { unescapePointer, type ValidationIssue } from '../../contract/envelope.js'
import { APPLICATIONS_PER_ACCOUNT } from '../../domain/application.js'
import { BOTS_PER_ACCOUNT } from '../../domain/bot/bot.js'
import { isWellFormedToken, tokenChecksum } from '../../domain/tokens.js'
import { readValidity } from '../../domain/validity.js'
import { type Problem, typeHint, YamlDocument } from '../../files/yaml-document.js'
import { issueOfFault } from '../faults.js'
import { parseBody } from '../http/body.js'
import { lazyValidator } from '../http/schema-validator.js'
import { type Seed, type SeedApplication, type SeedBot, seedSchema } from './schema.js'
import { timesOf } from './vouchers.js'

type ReadSeed =
  | { readonly ok: true; readonly seed: Seed }
  | { readonly ok: false; readonly problems: readonly Problem[] }

/** Reads a seed in YAML or JSON, or returns its mistakes with their places. No message contains a token. */
export async function readSeed(text: string, now = Date.now()): Promise<ReadSeed> {
  const document = new YamlDocument(text, await import('yaml'))
  if (document.problems.length > 0) return refused(document.problems)
  const checked = checkSeed(document.value, now)
  if (checked.ok) return checked
  const problems = checked.issues.map((issue) => ({
    ...document.placeOf(pathOf(issue)),
    message: `${issueText(issue, 'The file')}${issue.code === 'type' ? typeHint(document.value, pathOf(issue)) : ''}.`,
  }))
  return refused(problems.toSorted((a, b) => a.line - b.line || a.column - b.column))
}

function refused(problems: readonly Problem[]): ReadSeed {
  return { ok: false, problems: problems.map((it) => ({ ...it, message: withoutTokens(it.message) })) }
}

const pathOf = ({ pointer }: ValidationIssue) => pointer.split('/').slice(1).map(unescapePointer)

/** Describes a mistake without a token. @param root name of the whole seed */
export function issueText(issue: ValidationIssue, root: string): string {
  const { message, suggestion } = issue
  const hint = suggestion === undefined ? '' : ` (${suggestion})`
  return withoutTokens(`${nameOf(pathOf(issue)) || root} ${message}${hint}`)
}

/** Formats a path as people write it: `applications[0].name`. */
const nameOf = (path: readonly string[]) =>
  path.map((it, n) => (/^\d+$/.test(it) ? `[${it}]` : `${n === 0 ? '' : '.'}${it}`)).join('')

/** Hides text in the form of a token, because messages repeat misplaced names from the file. */
export const withoutTokens = (text: string) => text.replace(/\b(sop|sbot)_\w{4,}/g, '$1_…')

type CheckedSeed =
  | { readonly ok: true; readonly seed: Seed }
  | { readonly ok: false; readonly issues: readonly ValidationIssue[] }

const validate = lazyValidator(seedSchema)

/** Checks a value as a seed: the rules of the calls that create such records, and fixed ids and tokens. */
export function checkSeed(value: unknown, now = Date.now()): CheckedSeed {
  // Texts of a seed follow the rules for texts in a body (rules/calls.md#text).
  const body = parseBody(Buffer.from(JSON.stringify(value) ?? 'null'))
  if (!body.ok) return { ok: false, issues: issuesOf(body.details) }
  const issues = validate(body.value) ?? rulesOf(body.value as Seed, now)
  return issues.length === 0 ? { ok: true, seed: body.value as Seed } : { ok: false, issues }
}

function issuesOf({ errors, reason }: Readonly<Record<string, unknown>> = {}): readonly ValidationIssue[] {
  if (Array.isArray(errors)) return errors
  return [{ pointer: '', code: 'depth', message: `is ${String(reason ?? 'not readable')}` }]
}

function rulesOf(seed: Seed, now: number): ValidationIssue[] {
  const check = new SeedCheck(seed)
  for (const [n, application] of (seed.applications ?? []).entries())
    check.application(`/applications/${n}`, application, now)
  check.perAccount('/applications', APPLICATIONS_PER_ACCOUNT, seed.applications)
  for (const [n, bot] of (seed.bots ?? []).entries()) check.bot(`/bots/${n}`, bot)
  check.perAccount('/bots', BOTS_PER_ACCOUNT, seed.bots)
  for (const [n, fault] of (seed.faults ?? []).entries()) {
    const issue = issueOfFault(fault)
    if (issue !== undefined) check.issues.push({ ...issue, pointer: `/faults/${n}${issue.pointer}` })
  }
  return check.issues
}

/** Collects the issues of a seed, each at the JSON pointer of its record. */
class SeedCheck {
  readonly issues: ValidationIssue[] = []
  readonly #seed: Seed
  readonly #taken = new Set<string>()

  constructor(seed: Seed) {
    this.#seed = seed
  }

  application(at: string, application: SeedApplication, now: number): void {
    this.#unique(`${at}/id`, 'id', application.id)
    for (const [i, it] of (application.tokens ?? []).entries()) {
      this.#unique(`${at}/tokens/${i}/id`, 'id', it.id)
      this.#scopes(`${at}/tokens/${i}/scopes`, it.scopes)
      this.#token(`${at}/tokens/${i}/token`, 'sop_', it.token)
    }
    const { templates = [], vouchers = [] } = application
    for (const [i, it] of templates.entries()) {
      const pointer = `${at}/templates/${i}`
      this.#unique(`${pointer}/id`, 'id', it.id)
      this.#unique(`${pointer}/external_template_id`, application.id, it.external_template_id)
      const issued = vouchers.filter(({ template_id }) => template_id === it.id).length
      if (issued > it.issue_limit)
        this.#wrong(`${pointer}/issue_limit`, 'minimum', `must be at least ${issued}, the number of its vouchers`)
      const validity = readValidity(it.validity)
      if (!validity.ok) this.issues.push({ ...validity.issue, pointer: `${pointer}${validity.issue.pointer}` })
    }
    for (const [i, it] of vouchers.entries()) {
      const pointer = `${at}/vouchers/${i}`
      this.#unique(`${pointer}/external_issue_id`, it.template_id, it.external_issue_id)
      const template = templates.find(({ id, status = 'active' }) => id === it.template_id && status === 'active')
      if (template === undefined)
        this.#wrong(`${pointer}/template_id`, 'enum', 'must be the id of an active template of the application')
      else if (readValidity(template.validity).ok && timesOf(template, it.status, now) === null)
        this.#wrong(`${pointer}/status`, 'const', `must be a status that the validity of ${template.id} allows now`)
    }
  }

  bot(at: string, bot: SeedBot): void {
    this.#unique(`${at}/id`, 'id', bot.id)
    this.#unique(`${at}/username`, 'username', bot.username)
    this.#scopes(`${at}/scopes`, bot.scopes ?? [])
    if (bot.token !== undefined) this.#token(`${at}/token`, 'sbot_', bot.token)
    if (bot.avatar !== undefined && !URL.canParse(bot.avatar))
      this.#wrong(`${at}/avatar`, 'format', 'must be an https URL')
    if (bot.review_status === 'pending' && (bot.token !== undefined || bot.application_id !== undefined))
      this.#wrong(`${at}/review_status`, 'const', 'must be approved for a bot with a token or an application')
    const link = refuseLink(this.#seed, bot)
    if (link !== undefined) this.#wrong(`${at}/application_id`, 'enum', link)
  }

  perAccount(pointer: string, limit: number, records: readonly { account?: string }[] = []): void {
    const { account } = this.#seed
    for (const name of new Set(records.map((it) => it.account ?? account))) {
      const { length } = records.filter((it) => (it.account ?? account) === name)
      if (length > limit) this.#wrong(pointer, 'maxItems', `must have at most ${limit} records of account ${name}`)
    }
  }

  /** Reports a value that an earlier record has too; `kind` separates values that may be equal. */
  #unique(pointer: string, kind: string, value: string): void {
    const key = `${kind} ${value}`
    if (this.#taken.has(key)) this.#wrong(pointer, 'unique', 'is taken by an earlier record')
    this.#taken.add(key)
  }

  #scopes(pointer: string, values: readonly string[]): void {
    if (new Set(values).size < values.length) this.#wrong(pointer, 'uniqueItems', 'must name each scope once')
  }

  #token(pointer: string, prefix: 'sop_' | 'sbot_', value: string): void {
    const message = refuseToken(prefix, value)
    if (message === undefined) this.#unique(pointer, 'token', value)
    else this.#wrong(pointer, 'token', message)
  }

  #wrong(pointer: string, code: string, message: string): void {
    this.issues.push({ pointer, code, message })
  }
}

function refuseLink({ account, applications = [] }: Seed, bot: SeedBot): string | undefined {
  if (bot.application_id === undefined) return undefined
  const application = applications.find(({ id }) => id === bot.application_id)
  if (application === undefined) return 'must be the id of an application of the seed'
  const isSame = (application.account ?? account) === (bot.account ?? account)
  return isSame ? undefined : 'must be an application of the account of the bot'
}

/** Says what is wrong with a token, without the token itself. The checksum may be shown: it follows from the rest. */
function refuseToken(prefix: 'sop_' | 'sbot_', value: string): string | undefined {
  if (value.startsWith(prefix) && isWellFormedToken(value)) return undefined
  const checksum = value.startsWith(prefix) ? tokenChecksum(value) : undefined
  return checksum === undefined
    ? `must be ${prefix}, 30 letters and digits, and their checksum of 6`
    : `must end with its checksum, the 6 characters ${checksum}`
}
