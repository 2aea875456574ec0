import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createClient } from '../../src/client/index.js'
import { startServer } from '../../src/server/listen.js'
import { exportStore } from '../../src/server/maintenance/export.js'
import { importStore } from '../../src/server/maintenance/import.js'
import { aheadText } from '../../src/server/stored-clock.js'
import { DAY_MS } from '../../src/values/duration.js'
import { temporaryDir } from '../support/cli/cli.js'

const DAY_SECONDS = DAY_MS / 1000

/** Starts a server on SQLite. */
async function start(dataDir: string, testClock = true) {
  const server = await startServer({ dataDir, port: 0, testClock, logLevel: 'silent' })
  onTestFinished(() => server.close())
  const token = readFileSync(server.operatorKeyFile as string, 'utf8').trim()
  return { ...server, operator: createClient({ baseUrl: server.baseUrl, token }).platform }
}

describe('a test clock that the store keeps', () => {
  it('aheadText describes a difference in its largest unit', () => {
    const described = [31 * DAY_MS, -2 * DAY_MS, DAY_MS, 90_000, -7, 0].map(aheadText)
    expect(described).toEqual([
      '31 days ahead',
      '2 days behind',
      '24 hours ahead',
      '90 seconds ahead',
      '7 ms behind',
      undefined,
    ])
  })

  it('a restart after a restore continues from the time of the snapshot', { tags: 'test-clock/1' }, async () => {
    const dataDir = temporaryDir()
    const first = await start(dataDir)
    await first.operator.advanceClock({ seconds: 3 * DAY_SECONDS })
    await first.operator.saveSnapshot({ name: 'third' })
    await first.operator.advanceClock({ seconds: 10 * DAY_SECONDS })
    await first.operator.restoreSnapshot({ name: 'third' })
    await first.close()
    expect((await start(dataDir)).testClock).toBe('3 days ahead')
  })

  it('concurrent moves add up', { tags: 'test-clock/1' }, async () => {
    const { operator } = await start(temporaryDir())
    await Promise.all([1, 2, 3].map(() => operator.advanceClock({ seconds: DAY_SECONDS })))
    const clock = await operator.getClock()
    expect(clock.ok && Math.round((Date.parse(clock.data.now) - Date.now()) / DAY_MS)).toBe(3)
  })

  it('the response to a move to an instant has this instant', async () => {
    const { operator } = await start(temporaryDir())
    const now = new Date(Math.ceil(Date.now() / DAY_MS + 1) * DAY_MS).toISOString()
    expect(await operator.setClock({ now })).toMatchObject({ ok: true, data: { now } })
  })

  it('a server on the true time restores no moved clock, and starts again', { tags: 'test-clock/1' }, async () => {
    const dataDir = temporaryDir()
    const first = await start(dataDir)
    await first.operator.saveSnapshot({ name: 'true-time' })
    await first.operator.advanceClock({ seconds: 3 * DAY_SECONDS })
    await first.operator.saveSnapshot({ name: 'third' })
    await first.operator.reset({})
    await first.close()
    const second = await start(dataDir, false)
    expect(await second.operator.restoreSnapshot({ name: 'third' })).toMatchObject({ code: 'TEST_CLOCK_OFF' })
    writeFileSync(join(dataDir, 'voucherctl.db.snapshots', `${Buffer.from('third').toString('hex')}.db`), 'damaged')
    expect(await second.operator.restoreSnapshot({ name: 'true-time' })).toMatchObject({ ok: true })
    await second.close()
    expect((await start(dataDir, false)).testClock).toBeUndefined()
  })

  it('an export carries the clock to another store', { tags: 'test-clock/1' }, async () => {
    const [dataDir, target] = [temporaryDir(), join(temporaryDir(), 'target')]
    const first = await start(dataDir)
    await first.operator.advanceClock({ seconds: 31 * DAY_SECONDS })
    await first.close()
    let text = ''
    const { signal } = new AbortController()
    const to = { write: async (piece: string) => void (text += piece) }
    await exportStore({ dataDir }, { version: '0.0.0', to, signal })
    mkdirSync(target)
    copyFileSync(join(dataDir, 'keys.json'), join(target, 'keys.json'))
    const chunks = (async function* () {
      yield text
    })()
    await importStore({ dataDir: target }, chunks, { name: 'text', signal })
    await expect(startServer({ dataDir: target, port: 0, logLevel: 'silent' })).rejects.toThrow(
      'The test clock of this store is 31 days ahead',
    )
    expect((await start(target)).testClock).toBe('31 days ahead')
  })
})
