// The files of an inbox folder: `000001.ndjson` holds the deliveries that one process received, `000001.refused.ndjson`
// those that it refused, and `000001-PID-START.writer` exists while the process runs.
import { closeSync, existsSync, fsyncSync, openSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf } from '../../files/error-code.js'
import { isAlive } from '../../files/process-alive.js'
import { readLines, SUM } from '../../files/summed-lines.js'
import { summaryOf, VERSION } from './lines.js'

const DATA = /^(\d{6,9})(\.refused)?\.ndjson$/
const MARKER = /^(\d{6,9})-(\d+)-(\d+)\.writer$/
/** Matches also the draft of a file, which a killed `inbox clear` leaves. */
const ANY = /^\d{6,9}((\.refused)?\.ndjson(\.tmp-.+)?|-\d+-\d+\.writer)$/

/** Names of everything that belongs to the inbox; none in a missing folder. */
export const namesIn = (dir: string) => (existsSync(dir) ? readdirSync(dir).filter((name) => ANY.test(name)) : [])

/** Lists the files by ascending number, with which the ids of their deliveries begin. */
export const listFiles = (dir: string) =>
  namesIn(dir)
    .flatMap((name) => {
      const [, number, refused] = DATA.exec(name) ?? []
      return number === undefined
        ? []
        : [{ path: join(dir, name), number: Number(number), isRefused: refused !== undefined }]
    })
    .sort((a, b) => a.number - b.number)

/** Size of a file; 0 if it was removed meanwhile. */
export const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0

export const inboxBytes = (dir: string) => listFiles(dir).reduce((sum, { path }) => sum + sizeOf(path), 0)

const markersIn = (dir: string) =>
  namesIn(dir).flatMap((name) => {
    const [, number, pid, start] = (MARKER.exec(name) ?? []).map(Number)
    if (number === undefined || pid === undefined) return []
    // The start tells the process from a later one with the same PID.
    return [{ path: join(dir, name), number, pid, isRunning: isAlive(pid) && startOf(pid) === start }]
  })

/** Lists the running writers. A file that was listed before them is complete unless it has the number of one. */
export const writersIn = (dir: string) => markersIn(dir).filter(({ isRunning }) => isRunning)

/** Clock ticks from boot to the start of a process; 0 if the system does not report it. */
function startOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19])
  } catch {
    return 0
  }
}

/** Creates the marker of this process and then its file, under an unused number. */
export function createFile(dir: string) {
  for (const { path, isRunning } of markersIn(dir)) if (!isRunning) rmSync(path, { force: true })
  for (let number = (listFiles(dir).at(-1)?.number ?? 0) + 1; ; number += 1) {
    const base = join(dir, String(number).padStart(6, '0'))
    const marker = `${base}-${process.pid}-${startOf(process.pid)}.writer`
    closeSync(openSync(marker, 'w', 0o600))
    try {
      const descriptor = openNew(`${base}.ndjson`)
      // Until the folder is synced a power failure may lose the name of the file. Windows cannot open a folder.
      if (process.platform !== 'win32') syncFolder(dir)
      return { number, descriptor, path: `${base}.ndjson`, refusedPath: `${base}.refused.ndjson`, marker }
    } catch (error) {
      rmSync(marker)
      if (codeOf(error) !== 'EEXIST') throw error
    }
  }
}

/** @throws EEXIST if the file exists */
export const openNew = (path: string) => openSync(path, 'wx', 0o600)

function syncFolder(dir: string): void {
  const folder = openSync(dir, 'r')
  fsyncSync(folder)
  closeSync(folder)
}

/**
 * Reads the lines of a file; `line` is undefined if it is damaged. Ignores a last line without a line end, which nobody
 * acknowledged, and a file that was cleared after it was listed.
 * @throws errors of the file system, or an error with the code INBOX_FORMAT
 */
export function* linesOf(path: string) {
  if (!existsSync(path)) return
  for (const { number, offset, bytes, isTorn } of readLines(path)) {
    if (number === 1 && !isOwn(bytes)) throw formatError(`${path} is not an inbox file of voucherctl.`)
    if (isTorn) return
    const line = summaryOf(bytes)
    if (line !== undefined && line.v !== VERSION)
      throw formatError(`${path} has the inbox format ${line.v}; this version of voucherctl reads ${VERSION}.`)
    yield { number, offset, bytes, line }
  }
}

/** True for a first line of this program, even if it is incomplete or has a damaged byte. */
const isOwn = (line: Buffer) => '{"v":'.startsWith(line.toString('latin1', 0, 5)) || line.includes(SUM)

const formatError = (message: string) => Object.assign(new Error(message), { code: 'INBOX_FORMAT' })
