import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test as onAnySystem } from 'vitest'
import { root } from '../support/planting.js'

/** The release needs a POSIX shell. */
const test = onAnySystem.skipIf(process.platform === 'win32')

interface Component {
  readonly name: string
  readonly version: string
  readonly scope: string
  readonly purl: string
  readonly hashes?: readonly { readonly content: string }[]
  readonly licenses: readonly { readonly license?: { readonly id: string }; readonly expression?: string }[]
}

const work = mkdtempSync(join(tmpdir(), 'voucherctl-release-test-'))
const [clone, out] = [join(work, 'clone'), join(work, 'out')]
const [major, minor] = String(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version).split('.')
const version = `${major}.${Number(minor) + 1}.0`
const read = (file: string) => readFileSync(join(out, file), 'utf8')
const git = (cwd: string, ...args: string[]) => execFileSync('git', args, { cwd, encoding: 'utf8' })

beforeAll(() => {
  for (const path of git(root, 'ls-files', '-co', '--exclude-standard', '-z').split('\0').filter(Boolean)) {
    mkdirSync(dirname(join(clone, path)), { recursive: true })
    cpSync(join(root, path), join(clone, path))
  }
  const changelog = readFileSync(join(clone, 'CHANGELOG.md'), 'utf8')
  writeFileSync(join(clone, 'CHANGELOG.md'), changelog.replace('## Unreleased\n', '## Unreleased\n\n- Tested.\n'))
  git(clone, 'init', '--quiet')
  git(clone, 'add', '--all')
  const identity = ['-c', 'user.name=A Maintainer', '-c', 'user.email=maintainer@shop.example']
  git(clone, ...identity, 'commit', '--quiet', '--message', 'Start')
  const checks = `ln -s '${join(root, 'node_modules')}' .`
  const args = ['run', '--silent', 'release', '--', version, '--dry-run', '--out', out, '--checks', checks]
  const env = { ...process.env, GIT_COMMITTER_NAME: 'A Maintainer', GIT_COMMITTER_EMAIL: 'maintainer@shop.example' }
  execFileSync('npm', args, { cwd: clone, env, stdio: ['ignore', 'ignore', 'inherit'] })
}, 300_000)
afterAll(() => rmSync(work, { recursive: true, force: true }))

const sbom = () => JSON.parse(read(`voucherctl-${version}.cdx.json`)) as { components: Component[] }

test('a dry run leaves the working tree without changes, tags and new commits', () => {
  const log = git(clone, 'log', '--format=%s').trim()
  expect([git(clone, 'status', '--porcelain'), git(clone, 'tag'), log]).toEqual(['', '', 'Start'])
})

test('SHA256SUMS has the checksum of every file of a release', () => {
  const lines = readdirSync(out)
    .filter((file) => file !== 'SHA256SUMS')
    .map(
      (file) =>
        `${createHash('sha256')
          .update(readFileSync(join(out, file)))
          .digest('hex')}  ${file}`,
    )
  expect(read('SHA256SUMS').trimEnd().split('\n').sort()).toEqual(lines.sort())
  expect(lines).toHaveLength(4)
})

test('the SBOM of a release lists every package of its licences, and the optional dependency', () => {
  const licences = read('THIRD-PARTY-LICENSES').split(`\n${'-'.repeat(80)}\n\n`)
  const { components } = sbom()
  const bundled = components.filter(({ scope }) => scope === 'required')
  const titles = bundled.map((it) => {
    const [licence] = it.licenses
    return `${it.name} ${it.version} (${licence?.license?.id ?? licence?.expression})`
  })
  expect(titles.sort()).toEqual(licences.map((it) => it.split('\n', 1)[0]).sort())
  expect(titles.length).toBeGreaterThan(50)
  const others = components.filter(({ scope }) => scope !== 'required')
  expect(others.map(({ name, scope }) => [name, scope])).toEqual([['@photostructure/sqlite', 'optional']])
})

test('the SBOM of a release has the SHA-512 of the lock file for every npm package', () => {
  const lock = readFileSync(join(root, 'package-lock.json'), 'utf8')
  const fromNpm = sbom().components.filter(({ purl }) => purl.startsWith('pkg:npm/'))
  const integrities = fromNpm.map(({ name, hashes }) => [
    name,
    Buffer.from(hashes?.[0]?.content ?? '', 'hex').toString('base64'),
  ])
  expect(integrities.filter(([, hash = '']) => hash === '' || !lock.includes(`sha512-${hash}`))).toEqual([])
})

test('the package of a release installs, has its version and contains the dated changelog', () => {
  const args = [
    'install',
    '--prefix',
    work,
    '--offline',
    '--omit=optional',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
  ]
  execFileSync('npm', [...args, join(out, `voucherctl-${version}.tgz`)], {
    cwd: work,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const installed = join(work, 'node_modules', 'voucherctl')
  const voucherctl = (...line: string[]) =>
    execFileSync(process.execPath, [join(installed, 'bin', 'voucherctl.js'), ...line], { encoding: 'utf8' })
  expect(voucherctl('--version').trim()).toBe(version)
  expect(voucherctl('explain', 'VOUCHER_NOT_FOUND')).toContain('VOUCHER_NOT_FOUND')
  const day = new Date().toISOString().slice(0, 10)
  expect(readFileSync(join(installed, 'CHANGELOG.md'), 'utf8')).toContain(`## ${version} (${day})\n\n- Tested.\n`)
  expect(readFileSync(join(installed, 'README.md'), 'utf8')).toContain(`voucherctl-${version}.tgz`)
  expect(read('NOTES.txt')).toContain('- Tested.\n')
})
