import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { openDatabase } from '../../src/store/sqlite/engine.js'
import { temporaryFolder } from '../support/server/server.js'
import type { Campaign } from './campaign.js'
import { campaigns } from './campaigns/index.js'
import { runCampaign } from './run-campaign.js'
import { walFrames } from './wal-frames.js'

const root = temporaryFolder()
afterAll(() => rmSync(root, { recursive: true, force: true }))

/** A campaign that must reach two states and reaches the named ones. */
const reaching = (...reached: string[]): Campaign => ({
  row: 'T1',
  name: 'a campaign of a test',
  tags: [],
  requirement: 'Two calls succeed.',
  states: ['a call was refused', 'a call was replayed'],
  async run({ sometimes }) {
    for (const state of reached) sometimes.note(state)
    return { facts: { calls: 2 }, broken: [] }
  },
})

describe('states of a campaign', () => {
  it('long campaign that missed a state is broken as blind and names the state', async () => {
    const row = await runCampaign(reaching('a call was refused'), 'seed', false, root)
    expect(row).toMatchObject({ outcome: 'broken', broken: ['blind: never reached: a call was replayed'] })
  })

  it('long campaign that reached every state holds and reports the counts', async () => {
    const row = await runCampaign(reaching('a call was refused', 'a call was replayed'), 'seed', false, root)
    expect(row).toMatchObject({ outcome: 'held', broken: [], facts: { calls: 2, 'states reached': '2 of 2' } })
    expect(row.states).toEqual({ 'a call was refused': 1, 'a call was replayed': 1 })
  })

  it('short campaign that missed a state holds and reports the state', async () => {
    const row = await runCampaign(reaching('a call was replayed'), 'seed', true, root)
    expect(row).toMatchObject({ outcome: 'held', missed: ['a call was refused'], broken: [] })
  })

  it('fault campaigns require at least 40 states, each once', () => {
    for (const { states = [] } of campaigns) expect(new Set(states).size).toBe(states.length)
    expect(campaigns.flatMap(({ states = [] }) => states).length).toBeGreaterThanOrEqual(40)
  })
})

describe('walFrames', () => {
  it('walFrames counts frames behind the last commit, and none of an absent or empty file', () => {
    const path = join(root, 'counted.db')
    const db = openDatabase(path)
    db.exec('pragma journal_mode = wal; create table t (id integer primary key, text text)')
    db.exec("insert into t (text) values ('committed')")
    const copy = join(root, 'copy-wal')
    copyFileSync(`${path}-wal`, copy)
    db.close()
    const { committed, uncommitted } = walFrames(copy)
    expect(committed).toBeGreaterThan(0)
    expect(uncommitted).toBe(0)

    // The commit mark of a frame is the size of the database after it; a frame without one belongs to no commit yet.
    const bytes = readFileSync(copy)
    const frameBytes = 24 + bytes.readUInt32BE(8)
    bytes.writeUInt32BE(0, 32 + (committed - 1) * frameBytes + 4)
    writeFileSync(copy, bytes)
    expect(walFrames(copy)).toEqual({ committed: committed - 1, uncommitted: 1 })

    writeFileSync(copy, '')
    expect(walFrames(copy)).toEqual({ committed: 0, uncommitted: 0 })
    expect(walFrames(join(root, 'absent'))).toEqual({ committed: 0, uncommitted: 0 })
  })
})
