import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { buildPackage } from '../../support/build/bundle.js'
import { cache, root } from '../processes.js'
import { budgetRow } from '../report.js'

const MAJORS = [20, 22, 24]
const MILLISECONDS_MAX = 10_000

/** P13b: duration of `npm install --global` of the packed package and of a server start, on each supported Node. */
export function measureInstall({ say }) {
  buildPackage()
  const folder = mkdtempSync(join(tmpdir(), 'voucherctl-install-'))
  try {
    const tarball = pack(root, folder)
    const empty = join(folder, 'empty')
    mkdirSync(empty)
    writeFileSync(join(empty, 'package.json'), '{ "name": "empty", "version": "1.0.0" }')
    const emptyTarball = pack(empty, folder)
    return MAJORS.flatMap((major) => {
      const node = nodeOf(major)
      const npmCache = join(folder, `cache-${major}`)
      return ['the registry', 'a warm cache'].map((from) => {
        say(`P13b: Node ${major} from ${from}`)
        const reference = install(node, emptyTarball, join(folder, 'prefix'), npmCache)
        const { milliseconds, packages, bytes } = install(node, tarball, join(folder, 'prefix'), npmCache)
        const size = `${(bytes / 1e6).toFixed(1)} MB, ${packages} packages`
        const beside = `an empty package ${reference.milliseconds.toFixed(0)} ms`
        const what = `install on Node ${major} from ${from}: ${size}; ${beside}`
        return budgetRow('P13b', what, milliseconds, MILLISECONDS_MAX, 'ms')
      })
    })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** @returns path of the packed tarball */
function pack(folder, destination) {
  const args = ['pack', '--ignore-scripts', '--json', '--pack-destination', destination]
  const [{ filename }] = JSON.parse(execFileSync('npm', args, { cwd: folder, encoding: 'utf8' }))
  return join(destination, filename)
}

/** @returns folder of the node program with this major version: the running one, or one from npm's node package */
function nodeOf(major) {
  if (process.versions.node.startsWith(`${major}.`)) return join(process.execPath, '..')
  const prefix = join(cache, `node${major}`)
  const bin = join(prefix, 'node_modules', 'node', 'bin')
  if (!existsSync(bin)) execFileSync('npm', ['install', '--no-save', '--prefix', prefix, `node@${major}`])
  return bin
}

function install(node, tarball, prefix, npmCache) {
  rmSync(prefix, { recursive: true, force: true })
  const env = { ...process.env, PATH: `${node}:${join(prefix, 'bin')}:${process.env.PATH}`, HOME: prefix }
  const run = (command, ...args) => {
    const { status, stderr } = spawnSync(command, args, { env, encoding: 'utf8' })
    if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${stderr}`)
  }
  const startedAt = performance.now()
  run('npm', 'install', '--global', '--prefix', prefix, '--cache', npmCache, '--no-audit', tarball)
  const milliseconds = performance.now() - startedAt
  if (existsSync(join(prefix, 'bin', 'voucherctl'))) {
    run('voucherctl', 'server', 'start', '--detach', '--port', '0')
    run('voucherctl', 'server', 'stop')
  }
  const files = readdirSync(join(prefix, 'lib'), { recursive: true, withFileTypes: true }).filter((it) => it.isFile())
  const paths = files.map((it) => join(it.parentPath, it.name))
  return {
    milliseconds,
    bytes: paths.reduce((sum, path) => sum + statSync(path).size, 0),
    packages: paths.filter((path) => /node_modules\/(@[^/]+\/)?[^/]+\/package\.json$/.test(path)).length,
  }
}
