import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeFolder, syncFolder } from '../../../../src/files/sync-folder.js'
import { newTenant } from '../../../support/server/tenant.js'
import { startServer } from '../../server.js'
import { loadCommands, mustRun, type Workload } from '../workload.js'

const VOUCHERS = 30

const exportIn = (folder: string) => join(folder, 'backup', 'export.ndjson')

/** `server export` writes a file twice, and `server import` fills a new data folder with it. */
export const move: Workload = {
  name: 'export and import',

  async record({ root, disk, notes, acknowledge }) {
    const run = loadCommands(root)
    const options = { home: notes }
    const target = join(disk, 'restored')
    // The user makes the folders and copies the keys, long before.
    for (const folder of [join(disk, 'backup'), target]) makeFolder(folder)
    writeFileSync(join(target, 'keys.json'), readFileSync(join(notes, 'source', 'keys.json')))
    for (const path of [join(target, 'keys.json'), target]) syncFolder(path)
    acknowledge({ done: 'keys' })
    const exportArgs = ['server', 'export', '--data', join(notes, 'source'), '--out', exportIn(disk)]
    await mustRun(run, exportArgs, options)
    acknowledge({ done: 'export' })
    await mustRun(run, exportArgs, options)
    await mustRun(run, ['server', 'import', exportIn(disk), '--data', target], options)
    acknowledge({ done: 'import' })
  },

  async open({ root, notes }) {
    const run = loadCommands(root)
    const source = join(notes, 'source')
    const server = await startServer(root, source)
    const tenant = await newTenant(server)
    const { id } = await tenant.template()
    for (let n = 0; n < VOUCHERS; n++) {
      const voucher = await tenant.issue(id)
      if (n % 2 === 0) await tenant.redeem(voucher)
    }
    await server.stop()
    /** The rows of a store, without the header and the checksums, which differ with the time. */
    const rowsOf = async (dataDir: string, out: string) => {
      await mustRun(run, ['server', 'export', '--data', dataDir, '--out', out], { home: notes })
      return readFileSync(out, 'utf8').trimEnd().split('\n').slice(1, -1).join('\n')
    }
    // An empty folder with the keys, into which a whole export can be imported.
    const empty = join(notes, 'empty')
    makeFolder(empty)
    writeFileSync(join(empty, 'keys.json'), readFileSync(join(source, 'keys.json')))
    const backup = join(notes, 'export.ndjson')
    const expected = await rowsOf(source, backup)
    return {
      async check(state, acknowledged: readonly { readonly done: string }[]) {
        const options = { home: notes }
        const target = join(state, 'restored')
        const broken: string[] = []
        const has = (what: string) => acknowledged.some(({ done }) => done === what)
        const hasExport = existsSync(exportIn(state))
        if (has('export') && !hasExport) broken.push('the export is lost')
        if (hasExport) {
          const { exit, stderr } = await run(
            ['server', 'import', exportIn(state), '--data', empty, '--dry-run'],
            options,
          )
          if (exit !== 0) broken.push(`the export is not whole: ${stderr}`)
        }
        const transportKeys = (dataDir: string) => readFileSync(join(dataDir, 'secure-keys.json'), 'utf8')
        const isWhole = async () =>
          (await rowsOf(target, join(notes, 'again.ndjson'))) === expected &&
          transportKeys(target) === transportKeys(source)
        if (has('import')) return (await isWhole()) ? broken : [...broken, 'an import is lost']
        if (!has('keys')) return broken
        // An import that was interrupted can be repeated, unless it had committed.
        const { exit, stderr } = await run(['server', 'import', backup, '--data', target], options)
        if (exit !== 0 && !stderr.includes('STORE_NOT_EMPTY'))
          return [...broken, `the import cannot be repeated: ${stderr}`]
        if (!(await isWhole())) broken.push('a repeated import is not whole')
        return broken
      },
    }
  },

  syncs: [
    { call: 'server/maintenance/export.ts', what: 'the export', path: /^backup\/export\.ndjson\.tmp-/ },
    { call: 'server/maintenance/export.ts', what: 'the name of the export', path: /^backup$/ },
    { call: 'files/replace-file.ts', what: 'the transport keys', path: /^restored\/secure-keys\.json\.tmp-/ },
    { call: 'files/replace-file.ts', what: 'new names in the data folder', path: /^restored$/ },
    { call: 'SQLite', what: 'the imported rows', path: /^restored\/voucherctl\.db/ },
  ],
}
