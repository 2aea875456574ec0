import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseObject } from '../../values/json.js'
import type { Host, Word } from '../host/host.js'

/** Age in ms up to which stored words replace a call, so that several Tabs in a row are one call. */
const FRESH_MS = 3_000
/** Age in ms up to which stored words replace a response that did not arrive in time. */
const STALE_MS = 60_000
const ENTRIES_MAX = 20

interface Entry {
  /** ms since 1970 */
  readonly at: number
  readonly words: readonly Word[]
}

interface CachedWords {
  readonly words: readonly Word[]
  readonly isFresh: boolean
}

const fileOf = ({ env, homeDir }: Pick<Host, 'env' | 'homeDir'>) =>
  join(env.XDG_CACHE_HOME || join(homeDir, '.cache'), 'voucherctl', 'completion.json')

/** Key of a list of ids. The credential is a part of it, so that no account is offered the ids of another. */
export const cacheKey = (...parts: readonly unknown[]) =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex')

/** Words of an earlier completion (DECISIONS.md#completion). */
export function readCached(host: Host, key: string): CachedWords | undefined {
  const { at, words } = entriesOf(host)[key] ?? {}
  if (typeof at !== 'number' || !Array.isArray(words)) return undefined
  const age = host.now() - at
  return age < 0 || age > STALE_MS ? undefined : { words, isFresh: age <= FRESH_MS }
}

/** Stores the words with mode 0600; a failure only costs the next completion a call. */
export async function writeCached(host: Host, key: string, words: readonly Word[]): Promise<void> {
  const { replaceFile } = await import('../../files/replace-file.js')
  const file = fileOf(host)
  const entries = Object.entries({ ...entriesOf(host), [key]: { at: host.now(), words } })
  const newest = entries.sort(([, one], [, other]) => other.at - one.at).slice(0, ENTRIES_MAX)
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    replaceFile(file, JSON.stringify(Object.fromEntries(newest)), { flush: false })
  } catch {
    // The folder is read-only or the disk is full.
  }
}

function entriesOf(host: Host): Readonly<Record<string, Entry>> {
  try {
    return (parseObject(readFileSync(fileOf(host), 'utf8')) ?? {}) as Record<string, Entry>
  } catch {
    return {}
  }
}
