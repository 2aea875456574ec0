import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { bundle } from '../../src/build/bundle.js'
import { buildPackage } from '../support/build/bundle.js'
import { filesWithoutServer } from '../support/build/files-without-server.js'
import { cache, root } from './bundle.js'
import { rowOf } from './row.js'

const INSTALLED_MB_MAX = 8
const BUNDLE_MB_MAX = 2.5

/** P13: installed size of the package, and size of the scripts of the command line. */
export async function measureSize() {
  buildPackage()
  const packed = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: root,
    encoding: 'utf8',
  })
  const [{ files, unpackedSize }] = JSON.parse(packed)
  const {
    programs: [program],
  } = await bundle(join(cache, 'bundle'))
  const scripts = new Set(filesWithoutServer(program).map((file) => `dist/${file}`))
  const scriptBytes = files.filter(({ path }) => scripts.has(path)).reduce((sum, { size }) => sum + size, 0)
  const row = (what, bytes, max) =>
    rowOf({ id: 'P13', what, value: bytes / 1e6, reference: max, against: 'budget', target: 1, unit: 'MB', runs: 1 })
  return [
    row('the package without SQLite for Node 20', unpackedSize, INSTALLED_MB_MAX),
    row('scripts of the command line', scriptBytes, BUNDLE_MB_MAX),
  ]
}
