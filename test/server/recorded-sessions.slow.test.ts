import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { cli, temporaryDir } from '../support/cli/cli.js'
import { type Operation, RandomSession, randomSequence } from '../support/server/random-session.js'
import { standaloneServer } from '../support/server/server.js'
import { onPostgres } from '../support/store/engine-name.js'

/** `VOUCHERCTL_SESSIONS=200` runs so many sessions; `VOUCHERCTL_SEED` is the first seed. */
const count = Number(process.env.VOUCHERCTL_SESSIONS ?? 15)
const first = Number(process.env.VOUCHERCTL_SEED ?? 1)
/** Maximum number of sessions that a failed test runs to find the smallest one that fails. */
const TRIES_MAX = 150

const open: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

interface Session {
  /** Operations that precede the recording. */
  readonly before: readonly Operation[]
  readonly sequence: readonly Operation[]
}

/** Records a session and runs the file. @returns why the file fails; undefined if it passes or has no step */
async function failureOf({ before, sequence }: Session): Promise<{ why: string; text: string } | undefined> {
  const server = await standaloneServer({ logLevel: 'silent' })
  open.push(() => server.close())
  const session = new RandomSession(server)
  for (const it of before) await session.run(it)
  const cwd = temporaryDir()
  const interruption = new AbortController()
  let begin = () => {}
  const isRecording = new Promise<void>((resolve) => {
    begin = resolve
  })
  const recording = cli('scenario record --out session.yaml --json', {
    cwd,
    env: { VOUCHERCTL_BASE_URL: server.baseUrl, VOUCHERCTL_OPERATOR_KEY: server.operatorKey },
    signal: interruption.signal,
    onStderr: (text) => text.includes('Recording') && begin(),
  })
  await Promise.race([isRecording, recording])
  for (const it of sequence) await session.run(it)
  interruption.abort()
  const recorded = await recording
  await open.pop()?.()
  if (recorded.stderr.includes('"No step was recorded') || recorded.stderr.includes('"No call was recorded')) return
  if (recorded.exit !== 0) return { why: `record: ${recorded.stderr}`, text: '' }
  const text = readFileSync(join(cwd, 'session.yaml'), 'utf8')
  const { exit, stdout, stderr } = await cli('scenario run session.yaml', { cwd })
  return exit === 0 ? undefined : { why: stdout + stderr, text }
}

/** Removes operations from a failed session while it fails for the same kind of reason. */
async function smallest(session: Session): Promise<Session> {
  const fails = async (it: Session) => (await failureOf(it)) !== undefined
  let [small, tries] = [session, 0]
  for (const part of ['sequence', 'before'] as const) {
    for (let length = Math.ceil(small[part].length / 2); length >= 1; length = Math.floor(length / 2)) {
      for (let at = 0; at < small[part].length && tries < TRIES_MAX; tries += 1) {
        const less = { ...small, [part]: small[part].toSpliced(at, length) }
        if (await fails(less)) small = less
        else at += length
      }
    }
  }
  return small
}

describe.skipIf(onPostgres)('scenario record', () => {
  const seeds = Array.from({ length: count }, (_, at) => first + at)

  it.each(seeds)(
    'a session of random calls, recorded, passes on a fresh server (seed %i)',
    async (seed) => {
      const { before, sequence } = randomSequence(seed)
      const session = { before: sequence.slice(0, before), sequence: sequence.slice(before) }
      if ((await failureOf(session)) === undefined) return
      const small = await smallest(session)
      const failure = await failureOf(small)
      const names = (list: readonly Operation[]) => list.map((it) => it.name).join(', ')
      expect.fail(
        `Before: ${names(small.before)}. Recorded: ${names(small.sequence)}.\n${failure?.why}\n${failure?.text}`,
      )
    },
    120_000,
  )
})
