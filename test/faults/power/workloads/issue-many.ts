import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeFolder } from '../../../../src/files/sync-folder.js'
import { newTenant } from '../../../support/server/tenant.js'
import { startServer } from '../../server.js'
import { loadCommands, mustRun, type Place, type Workload } from '../workload.js'

const ROWS = 240

interface Settings {
  readonly env: Readonly<Record<string, string>>
  readonly args: readonly string[]
}

const outIn = (folder: string) => join(folder, 'codes.csv')
const settingsIn = (notes: string) => JSON.parse(readFileSync(join(notes, 'settings.json'), 'utf8')) as Settings

/** Voucher ids of a results file by external id. @throws if a row is there twice */
function resultsIn(path: string): Map<string, string> {
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n').slice(1)
  const rows = new Map(
    lines.map((line) => line.split(',')).map(([, external = '', , voucher = '']) => [external, voucher]),
  )
  if (rows.size !== lines.length) throw new Error(`${lines.length} results of ${rows.size} rows`)
  return rows
}

/** The vouchers command writes results, is interrupted, and goes on to the end. The platform loses no power. */
export const issueMany: Workload = {
  name: 'issue-many',

  async record({ root, disk, notes, acknowledge }) {
    const run = loadCommands(root)
    const { args, env } = settingsIn(notes)
    const home = join(disk, 'out')
    makeFolder(home)
    const interruption = new AbortController()
    // A row that another run has issued delays nothing: one call at a time spreads the rows over several writes.
    const slow = [...args, '--concurrency', '1', '--out', outIn(home)]
    const begun = run(slow, { home, env, signal: interruption.signal })
    setTimeout(() => interruption.abort(), 600)
    await begun
    await mustRun(run, [...slow, '--resume'], { home, env })
    acknowledge({ complete: true })
    writeFileSync(outIn(notes), readFileSync(outIn(home)))
  },

  async open({ root, notes }: Place) {
    const run = loadCommands(root)
    const platform = await startServer(root, join(notes, 'platform'))
    const tenant = await newTenant(platform)
    const { id } = await tenant.template({ issue_limit: ROWS })
    const input = join(notes, 'rows.csv')
    const rows = Array.from({ length: ROWS }, (_, n) => `order-${n},user-${n}\n`)
    writeFileSync(input, `external_issue_id,recipient_user_id\n${rows.join('')}`)
    const settings: Settings = {
      args: ['vouchers', 'issue-many', input, '--template', id, '--json'],
      env: { VOUCHERCTL_TOKEN: tenant.token, VOUCHERCTL_BASE_URL: platform.baseUrl },
    }
    writeFileSync(join(notes, 'settings.json'), JSON.stringify(settings), { mode: 0o600 })
    return {
      async check(state, acknowledged) {
        const home = join(state, 'out')
        mkdirSync(home, { recursive: true })
        const issued = resultsIn(outIn(notes))
        const sameResults = () => {
          const found = resultsIn(outIn(home))
          return found.size === ROWS && [...found].every(([external, voucher]) => issued.get(external) === voucher)
        }
        const broken = acknowledged.length === 0 || sameResults() ? [] : ['results of a complete run are lost']
        const { exit, stderr } = await run([...settings.args, '--out', outIn(home), '--resume'], {
          home,
          env: settings.env,
        })
        if (exit !== 0) return [...broken, `--resume ended with ${exit}: ${stderr}`]
        return sameResults() ? broken : [...broken, 'after --resume a row is missing, or has another voucher']
      },
      close: async () => void (await platform.stop()),
    }
  },

  syncs: [
    { call: 'cli/bulk/run-files.ts', what: 'the new files', path: /^out$/ },
    { call: 'cli/bulk/run-files.ts', what: 'the header of the journal', path: /\.journal$/ },
    { call: 'cli/bulk/results.ts', what: 'the results', path: /\.csv$/ },
  ],
}
