import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'
import type { Campaign, Result } from './campaign.js'
import { campaigns } from './campaigns/index.js'
import { Random } from './random.js'
import { fallenServers, killServers } from './server.js'

export { recordAll } from './power/record.js'

const BROKEN_SHOWN = 20

interface Row {
  readonly row: string
  readonly name: string
  readonly outcome: 'held' | 'broken' | 'skipped'
  readonly seconds: number
  readonly facts: Readonly<Record<string, number | string>>
  readonly broken: readonly string[]
  readonly reason?: string
}

/** @returns the exit code: 1 if an invariant was broken */
export async function main(args: string[], root: string): Promise<number> {
  const { values: flags } = parseArgs({
    args,
    options: {
      quick: { type: 'boolean', default: false },
      seed: { type: 'string' },
      only: { type: 'string' },
    },
  })
  const seed = flags.seed ?? randomBytes(4).toString('hex')
  const only = flags.only?.split(',')
  const chosen = campaigns.filter(
    ({ row, name }) => only === undefined || only.some((it) => it === row || name.startsWith(it)),
  )
  if (chosen.length === 0)
    throw new Error(`--only takes beginnings of names, or rows: ${campaigns.map(({ row }) => row).join(', ')}`)
  process.stdout.write(`seed ${seed}\n`)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void killServers().then(() => process.exit(1)))
  }
  const rows: Row[] = []
  for (const campaign of chosen) {
    const row = await runOne(campaign, seed, flags.quick, root)
    rows.push(row)
    process.stdout.write(lineOf(row))
    for (const text of row.broken.slice(0, BROKEN_SHOWN)) process.stdout.write(`        ${text}\n`)
    if (row.broken.length > BROKEN_SHOWN) process.stdout.write(`        and ${row.broken.length - BROKEN_SHOWN} more\n`)
  }
  const machine = { node: process.version, platform: `${process.platform} ${process.arch}` }
  const report = { seed, quick: flags.quick, ...machine, campaigns: rows }
  writeFileSync(join(root, 'faults.json'), `${JSON.stringify(report, null, 2)}\n`)
  const broken = rows.some((it) => it.outcome === 'broken')
  if (broken) process.stdout.write(`To repeat: npm run faults --${flags.quick ? ' --quick' : ''} --seed ${seed}\n`)
  return broken ? 1 : 0
}

async function runOne(campaign: Campaign, seed: string, quick: boolean, root: string): Promise<Row> {
  const patience = quick ? 10 : 1
  const { row, name } = campaign
  const cache = join(root, 'node_modules', '.cache', 'faults')
  mkdirSync(cache, { recursive: true })
  // Use the disk of the checkout, because a temporary folder is often in memory.
  const folder = mkdtempSync(join(cache, `${row}-`))
  const say = (line: string) => {
    if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${row} ${line}`)
  }
  const startedAt = performance.now()
  let result: Result
  try {
    result = await campaign.run({ quick, patience, random: new Random(`${seed} ${name}`), folder, root, say })
  } catch (error) {
    result = { facts: {}, broken: [`the campaign could not go on: ${(error as Error).stack}`] }
  }
  await killServers()
  const fallen = fallenServers()
  if (!('skipped' in result)) result = { facts: result.facts, broken: [...fallen, ...result.broken] }
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[K')
  const seconds = Math.round((performance.now() - startedAt) / 100) / 10
  const common = { row, name, seconds }
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

function lineOf({ row, name, outcome, seconds, facts, reason }: Row): string {
  const counted = Object.entries(facts).map(([what, value]) => `${what} ${value}`)
  const rest = [...counted, ...(reason === undefined ? [] : [reason])].join('; ')
  return `${outcome.padEnd(7)} ${row.padEnd(4)} ${name} (${seconds} s): ${rest}\n`
}
