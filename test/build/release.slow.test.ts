import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test as onAnySystem } from 'vitest'
import { root } from '../support/planting.js'

/** The release needs a POSIX shell. */
const test = onAnySystem.skipIf(process.platform === 'win32')

/** A small repository with the real script; its build takes no time. */
let work: string
let repository: string
let out: string
let environment: Record<string, string>

const git = (...args: string[]) =>
  execFileSync('git', args, { cwd: repository, env: environment, encoding: 'utf8' }).trim()
const write = (path: string, text: string) => writeFileSync(join(repository, path), text)
const read = (path: string) => readFileSync(join(repository, path), 'utf8')
const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`

beforeEach(() => {
  work = mkdtempSync(join(tmpdir(), 'voucherctl-release-test-'))
  repository = join(work, 'repository')
  out = join(work, 'out')
  mkdirSync(join(work, 'tmp'))
  mkdirSync(join(repository, '.ci'), { recursive: true })
  environment = { PATH: process.env.PATH ?? '', HOME: work, TMPDIR: join(work, 'tmp') }
  git('init', '--quiet', '--initial-branch', 'main')
  git('config', 'user.name', 'A Maintainer')
  git('config', 'user.email', 'maintainer@shop.example')
  git('remote', 'add', 'origin', 'git@github.com:example/voucherctl.git')
  for (const file of ['release.js', 'changelog.js']) cpSync(join(root, '.ci', file), join(repository, '.ci', file))
  write(
    '.ci/artefacts.js',
    `import * as fs from 'node:fs'
fs.mkdirSync(process.argv[2])
fs.writeFileSync(process.argv[2] + '/NOTES.txt', fs.readFileSync('package.json'))
`,
  )
  write('package.json', json({ name: 'voucherctl', version: '1.9.0', license: 'MIT', type: 'module' }))
  write('package-lock.json', json({ version: '1.9.0', packages: { '': { version: '1.9.0' } } }))
  write('README.md', 'Run `npm install voucherctl-1.9.0.tgz` on 11.9.0.1, 1.9.0.2, 21.9.0 and @v1.9.0.\n')
  write('CHANGELOG.md', '# Changelog\n\n## Unreleased\n\n- A new flag.\n\n## 1.9.0 (2026-01-01)\n\n- An old flag.\n')
  git('add', '--all')
  git('commit', '--quiet', '--message', 'Start')
})
afterEach(() => rmSync(work, { recursive: true, force: true }))

/** The process id of the release is in $RELEASE. */
const release = (...args: string[]) =>
  spawnSync('sh', ['-c', `RELEASE=$$ exec '${process.execPath}' .ci/release.js --out '${out}' "$@"`, 'sh', ...args], {
    cwd: repository,
    env: environment,
    encoding: 'utf8',
  })

/** Everything that a release could change. */
const state = () => ({
  refs: git('for-each-ref'),
  status: git('status', '--porcelain', '--branch'),
  files: git('ls-files')
    .split('\n')
    .map((path) => [path, read(path)]),
  out: existsSync(out) ? readdirSync(out) : [],
})

describe('release', () => {
  test('a release moves branch, tag and working tree to a commit with the new version', () => {
    const { status, stdout } = release('1.10.0', '--checks', 'true')
    expect([status, stdout]).toEqual([0, expect.stringContaining('git push --atomic origin HEAD v1.10.0')])
    const day = new Date().toISOString().slice(0, 10)
    expect(read('CHANGELOG.md')).toBe(
      `# Changelog\n\n## Unreleased\n\n## 1.10.0 (${day})\n\n- A new flag.\n\n## 1.9.0 (2026-01-01)\n\n- An old flag.\n`,
    )
    expect(JSON.parse(read('package.json'))).toMatchObject({
      version: '1.10.0',
      homepage: 'https://github.com/example/voucherctl#readme',
      bugs: 'https://github.com/example/voucherctl/issues',
      repository: { type: 'git', url: 'git+https://github.com/example/voucherctl.git' },
    })
    expect(JSON.parse(read('package-lock.json'))).toEqual({
      version: '1.10.0',
      packages: { '': { version: '1.10.0' } },
    })
    expect(read('README.md')).toBe(
      'Run `npm install voucherctl-1.10.0.tgz` on 11.9.0.1, 1.9.0.2, 21.9.0 and @v1.10.0.\n',
    )
    expect(git('status', '--porcelain')).toBe('')
    expect(git('cat-file', '-t', 'v1.10.0')).toBe('tag')
    expect(git('rev-parse', 'v1.10.0^{commit}')).toBe(git('rev-parse', 'main'))
    expect(git('log', '-1', '--format=%an <%ae> %s')).toBe('A Maintainer <maintainer@shop.example> Release 1.10.0')
    expect(readdirSync(out)).toEqual(['NOTES.txt'])
    expect(readdirSync(join(work, 'tmp'))).toEqual([])
  })

  test('a release with --dry-run writes files and changes nothing else', () => {
    const before = state()
    expect(release('1.10.0', '--dry-run', '--checks', 'true').status).toBe(0)
    expect(state()).toEqual({ ...before, out: ['NOTES.txt'] })
    expect(JSON.parse(readFileSync(join(out, 'NOTES.txt'), 'utf8'))).toMatchObject({ version: '1.10.0' })
  })

  test('checks run on the commit of the release', () => {
    const { status } = release('2.0.0', '--checks', `git log -1 --format=%s > '${work}/seen'`)
    expect([status, readFileSync(join(work, 'seen'), 'utf8')]).toEqual([0, 'Release 2.0.0\n'])
  })
})

const emptySection = '# Changelog\n\n## Unreleased\n\n## 1.9.0\n\n- An old flag.\n'
const commitAll = () => git('commit', '--quiet', '--all', '--message', 'Change')

test.each<[string, string, () => unknown, string]>([
  ['a changed file', '2.0.0', () => write('README.md', 'Changed.'), 'The working tree has changes'],
  ['an untracked file', '2.0.0', () => write('new.txt', ''), 'The working tree has changes'],
  ['an existing tag', '2.0.0', () => git('tag', 'v2.0.0'), 'The tag v2.0.0 exists already.'],
  ['an equal version', '1.9.0', () => {}, 'Version 1.9.0 is not greater than 1.9.0 in package.json.'],
  ['a smaller version', '1.8.10', () => {}, 'Version 1.8.10 is not greater than 1.9.0 in package.json.'],
  ['no version', '', () => {}, "'' is no version such as 1.2.3."],
  ['a pre-release', '2.0.0-rc.1', () => {}, "'2.0.0-rc.1' is no version such as 1.2.3."],
  ['no line', '2.0.0', () => (write('CHANGELOG.md', emptySection), commitAll()), 'has no lines under "## Unreleased"'],
  ['no section', '2.0.0', () => (write('CHANGELOG.md', '# Changelog\n'), commitAll()), 'has no lines under'],
  ['no address', '2.0.0', () => git('remote', 'remove', 'origin'), 'lacks repository, bugs, homepage'],
  ['no branch', '2.0.0', () => git('checkout', '--quiet', '--detach'), 'No branch is checked out'],
  [
    'no name',
    '2.0.0',
    () => (git('config', 'user.useConfigOnly', 'true'), git('config', '--unset', 'user.email')),
    'Git has no name',
  ],
  ['a folder in use', '2.0.0', () => (mkdirSync(out), writeFileSync(join(out, 'a'), '')), 'is not empty'],
])('a release with %s is refused in one line and changes nothing (%s)', (_what, version, prepare, message) => {
  prepare()
  const before = state()
  const { status, stderr } = release(version, '--checks', 'true')
  expect([status, stderr]).toEqual([1, expect.stringContaining(message)])
  expect(stderr.split('\n')).toHaveLength(2)
  expect(state()).toEqual(before)
})

describe('release that fails or is interrupted', () => {
  test.each([
    ['failed checks', 'false', 1, 'nothing was released'],
    ['checks that change a file', 'echo changed > README.md', 1, 'nothing was released'],
    ['SIGINT during the checks', 'kill -INT $RELEASE; tail -f /dev/null', 130, 'Interrupted: nothing was released.'],
    ['SIGTERM during the checks', 'kill -TERM $RELEASE; tail -f /dev/null', 130, 'Interrupted: nothing was released.'],
  ])('a release with %s changes nothing and removes its clone', (_what, checks, code, message) => {
    const before = state()
    const { status, stderr } = release('2.0.0', '--checks', checks)
    expect([status, stderr]).toEqual([code, expect.stringContaining(message)])
    expect(state()).toEqual(before)
    expect(readdirSync(join(work, 'tmp'))).toEqual([])
  })

  test('a release is refused if its branch moved during the checks', () => {
    const checks = `git -C '${repository}' commit --quiet --allow-empty --message Other`
    const { status } = release('2.0.0', '--checks', checks)
    expect([status, git('log', '-1', '--format=%s'), git('tag'), existsSync(out)]).toEqual([1, 'Other', '', false])
    expect(git('status', '--porcelain')).toBe('')
  })

  test('a release killed at any call of git is either complete or has changed nothing', () => {
    const bin = join(work, 'bin')
    mkdirSync(bin)
    const real = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim()
    // Kills the release before the call whose number is in $KILL.
    writeFileSync(
      join(bin, 'git'),
      `#!/bin/sh
echo >> "$CALLS"
[ "$(wc -l < "$CALLS")" -eq "$KILL" ] && kill -KILL "$RELEASE"
exec '${real}' "$@"
`,
    )
    chmodSync(join(bin, 'git'), 0o755)
    const withoutFolder = () => ({ ...state(), out: [] })
    const before = withoutFolder()
    const path = String(environment.PATH)
    const ends: string[] = []
    for (let call = 1; !ends.includes('complete') && call < 60; call++) {
      Object.assign(environment, { PATH: `${bin}:${path}`, CALLS: join(work, `calls-${call}`), KILL: String(call) })
      release('2.0.0', '--checks', 'true')
      environment.PATH = path
      if (git('tag') === '') expect([call, withoutFolder()]).toEqual([call, before])
      else expect([git('log', '-1', '--format=%s'), git('status', '--porcelain')]).toEqual(['Release 2.0.0', ''])
      ends.push(git('tag') === '' ? 'unchanged' : 'complete')
      rmSync(out, { recursive: true, force: true })
    }
    expect(ends.length).toBeGreaterThan(15)
    expect(ends.at(-1)).toBe('complete')
  })
})
