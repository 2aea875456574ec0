import { spawn } from 'node:child_process'
import { appendFileSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import process from 'node:process'
import { Random } from '../random.js'
import { Disk } from './disk.js'
import { type DiskEvent, readTrace, straceOptions } from './trace.js'
import type { Place, Workload } from './workload.js'
import { workloads } from './workloads/index.js'

const marks = 'acknowledged.ndjson'

/** Folders of a workload in the folder of a campaign. */
export const placeOf = (root: string, folder: string, { name }: Workload): Place => ({
  root,
  disk: join(folder, name, 'disk'),
  notes: join(folder, name, 'notes'),
})

/** Runs all workloads; the traced process calls this. */
export async function recordAll(root: string, folder: string): Promise<void> {
  await Promise.all(
    workloads.map((it) => {
      const place = placeOf(root, folder, it)
      const acknowledge = (what: object) => appendFileSync(join(place.notes, marks), `${JSON.stringify(what)}\n`)
      return it.record({ ...place, acknowledge })
    }),
  )
  // The second listener still runs.
  process.exit(0)
}

/** What a workload did: its changes of files, and after how many of these a user got a result. */
export interface Recording {
  readonly events: readonly DiskEvent[]
  readonly acknowledged: readonly { readonly after: number; readonly what: object }[]
}

/**
 * Runs all workloads under strace.
 * @returns the recordings by name of the workload, or the reason why this machine cannot record
 */
export async function record(root: string, folder: string): Promise<Map<string, Recording> | string> {
  const trace = join(folder, 'trace')
  // The campaigns are one bundled file, which the traced process loads again.
  const program = `import(process.argv[1]).then(({ recordAll }) => recordAll(...process.argv.slice(2)))`
  const args = [...straceOptions, '-o', trace, process.execPath, '-e', program, import.meta.url, root, folder]
  const child = spawn('strace', args, {
    env: { PATH: process.env.PATH, UV_USE_IO_URING: '0' },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  child.stderr.on('data', (chunk: Buffer) => {
    said += chunk
  })
  const exit = await new Promise<number | null>((resolve) => child.once('close', resolve))
  if (!existsSync(trace) || statSync(trace).size === 0) return `strace cannot trace a process: ${said.trim()}`
  if (exit !== 0) throw new Error(`the recording ended with ${exit}: ${said}`)
  const recordings = new Map(
    workloads.map(({ name }) => [
      name,
      { events: [] as DiskEvent[], acknowledged: [] as { after: number; what: object }[] },
    ]),
  )
  for await (const event of readTrace(trace, folder)) {
    const [name = '', kind, ...path] = relative(folder, event.path).split('/')
    const recording = recordings.get(name)
    if (kind === 'disk') recording?.events.push(event)
    else if (path[0] === marks && event.kind === 'write') {
      for (const line of event.bytes.toString().trimEnd().split('\n')) {
        recording?.acknowledged.push({ after: recording.events.length, what: JSON.parse(line) as object })
      }
    }
  }
  return recordings
}

/** Builds the model of a disk from recorded changes. @param isDone false for a sync that shall have no effect */
export function diskOf(root: string, events: readonly DiskEvent[], isDone = (_path: string) => true): Disk {
  const disk = new Disk(root)
  for (const event of events) disk.add(event, event.kind !== 'sync end' || isDone(relative(root, event.path)))
  return disk
}

/** Differences between the model of a disk and the files that the programs left: calls that were not recorded. */
export function unrecorded(root: string, disk: Disk): string[] {
  const { files } = disk.whole(new Random('whole'))
  const left = readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((it) => it.isFile())
    .map((it) => relative(root, join(it.parentPath, it.name)))
  const differing = [...files].filter(
    ([path, content]) => !left.includes(path) || !readFileSync(join(root, path)).equals(content),
  )
  return [...differing.map(([path]) => path), ...left.filter((path) => !files.has(path))]
}
