import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { bundle } from '../../../src/build/bundle.js'
import { buildPackage } from '../../support/build/bundle.js'
import { filesWithoutServer } from '../../support/build/files-without-server.js'
import { cache, root } from '../processes.js'
import { budgetRow } from '../report.js'

const INSTALLED_MB_MAX = 8
const BUNDLE_MB_MAX = 2.5

/** P13: installed size of the package, and size of the scripts of the command line. */
export async function measureSize() {
  buildPackage()
  const pack = ['pack', '--dry-run', '--json', '--ignore-scripts']
  const [{ files, unpackedSize }] = JSON.parse(execFileSync('npm', pack, { cwd: root, encoding: 'utf8' }))
  const { programs } = await bundle(join(cache, 'bundle'))
  const scripts = new Set(filesWithoutServer(programs[0]).map((file) => `dist/${file}`))
  const scriptBytes = files.filter(({ path }) => scripts.has(path)).reduce((sum, { size }) => sum + size, 0)
  return [
    budgetRow('P13', 'the package without SQLite for Node 20', unpackedSize / 1e6, INSTALLED_MB_MAX, 'MB'),
    budgetRow('P13', 'scripts of the command line', scriptBytes / 1e6, BUNDLE_MB_MAX, 'MB'),
  ]
}
