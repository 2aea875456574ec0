import { constants, lstat, open, realpath } from 'node:fs/promises'
import { isAbsolute, parse, relative, resolve } from 'node:path'
import { looksSecret, secretMembers } from '../../contract/secrets.js'
import { type Failure, fail } from '../failures/failure.js'
import type { Host } from '../host/host.js'

const BYTES_MAX = 1024 * 1024
const HINT = `Tools read regular files of at most 1 MiB below the folder in which \`voucherctl mcp serve\` was started, ending in .yaml, .yml or .json.`

/** Reads a file for a model (rules/cli.md#tools-for-models). All refusals are alike: they reveal no existing file. */
export async function readAgentFile(host: Host, path: string) {
  const read = await bytesOf(host.cwd, path).catch(() => undefined)
  return read ? { ok: true as const, text: String(read) } : fail('FILE_UNREADABLE', `Tools cannot read ${path}.`, HINT)
}

async function bytesOf(cwd: string, path: string): Promise<Buffer | undefined> {
  const absolute = resolve(cwd, path)
  // On Windows, a path to a share would send the user's credentials to another machine.
  if (parse(absolute).root !== parse(cwd).root) return undefined
  const real = await realpath(absolute)
  const below = relative(await realpath(cwd), real)
  if (/^\.\.(?:[/\\]|$)/.test(below) || isAbsolute(below) || !/\.(?:yaml|yml|json)$/.test(real)) return undefined
  // Opening a device can have an effect.
  if (!(await lstat(real)).isFile()) return undefined
  const file = await open(real, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
  try {
    const [opened, named, again] = [await file.stat(), await lstat(real), await realpath(absolute)]
    // Another process may have replaced the file, or a folder above it, before it was opened.
    if (!opened.isFile() || opened.ino !== named.ino || opened.dev !== named.dev || again !== real) return undefined
    const bytes = Buffer.concat(await file.createReadStream({ end: BYTES_MAX, autoClose: false }).toArray())
    return bytes.length > BYTES_MAX ? undefined : bytes
  } finally {
    await file.close()
  }
}

/** Keeps where a file has mistakes, but not the messages, because they quote the file. */
export function withoutQuotes(failure: Failure): Failure {
  const message = 'There is a mistake here. Tools do not quote files: to see the mistake, pass the text as input.'
  const errors = (failure.details.errors ?? []) as readonly { pointer: string }[]
  const places = errors.map(({ pointer }) => ({ pointer, message }))
  return { ...failure, details: { errors: places } }
}

/** Words that name a credential, in a variable or in a member of its value; matched with any case. */
const SECRET = [
  secretMembers.ofSettings.source,
  String.raw`(?:pass|pwd|auth|creds?|otp)(?![a-z])|pass(?:w|code|phrase)|phrase|cookie|mnemonic`,
  String.raw`(?<![a-z])(?:bearer|hmac|pat|pin|salt|sess(?:ion)?(?:id)?|sig(?:nature)?)(?![a-z])`,
].join('|')
/** The working folders PWD and OLDPWD are no passwords. */
const CREDENTIAL_NAME = new RegExp(`^(?!(?:old)?pwd$).*(?:${SECRET}|(?<![a-z])(?:database|dsn|private)(?![a-z]))`, 'i')
const CREDENTIAL_VALUES = [
  // User information of a URL, whose password may contain / or @, or of an address without a scheme.
  /\/\/(?:[^\s/]*|[^\s/@]*:.*)@|(?:^|[\s"'=])[^\s/:@]+:[^\s/@]+@/,
  /\b(?:bearer|basic)\s+\S/i,
  // A member of a query, of a connection string, of JSON, or a header.
  new RegExp(String.raw`(?:${SECRET})[\w-]{0,40}(?:\s*=|\\?["']\s*:|:\s)\s*["']?[^\s"'&;]`, 'i'),
  // Private keys, also in base64, and tokens of services that mark theirs.
  /-----BEGIN [A-Z ]*PRIVATE KEY|\bLS0tLS1CRUdJTi|\bAGE-SECRET-KEY-/,
  /\b(?:gh[oprsu]_|github_pat_|glpat-|npm_|hf_|whsec_|xox[a-z]-|[rs]k[-_]|(?:AKIA|ASIA)[0-9A-Z]{12}|AIza)[\w-]{4}/,
]

/** True for a variable that holds a credential, by its name or by its value. */
export const isCredential = (name: string, value = '') =>
  CREDENTIAL_NAME.test(name) || CREDENTIAL_VALUES.some((it) => it.test(value)) || looksSecret(name, value)

/** Returns the variables that scenarios of a model may use. @param named names of `--env` */
export function agentEnvironment(env: Host['env'], named: readonly string[]): Host['env'] {
  const isAllowed = (name: string) => name.startsWith('VOUCHERCTL_') || named.includes(name)
  return Object.fromEntries(Object.entries(env).filter(([name, it]) => isAllowed(name) && !isCredential(name, it)))
}
