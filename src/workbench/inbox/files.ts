// The files of an inbox folder: `000001.ndjson` holds the deliveries that one process received, `000001.refused.ndjson`
// those that it refused, and `PID-START-RANDOM.writer` marks a running writer.
import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, openSync, readdirSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { isAlive } from '../../files/process-alive.js'
import { readAt } from '../../files/summed-lines.js'
import { encodeLine, isOwnHead, PROGRAM, summaryOf, VERSION } from './lines.js'

const DATA = /^(\d{6,9})(\.refused)?\.ndjson$/
const WRITER = /^(\d+)-(\d+)-[0-9a-f]{8}\.writer$/
/** Matches also a temporary file, which a killed process did not rename in time. */
const ANY = /^(?:\d{6,9}(?:\.refused)?\.ndjson(?:\.[0-9a-f]{8})?|\d+-\d+-[0-9a-f]{8}\.writer)$/
/** Bytes to read for a head, which has fewer than 200. */
const HEAD_BYTES_MAX = 4_096

export interface InboxFile {
  readonly name: string
  readonly path: string
  /** The number with which the ids of its deliveries begin. */
  readonly number: number
  readonly isRefused: boolean
}

/** Lists the files by ascending number; a missing folder has none. */
export function listFiles(dir: string): InboxFile[] {
  return namesIn(dir)
    .flatMap((name) => {
      const [, number = '', refused] = DATA.exec(name) ?? []
      return number === '' ? [] : [fileOf(dir, Number(number), refused !== undefined)]
    })
    .sort((a, b) => a.number - b.number)
}

export function fileOf(dir: string, number: number, isRefused: boolean): InboxFile {
  const name = `${String(number).padStart(6, '0')}${isRefused ? '.refused' : ''}.ndjson`
  return { name, path: join(dir, name), number, isRefused }
}

function namesIn(dir: string): string[] {
  try {
    return readdirSync(dir)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
}

/** Names of all files that belong to the inbox. */
export const inboxFiles = (dir: string) => namesIn(dir).filter((name) => ANY.test(name))

/** Total size of the recorded files. */
export const inboxBytes = (dir: string) => listFiles(dir).reduce((sum, { path }) => sum + statSync(path).size, 0)

export interface Writer {
  /** Its name, which the head of each of its files contains. */
  readonly name: string
  release(): void
}

/**
 * Announces this process as a writer before it creates a file. A reader that lists the files first and the writers
 * afterwards knows which files are complete. Removes the markers of processes that died.
 */
export function announceWriter(dir: string): Writer {
  const name = `${process.pid}-${startOf(process.pid)}-${randomBytes(4).toString('hex')}`
  const path = join(dir, `${name}.writer`)
  closeSync(openSync(path, 'wx', 0o600))
  for (const other of writerFiles(dir)) if (!isWriting(other)) rmSync(join(dir, other.file), { force: true })
  return { name, release: () => rmSync(path, { force: true }) }
}

interface WriterFile {
  readonly file: string
  readonly name: string
  readonly pid: number
  readonly start: string
}

const writerFiles = (dir: string): WriterFile[] =>
  namesIn(dir).flatMap((file) => {
    const [, pid = '', start = ''] = WRITER.exec(file) ?? []
    return pid === '' ? [] : [{ file, name: file.replace(/\.writer$/, ''), pid: Number(pid), start }]
  })

/** Names of the processes that are writing to the folder. */
export const writersIn = (dir: string): { readonly name: string; readonly pid: number }[] =>
  writerFiles(dir).filter(isWriting)

/** True if the process of the marker runs. The start time tells it from a later process with the same PID. */
const isWriting = ({ pid, start }: WriterFile): boolean => isAlive(pid) && startOf(pid) === start

/** Clock ticks from boot to the start of a process; 0 if the system does not report it. */
function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '0'
  } catch {
    return '0'
  }
}

/** Creates a file with its head, under an unused number. */
export function createFile(dir: string, writer: Writer): InboxFile & { readonly descriptor: number } {
  for (let number = (listFiles(dir).at(-1)?.number ?? 0) + 1; ; number += 1) {
    const file = fileOf(dir, number, false)
    try {
      return { ...file, descriptor: openNew(file.path, writer.name) }
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    }
  }
}

/** @throws EEXIST if the file exists */
export function openNew(path: string, writer: string): number {
  const descriptor = openSync(path, 'wx', 0o600)
  writeSync(descriptor, encodeLine({ kind: 'file', value: { program: PROGRAM, writer } }))
  return descriptor
}

/** Syncs the folder: until then a power failure may lose the name of a new file. */
export function syncFolder(dir: string): void {
  try {
    const folder = openSync(dir, 'r')
    try {
      fsyncSync(folder)
    } finally {
      closeSync(folder)
    }
  } catch {
    // Windows cannot open a folder.
  }
}

/** Thrown for a file of another program, or of an unsupported version of the format. */
export class InboxFormatError extends Error {
  readonly code = 'INBOX_FORMAT'
}

/**
 * The name of the process that wrote a file; null if its head is damaged or incomplete.
 * @throws an error with the code INBOX_FORMAT
 */
export function writerOf({ path }: InboxFile, file: number): string | null {
  const bytes = readAt(file, 0, HEAD_BYTES_MAX)
  const end = bytes.indexOf(10)
  const line = bytes.subarray(0, end === -1 ? bytes.length : end)
  const head = summaryOf(line)
  if (head !== undefined && head.v !== VERSION)
    throw new InboxFormatError(`${path} has the inbox format ${head.v}; this version of voucherctl reads ${VERSION}.`)
  if (head === undefined ? !isOwnHead(line) : head.kind !== 'file')
    throw new InboxFormatError(`${path} is not an inbox file of voucherctl.`)
  return head?.kind === 'file' ? head.writer : null
}
