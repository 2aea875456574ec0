import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import type { Campaign, Result } from './campaign.js'
import { Random } from './random.js'
import { fallenServers, killServers } from './server.js'
import { Sometimes } from './sometimes.js'

export interface Row {
  readonly row: string
  readonly name: string
  readonly outcome: 'held' | 'broken' | 'skipped'
  readonly seconds: number
  readonly facts: Readonly<Record<string, number | string>>
  /** How often the campaign reached its states. */
  readonly states: Readonly<Record<string, number>>
  /** States of the campaign that it did not reach. */
  readonly missed: readonly string[]
  readonly broken: readonly string[]
  readonly reason?: string
}

/** Runs a campaign. Its long form is broken if it missed a state, because it could then find no defect there. */
export async function runCampaign(campaign: Campaign, seed: string, quick: boolean, root: string): Promise<Row> {
  const patience = quick ? 30 : 1
  const { row, name } = campaign
  const cache = join(root, 'node_modules', '.cache', 'faults')
  mkdirSync(cache, { recursive: true })
  // Use the disk of the checkout, because a temporary folder is often in memory.
  const folder = mkdtempSync(join(cache, `${row}-`))
  const say = (line: string) => {
    if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${row} ${line}`)
  }
  const startedAt = performance.now()
  const sometimes = new Sometimes(campaign.states ?? [])
  let result: Result
  try {
    const random = new Random(`${seed} ${name}`)
    result = await campaign.run({ quick, patience, random, folder, root, sometimes, say })
  } catch (error) {
    result = { facts: {}, broken: [`the campaign could not go on: ${(error as Error).stack}`] }
  }
  await killServers()
  const fallen = fallenServers()
  const missed = sometimes.missed()
  if (!('skipped' in result)) {
    const broken = [...fallen, ...result.broken]
    if (broken.length === 0 && !quick) broken.push(...missed.map((it) => `blind: never reached: ${it}`))
    const { length } = sometimes.states
    const reached = { 'states reached': `${length - missed.length} of ${length}` }
    result = { facts: { ...result.facts, ...(length === 0 ? {} : reached) }, broken }
  }
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[K')
  const seconds = Math.round((performance.now() - startedAt) / 100) / 10
  const common = { row, name, seconds, states: sometimes.counts(), missed }
  if ('skipped' in result) {
    rmSync(folder, { recursive: true, force: true })
    return { ...common, outcome: 'skipped', facts: {}, broken: [], reason: result.skipped }
  }
  const { facts, broken } = result
  if (broken.length === 0) rmSync(folder, { recursive: true, force: true })
  return {
    ...common,
    outcome: broken.length === 0 ? 'held' : 'broken',
    facts,
    broken,
    ...(broken.length === 0 ? {} : { reason: `left in ${folder}` }),
  }
}
