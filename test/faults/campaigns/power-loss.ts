import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Campaign, Run } from '../campaign.js'
import { type DiskState, writeState } from '../power/disk.js'
import { diskOf, placeOf, type Recording, record, unrecorded } from '../power/record.js'
import type { Checker, Workload } from '../power/workload.js'
import { workloads } from '../power/workloads/index.js'
import type { Random } from '../random.js'

/** A workload has no more different states if this many in turn are known. */
const KNOWN_MAX = 300
/** States with a loss that are kept for analysis. */
const KEPT_MAX = 5
/** States that are tried for each fsync without which one of them must lose something. */
const WITHOUT_SYNC_MAX = 300

interface Subject {
  readonly workload: Workload
  readonly root: string
  readonly recording: Recording
  readonly checker: Checker
}

/** Writes a state of a disk into a folder, and continues with it. */
async function tryState({ recording, checker }: Subject, state: DiskState, events: number, folder: string) {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
  writeState(state, folder)
  const results = recording.acknowledged.filter(({ after }) => after <= events).map(({ what }) => what)
  try {
    return await checker.check(folder, results)
  } catch (error) {
    return [(error as Error).message]
  }
}

const hashOf = ({ files }: DiskState, acknowledged: number) => {
  const hash = createHash('sha256').update(String(acknowledged))
  for (const [path, content] of files) hash.update(`\n${path} ${content.length}\n`).update(content)
  return hash.digest('base64')
}

export const powerLoss: Campaign = {
  row: 'R15',
  name: 'power loss after any change of a file (strace)',
  tags: ['export-and-import/1', 'idempotency-keys/5', 'inbox-files/2', 'journal-of-bulk-commands/1', 'snapshots/3'],
  requirement:
    'The power fails after any change of a file. Nothing acknowledged is lost; without any one fsync, something is.',

  async run({ quick, random, folder: named, root, say }: Run) {
    if (spawnSync('strace', ['-V']).status !== 0) return { skipped: 'strace is not installed' }
    const folder = realpathSync(named)
    const places = new Map(workloads.map((it) => [it, placeOf(root, folder, it)]))
    for (const { disk, notes } of places.values()) for (const it of [disk, notes]) mkdirSync(it, { recursive: true })
    const checkers = await Promise.all([...places].map(async ([it, place]) => [it, await it.open(place)] as const))
    // Syncs of a file system in memory take no time, and its files cannot survive this program.
    const memory = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : folder, 'voucherctl-power-'))
    try {
      const recordings = await record(root, folder)
      if (typeof recordings === 'string') return { skipped: recordings }
      const subjects = checkers.map(([workload, checker]) => {
        const recording = recordings.get(workload.name) as Recording
        return { workload, checker, recording, root: places.get(workload)?.disk as string }
      })
      const broken = subjects.flatMap(({ workload, root: disk, recording }) =>
        unrecorded(disk, diskOf(disk, recording.events)).map(
          (path) => `${workload.name}: ${path} was changed by a call that the trace lacks`,
        ),
      )
      const scratch = join(memory, 'state')
      const tried = await tryStates(subjects, quick ? 200 : 10_000, { random, scratch, folder, say, broken })
      const syncs = broken.length > 0 ? 0 : await tryWithoutSyncs(subjects, { random, scratch, say, broken })
      const facts = Object.fromEntries([...tried].map(([{ workload }, count]) => [workload.name, count]))
      const states = [...tried.values()].reduce((sum, count) => sum + count, 0)
      return { facts: { states, ...facts, 'fsyncs removed and found': syncs }, broken }
    } finally {
      rmSync(memory, { recursive: true })
      for (const [, checker] of checkers) await checker.close?.()
    }
  },
}

interface Trial {
  readonly random: Random
  /** Folder for a state. */
  readonly scratch: string
  readonly broken: string[]
  say(line: string): void
}

/** Yields different states of a disk with what their users knew, until KNOWN_MAX in turn are known. */
function* statesOf({ workload, root, recording }: Subject, random: Random) {
  const disk = diskOf(root, recording.events)
  const seen = new Set<string>()
  for (let n = 0, known = 0; known < KNOWN_MAX; n++) {
    const ofState = random.of(`${workload.name} ${n}`)
    const events = ofState.between(0, disk.events)
    const state = disk.stateAfter(events, ofState)
    const hash = hashOf(state, recording.acknowledged.filter(({ after }) => after <= events).length)
    known = seen.has(hash) ? known + 1 : 0
    if (known > 0) continue
    seen.add(hash)
    yield { state, events, of: disk.events }
  }
}

/** Tries different states of all workloads in turn; returns their numbers. */
async function tryStates(subjects: readonly Subject[], count: number, trial: Trial & { readonly folder: string }) {
  const { random, scratch, folder, broken, say } = trial
  const tried = new Map(subjects.map((it) => [it, 0]))
  let total = 0
  let left = subjects.map((subject) => ({ subject, states: statesOf(subject, random) }))
  while (total < count && left.length > 0) {
    for (const source of left) {
      const { subject, states } = source
      const next = states.next()
      if (next.done) {
        left = left.filter((it) => it !== source)
        continue
      }
      const { state, events, of } = next.value
      const [problem, ...others] = await tryState(subject, state, events, scratch)
      tried.set(subject, (tried.get(subject) ?? 0) + 1)
      total += 1
      say(`state ${total} of ${count}`)
      if (problem === undefined) continue
      const where = `${subject.workload.name}, power loss after change ${events} of ${of}`
      const kept = join(folder, `broken-${broken.length}`)
      broken.push(`${where}: ${problem}${others.length > 0 ? `, and ${others.length} more` : ''}`)
      if (broken.length > KEPT_MAX) continue
      mkdirSync(kept)
      writeState(state, kept)
    }
  }
  return tried
}

/** Requires that without each fsync of a workload a state loses something; returns the number of fsyncs. */
async function tryWithoutSyncs(subjects: readonly Subject[], { random, scratch, broken, say }: Trial): Promise<number> {
  let found = 0
  for (const subject of subjects) {
    const { workload, root, recording } = subject
    // A loss shows best when a user has just got a result, which is a moment among thousands of changes.
    const endings = [recording.events.length, ...recording.acknowledged.map(({ after }) => after)]
    for (const { call, what: synced, path } of workload.syncs) {
      const disk = diskOf(root, recording.events, (it) => !path.test(it))
      const what = `${workload.name} without the fsync of ${synced} (${call})`
      let problems: string[] = []
      for (let n = 0; n < WITHOUT_SYNC_MAX && problems.length === 0; n++) {
        const ofState = random.of(`${what} ${n}`)
        const events = ofState.chance(0.5) ? ofState.pick(endings) : ofState.between(0, disk.events)
        problems = await tryState(subject, disk.stateAfter(events, ofState), events, scratch)
      }
      say(what)
      if (problems.length > 0) found += 1
      else broken.push(`${what} loses nothing in ${WITHOUT_SYNC_MAX} states`)
    }
  }
  return found
}
