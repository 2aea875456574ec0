import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { bundle } from '../../src/build-bundle.js'
import { filesWithoutServer } from '../support/files-without-server.js'
import { buildPackage, cache, root } from './bundle.js'
import { rowOf } from './row.js'

const INSTALLED_MB_MAX = 8
const BUNDLE_MB_MAX = 1.5

/** P13: what an installation without the optional native part takes on disk, and the scripts of the command line. */
export async function measureSize() {
  buildPackage()
  const packed = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: root,
    encoding: 'utf8',
  })
  const [{ files, unpackedSize }] = JSON.parse(packed)
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const installed = Object.keys(dependencies).reduce(
    (sum, name) => sum + bytesIn(join(root, 'node_modules', name)),
    unpackedSize,
  )
  const [program] = await bundle(join(cache, 'bundle'))
  const scripts = new Set(filesWithoutServer(program).map((file) => `dist/${file}`))
  const scriptBytes = files.filter(({ path }) => scripts.has(path)).reduce((sum, { size }) => sum + size, 0)
  const row = (what, bytes, max) =>
    rowOf({ id: 'P13', what, value: bytes / 1e6, reference: max, against: 'budget', target: 1, unit: 'MB', runs: 1 })
  return [
    row('the package and its dependencies, installed', installed, INSTALLED_MB_MAX),
    row('scripts of the command line', scriptBytes, BUNDLE_MB_MAX),
  ]
}

function bytesIn(path) {
  const found = statSync(path)
  if (!found.isDirectory()) return found.size
  return readdirSync(path).reduce((sum, name) => sum + bytesIn(join(path, name)), 0)
}
