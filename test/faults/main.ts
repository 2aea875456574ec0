import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { revision } from '../support/revision.js'
import { campaigns } from './campaigns/index.js'
import { type Row, runCampaign } from './run-campaign.js'
import { killServers } from './server.js'

export { recordAll } from './power/record.js'

const BROKEN_SHOWN = 20

/** @returns the exit code: 1 if an invariant was broken */
export async function main(args: string[], root: string): Promise<number> {
  const { values: flags } = parseArgs({
    args,
    options: {
      quick: { type: 'boolean', default: false },
      seed: { type: 'string' },
      only: { type: 'string' },
      shard: { type: 'string', default: '1/1' },
    },
  })
  const seed = flags.seed ?? randomBytes(4).toString('hex')
  const only = flags.only?.split(',').filter((it) => it !== '')
  const [shard = 0, shards = 0] = flags.shard.split('/').map(Number)
  if (!(Number.isInteger(shards) && shard >= 1 && shard <= shards)) throw new Error('--shard is a part such as 1/2')
  const chosen = campaigns.filter(
    ({ row, name }, at) =>
      at % shards === shard - 1 && (only === undefined || only.some((it) => it === row || name.startsWith(it))),
  )
  if (chosen.length === 0)
    throw new Error(`--only takes beginnings of names, or rows: ${campaigns.map(({ row }) => row).join(', ')}`)
  process.stdout.write(`seed ${seed}\n`)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void killServers().then(() => process.exit(1)))
  }
  // The first result changes the tree, so read the revision first.
  const now = flags.quick ? undefined : revision(root)
  const rows: Row[] = []
  for (const campaign of chosen) {
    const row = await runCampaign(campaign, seed, flags.quick, root)
    rows.push(row)
    if (now !== undefined && row.outcome === 'held') recordResult(root, row, now)
    process.stdout.write(lineOf(row))
    for (const text of row.broken.slice(0, BROKEN_SHOWN)) process.stdout.write(`        ${text}\n`)
    if (flags.quick) for (const state of row.missed) process.stdout.write(`        not reached: ${state}\n`)
    if (row.broken.length > BROKEN_SHOWN) process.stdout.write(`        and ${row.broken.length - BROKEN_SHOWN} more\n`)
  }
  const machine = { node: process.version, platform: `${process.platform} ${process.arch}` }
  const report = { seed, quick: flags.quick, ...machine, campaigns: rows }
  const file = shards === 1 ? 'faults.json' : `faults-${shard}.json`
  writeFileSync(join(root, file), `${JSON.stringify(report, null, 2)}\n`)
  const broken = rows.some((it) => it.outcome === 'broken')
  if (broken) process.stdout.write(`To repeat: npm run faults --${flags.quick ? ' --quick' : ''} --seed ${seed}\n`)
  return broken ? 1 : 0
}

const figuresOf = ({ facts }: Row) =>
  Object.entries(facts)
    .map(([what, value]) => `${what} ${value}`)
    .join('; ')

/** Puts the result of a long form into results.json, in place of an earlier one. */
function recordResult(root: string, row: Row, now: ReturnType<typeof revision>): void {
  const file = join(root, 'test', 'faults', 'results.json')
  const results = JSON.parse(readFileSync(file, 'utf8')) as Record<string, object>
  results[row.name] = { ...now, figures: figuresOf(row) }
  writeFileSync(file, `${JSON.stringify(results, null, 2)}\n`)
}

function lineOf(all: Row): string {
  const { row, name, outcome, seconds, reason } = all
  const rest = [figuresOf(all), reason].filter(Boolean).join('; ')
  return `${outcome.padEnd(7)} ${row.padEnd(4)} ${name} (${seconds} s): ${rest}\n`
}
