import { readConfig } from '../config/config.js'
import { durationMs } from '../flags/flags.js'
import type { Host } from '../host/host.js'
import { plainLine } from '../output/plain.js'
import type { Word } from './command-words.js'
import { type CompletionTarget, completionTargetAt } from './completion-target.js'
import type { LocalKind } from './kinds.js'
import { isShell, shells } from './shells.js'

/** Milliseconds from process start until completion gives up: the user waits after Tab (DECISIONS.md#completion). */
const CAP_MS = 150
/** Milliseconds to read the cache when no time is left for a call. */
const CACHE_READ_MS = 50
const CAP_VARIABLE = 'VOUCHERCTL_COMPLETION_TIMEOUT'

const SUMMARY_MAX = 60

const NEWEST = 100
/** Maximum bytes of an inbox that completion reads; opening a larger one takes too long. */
const INBOX_BYTES_MAX = 64 * 1024 * 1024
const API = '/api/v1'

/**
 * Completes an unfinished command line for the script of a shell. The first line of the result is `words`, `files` or
 * `folders`; after `words` follows one candidate per line, each with a tab and its summary.
 * @param args the name of the shell, and the command line as the script passes it
 * @param elapsedMs returns the milliseconds since the process started
 * @returns an empty text on any failure, because completion must not print errors
 */
export async function candidates(args: readonly string[], host: Host, elapsedMs: () => number): Promise<string> {
  const [name = '', ...rest] = args
  if (!isShell(name)) return ''
  const shell = shells[name]
  try {
    const typed = shell.read(rest, host.env)
    if (typed === 'redirection') return 'files\n'
    const target = await completionTargetAt(typed.before, typed.current)
    if (target.kind === 'files' || target.kind === 'folders') return `${target.kind}\n`
    const capMs = durationMs(host.env[CAP_VARIABLE] ?? '') ?? CAP_MS
    const words = await wordsOf(target, silent(host), () => capMs - elapsedMs())
    const lines = words
      .filter(({ value }) => isTypable(value))
      .filter(({ value }) => shell.chooses || `${target.prefix}${value}`.startsWith(typed.current))
      .map(({ value, summary }) => [shell.write(target.prefix, value, typed), short(plainLine(summary))])
      .map(([word, summary]) => (word === undefined ? '' : `${word}\t${summary}\n`))
    return `words\n${lines.join('')}`
  } catch {
    return ''
  }
}

async function wordsOf(target: CompletionTarget, host: Host, remainingMs: () => number): Promise<readonly Word[]> {
  if (target.kind === 'words') return target.words
  if (target.kind === 'local') return localWords[target.of](target, host)
  if (target.kind !== 'ids') return []
  const { liveWords } = await import('./live.js')
  let cached: readonly Word[] = []
  let timer: NodeJS.Timeout | undefined
  const tooLate = new Promise<readonly Word[]>((resolve) => {
    // A busy machine has used up the time before the cache is read.
    timer = setTimeout(() => resolve(cached), Math.max(remainingMs(), CACHE_READ_MS))
  })
  const onCached = (words: readonly Word[]) => {
    cached = words
  }
  try {
    return await Promise.race([liveWords(target, host, remainingMs, onCached), tooLate])
  } finally {
    clearTimeout(timer)
  }
}

type LocalTarget = Extract<CompletionTarget, { kind: 'local' }>

/** Functions that find candidates in files of this machine, without a call. */
const localWords: Readonly<Record<LocalKind, (target: LocalTarget, host: Host) => Promise<readonly Word[]>>> = {
  recorded: async ({ line: { given } }, host) => {
    const { inboxDirOf } = await import('../commands/webhook/inbox-dir.js')
    const { Inbox, inboxBytes } = await import('../../workbench/inbox.js')
    const dir = inboxDirOf(host, given.get('inbox')?.[0])
    if (inboxBytes(dir) > INBOX_BYTES_MAX) return []
    const inbox = new Inbox(dir)
    return inbox
      .find({}, NEWEST)
      .reverse()
      .map((it) => {
        const { id, at, verdict, type, update_id, reason } = it
        const what = update_id === null ? (reason ?? 'no update') : `${type ?? 'no type'} #${update_id}`
        return { value: id, summary: `${what}, ${verdict}, ${new Date(at).toISOString().slice(0, 19)}Z` }
      })
  },
  endpoints: async () => {
    const { endpoints } = await import('../../contract/index.js')
    return endpoints.filter((it) => it.caller !== 'operator').map(({ id, summary }) => ({ value: id, summary }))
  },
  routes: async ({ line: { path, operands }, current }) => {
    const { knownRoutes } = await import('../commands/api/endpoint.js')
    const method = operands[0]?.toUpperCase()
    const isInner = path[0] === 'secure'
    const routes = (await knownRoutes()).filter(
      (it) =>
        it.method === method && (!isInner || (it.path.startsWith(`${API}/`) && !it.path.startsWith(`${API}/secure/`))),
    )
    const isShort = !isInner && !current.startsWith(API)
    const shown = (it: string) => (isShort && it.startsWith(`${API}/`) ? it.slice(API.length) : it)
    return routes.map((it) => ({ value: shown(it.path), summary: it.summary }))
  },
  profiles: async (_target, host) => {
    const stored = readConfig(host)
    if (!stored.ok) return []
    return Object.entries(stored.config.profiles).map(([value, { base_url }]) => ({ value, summary: base_url ?? '' }))
  },
}

/** True if an id has no control character, which could break the command line of the shell. */
const isTypable = (value: string) => value !== '' && plainLine(value) === value

const short = (summary: string) => (summary.length > SUMMARY_MAX ? `${summary.slice(0, SUMMARY_MAX - 1)}…` : summary)

/** Copies a host, but without prompts and output. */
function silent({ env, cwd, homeDir, now, newId, version, document, signal, self }: Host): Host {
  const out = { write: () => {} }
  const stdin = { async *[Symbol.asyncIterator]() {} }
  const questions = () => Promise.reject(new Error('completion asks nothing'))
  const silenced = { stdin, stdout: out, stderr: out, questions }
  return { env, cwd, homeDir, now, newId, version, document, signal, self, ...silenced }
}
