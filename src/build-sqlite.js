// Node 22.13 has SQLite built in; Node 20 takes better-sqlite3, which npm leaves out when it can neither fetch a
// prebuilt file nor Node's headers to compile against. Where Node was installed with its headers, they do as well.
// Plain JavaScript, so that it runs without a step before it.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const nodeDir = dirname(dirname(process.execPath))
// Once, at the installation: npx prepares a checkout too, and would try again with every command.
const installing = ['ci', 'install'].includes(process.env.npm_command)

if (installing && !hasSqlite() && existsSync(join(nodeDir, 'include/node/node.h'))) {
  const { optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  process.stderr.write('Compiling SQLite with the headers of this Node, a minute or two …\n')
  const { status } = spawnSync(
    'npm',
    ['install', '--no-save', `better-sqlite3@${optionalDependencies['better-sqlite3']}`],
    {
      cwd: root,
      env: { ...process.env, npm_config_nodedir: nodeDir, npm_config_ignore_scripts: 'false' },
      stdio: 'ignore',
      shell: process.platform === 'win32',
    },
  )
  if (status !== 0)
    process.stderr.write('It could not be compiled: `voucherctl server start` needs Node 22.13 or later.\n')
}

function hasSqlite() {
  if (process.getBuiltinModule('node:sqlite') !== undefined) return true
  try {
    const Database = createRequire(import.meta.url)('better-sqlite3')
    new Database(':memory:').close()
    return true
  } catch {
    return false
  }
}
