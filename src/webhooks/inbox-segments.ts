// The files of an inbox folder. Every process that writes has a segment file of its own, so that a listener and a
// replay, or two listeners, never wait for one another and no write of one can tear that of another.
import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { HEADER_BYTES, MAGIC, readAt } from './inbox-frames.js'

const SEGMENT = /^(\d{6})\.seg$/
const CLAIM = /^(\d{6})\.claim-(\d+)-(\d+)-[0-9a-f]+$/

const INBOX_FILE = /^\d{6}\.(?:(?:seg|idx)(?:\.[0-9a-f]+)?|claim-\d+-\d+-[0-9a-f]+)$/

const nameOf = (segment: number) => String(segment).padStart(6, '0')
export const segmentPath = (dir: string, segment: number) => join(dir, `${nameOf(segment)}.seg`)
export const indexPath = (dir: string, segment: number) => join(dir, `${nameOf(segment)}.idx`)

/** Numbers of the segments that are there, ascending. */
export function listSegments(dir: string): number[] {
  return namesIn(dir)
    .flatMap((name) => SEGMENT.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b)
}

function namesIn(dir: string): string[] {
  try {
    return readdirSync(dir)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
}

export interface Claim {
  readonly segment: number
  /** Says how many deliveries were there before: those that come now may still be on their way to their answer. */
  beginAfter(deliveries: number): void
  release(): void
}

/**
 * A segment that this process alone writes: the last one when nobody holds it and it is small enough, else a new one.
 * Whoever wants one says so first and looks for others afterwards: of two that come together, at least one sees the
 * other and gives way. A claim of a process that died counts no more.
 */
export function claimSegment(dir: string, isFull: (path: string) => boolean): Claim {
  const last = listSegments(dir).at(-1) ?? 0
  if (last > 0 && !isFull(segmentPath(dir, last))) {
    const claim = tryClaim(dir, last)
    if (claim !== undefined) return claim
  }
  for (let segment = last + 1; ; segment += 1) {
    if (existsSync(segmentPath(dir, segment)) || !create(segmentPath(dir, segment))) continue
    const claim = tryClaim(dir, segment)
    if (claim !== undefined) return claim
  }
}

function tryClaim(dir: string, segment: number): Claim | undefined {
  const name = `${nameOf(segment)}.claim-${process.pid}-${startOf(process.pid)}-${randomBytes(4).toString('hex')}`
  const path = join(dir, name)
  closeSync(openSync(path, 'wx', 0o600))
  const release = () => rmSync(path, { force: true })
  for (const other of claimsIn(dir, segment)) {
    if (other.name === name) continue
    if (isHeld(other)) {
      release()
      return undefined
    }
    rmSync(join(dir, other.name), { force: true })
  }
  return { segment, beginAfter: (deliveries) => writeFileSync(path, String(deliveries)), release }
}

/** By segment the deliveries that were there before the process that writes there now. */
export function countsBefore(dir: string): Map<number, number> {
  const counts = new Map<number, number>()
  for (const claim of claimsIn(dir).filter(isHeld)) {
    const count = countOf(join(dir, claim.name))
    if (count !== undefined) counts.set(claim.segment, count)
  }
  return counts
}

/** Undefined where none is said yet, or the claim has ended. */
function countOf(path: string): number | undefined {
  try {
    const text = readFileSync(path, 'latin1')
    return /^\d+$/.test(text) ? Number(text) : undefined
  } catch {
    return undefined
  }
}

interface ClaimFile {
  readonly name: string
  readonly segment: number
  readonly pid: number
  readonly start: string
}

function claimsIn(dir: string, segment?: number): ClaimFile[] {
  return namesIn(dir).flatMap((name) => {
    const [, number = '', pid = '', start = ''] = CLAIM.exec(name) ?? []
    if (number === '' || (segment !== undefined && Number(number) !== segment)) return []
    return [{ name, segment: Number(number), pid: Number(pid), start }]
  })
}

/** A process number is given to others once its process died; its start is not. */
function isHeld({ pid, start }: ClaimFile): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    // EPERM: it runs, as another user.
    if (!(error instanceof Error && 'code' in error && error.code === 'EPERM')) return false
  }
  return startOf(pid) === start
}

/** Clock ticks from the boot to the start of a process; 0 where the system does not say. */
function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '0'
  } catch {
    return '0'
  }
}

function create(path: string): boolean {
  let file: number
  try {
    file = openSync(path, 'wx', 0o600)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  }
  writeSync(file, newHead())
  closeSync(file)
  return true
}

export const newHead = () => Buffer.concat([MAGIC, randomBytes(HEADER_BYTES - MAGIC.length)])

/** The random bytes of a segment; undefined when its head is not whole. */
export function segmentIdentity(file: number): string | undefined {
  const head = readAt(file, 0, HEADER_BYTES)
  return head.length === HEADER_BYTES && head.subarray(0, MAGIC.length).equals(MAGIC)
    ? head.subarray(MAGIC.length).toString('hex')
    : undefined
}

/** Every segment of the inbox for this process; or the processes that write there. */
export function claimAll(dir: string): { readonly claims: readonly Claim[]; readonly writers: readonly number[] } {
  const claims: Claim[] = []
  for (const segment of listSegments(dir)) {
    const claim = tryClaim(dir, segment)
    if (claim !== undefined) claims.push(claim)
    else {
      for (const it of claims) it.release()
      return { claims: [], writers: writersIn(dir) }
    }
  }
  return { claims, writers: [] }
}

/** The processes that write there. */
export const writersIn = (dir: string) => [
  ...new Set(
    claimsIn(dir)
      .filter(isHeld)
      .map(({ pid }) => pid),
  ),
]

/** Bytes of all segments. */
export const inboxBytes = (dir: string) =>
  listSegments(dir).reduce((sum, segment) => sum + statSync(segmentPath(dir, segment)).size, 0)

/** Files of the inbox: segments, what belongs to one, and what a killed process had not finished. */
export const inboxFiles = (dir: string) => namesIn(dir).filter((name) => INBOX_FILE.test(name))
