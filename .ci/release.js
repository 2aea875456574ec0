// Makes a release: npm run release -- VERSION [--dry-run] [--out FOLDER]. Everything is done in a temporary clone; branch,
// tag and working tree change in the last step only. --checks COMMAND replaces .ci/run.
import { execFileSync, spawn } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, resolve, sep } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { released } from './changelog.js'

const options = { 'dry-run': { type: 'boolean' }, out: { type: 'string' }, checks: { type: 'string' } }
const { values, positionals } = parseArgs({ options, allowPositionals: true })
const [version = ''] = positionals
const dryRun = values['dry-run'] === true
const tag = `v${version}`
const out = resolve(values.out ?? join(tmpdir(), `voucherctl-${version}`))
const root = fileURLToPath(new URL('..', import.meta.url))

const interrupted = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => interrupted.abort())

class Refusal extends Error {}
const refuseIf = (condition, message) => {
  if (condition) throw new Refusal(message)
}
const say = (text) => process.stdout.write(`${text}\n`)

const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
const gitOr = (otherwise, ...args) => {
  try {
    return execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return otherwise
  }
}

/** In a session of its own, so that Ctrl-C in a terminal ends it only through `signal`. */
async function run(command, args, { signal = interrupted.signal, ...settings } = {}) {
  signal?.throwIfAborted()
  const child = spawn(command, args, { detached: true, stdio: ['ignore', 2, 2], ...settings })
  const stop = () => {
    try {
      process.kill(-child.pid, 'SIGTERM')
    } catch {
      // It has ended already.
    }
  }
  signal?.addEventListener('abort', stop)
  const code = await new Promise((done, fail) => child.on('close', done).on('error', fail))
  signal?.removeEventListener('abort', stop)
  signal?.throwIfAborted()
  refuseIf(code !== 0, `'${[command, ...args].join(' ')}' failed, so nothing was released.`)
}

const isGreater = (one, other) => {
  const [a, b] = [one, other].map((it) => it.split('.').map(Number))
  const at = a.findIndex((it, index) => it !== b[index])
  return at !== -1 && a[at] > b[at]
}

/** Fields that npm needs for provenance, from the address of the remote `origin` on GitHub. */
function publicFields() {
  const [, slug] = /github\.com[:/]([\w.-]+\/[\w.-]+?)(?:\.git)?$/.exec(gitOr('', 'remote', 'get-url', 'origin')) ?? []
  const url = `https://github.com/${slug}`
  const repository = { type: 'git', url: `git+${url}.git` }
  return slug === undefined ? {} : { homepage: `${url}#readme`, bugs: `${url}/issues`, repository }
}

/** Texts of the files that a release changes, by path. */
function changedFiles() {
  const read = (path) => fs.readFileSync(join(root, path), 'utf8')
  const json = (value) => `${JSON.stringify(value, null, 2)}\n`
  const manifest = JSON.parse(read('package.json'))
  const lock = JSON.parse(read('package-lock.json'))
  const { version: last } = manifest
  refuseIf(!/^(?:0|[1-9]\d*)(?:\.(?:0|[1-9]\d*)){2}$/.test(version), `'${version}' is no version such as 1.2.3.`)
  refuseIf(git('status', '--porcelain') !== '', 'The working tree has changes: commit or remove them first.')
  refuseIf(gitOr('', 'symbolic-ref', '--quiet', 'HEAD') === '', 'No branch is checked out: run git switch first.')
  refuseIf(
    gitOr('', 'var', 'GIT_COMMITTER_IDENT') === '',
    'Git has no name for the commit: set user.name and user.email.',
  )
  refuseIf(gitOr('', 'rev-parse', '--quiet', '--verify', `refs/tags/${tag}`) !== '', `The tag ${tag} exists already.`)
  refuseIf(!isGreater(version, last), `Version ${version} is not greater than ${last} in package.json.`)
  const changelog = released(read('CHANGELOG.md'), version, new Date().toISOString().slice(0, 10))
  refuseIf(changelog === '', 'CHANGELOG.md has no lines under "## Unreleased": add what changed.')
  const missing = Object.entries(publicFields()).filter(([field]) => !(field in manifest))
  const known = Object.keys(manifest).concat(missing.map(([field]) => field))
  const absent = ['repository', 'bugs', 'homepage'].filter((field) => !known.includes(field))
  const lacks = `package.json lacks ${absent.join(', ')}, and the remote origin is not on GitHub: add them to publish.`
  refuseIf(absent.length > 0 && !dryRun, lacks)
  if (absent.length > 0) say(`Note: ${lacks}`)
  const isInTree = !relative(root, out).startsWith(`..${sep}`)
  refuseIf(isInTree, `${out} is inside the working tree: give another folder with --out.`)
  refuseIf(fs.existsSync(out) && fs.readdirSync(out).length > 0, `${out} is not empty: give another folder with --out.`)
  const documents = gitOr('', 'grep', '-lF', last, '--', 'README.md', 'src/guides/*.md').split('\n').filter(Boolean)
  const lastVersion = new RegExp(`(?<![\\d.])${last.replaceAll('.', '\\.')}(?!\\.?\\d)`, 'g')
  return {
    'CHANGELOG.md': changelog,
    // `mcp install` writes npx only for a version that was released.
    'package.json': json({ ...manifest, version, released: version, ...Object.fromEntries(missing) }),
    'package-lock.json': json({
      ...lock,
      version,
      packages: { ...lock.packages, '': { ...lock.packages[''], version } },
    }),
    ...Object.fromEntries(documents.map((path) => [path, read(path).replace(lastVersion, version)])),
  }
}

/** Commits and tags in the clone as the user of this repository. */
async function commit(clone, files) {
  for (const [path, text] of Object.entries(files)) fs.writeFileSync(join(clone, path), text)
  const [, name, email] = /^(.*) <(.*)>/.exec(git('var', 'GIT_COMMITTER_IDENT')) ?? []
  const as = ['-C', clone, '-c', `user.name=${name}`, '-c', `user.email=${email}`]
  await run('git', [...as, 'commit', '--quiet', '--all', '--message', `Release ${version}`])
  await run('git', [...as, 'tag', '--annotate', '--message', `Release ${version}`, tag])
}

/**
 * Moves branch and tag in one transaction, then the working tree. No signal stops this step: it outlives this process.
 * @param before commit on which the release is based: a branch that has moved since then is refused
 */
async function take(clone, before) {
  const inClone = (name) => execFileSync('git', ['-C', clone, 'rev-parse', name], { encoding: 'utf8' }).trim()
  const after = inClone('HEAD')
  await run('git', ['fetch', '--quiet', '--no-tags', '--no-write-fetch-head', clone, `refs/tags/${tag}`], { cwd: root })
  const branch = git('symbolic-ref', 'HEAD')
  const moves = `update ${branch} ${after} ${before}\ncreate refs/tags/${tag} ${inClone(`refs/tags/${tag}`)}\n`
  const script = 'printf %s "$0" | git update-ref --stdin && git read-tree -m -u "$1" "$2"'
  refuseIf(git('status', '--porcelain') !== '', 'The working tree changed during the release, so nothing was released.')
  await run('sh', ['-c', script, moves, before, after], { cwd: root, signal: null })
}

async function release() {
  const files = changedFiles()
  const before = git('rev-parse', 'HEAD')
  const work = fs.mkdtempSync(join(tmpdir(), 'voucherctl-release-'))
  const [clone, built] = [join(work, 'clone'), join(work, 'built')]
  try {
    await run('git', ['clone', '--quiet', '--no-tags', root, clone])
    await commit(clone, files)
    await run('bash', ['-c', values.checks ?? '.ci/run'], { cwd: clone })
    await run('git', ['-C', clone, 'diff', '--exit-code', '--stat', 'HEAD'])
    await run(process.execPath, ['.ci/artefacts.js', built], { cwd: clone })
    fs.cpSync(built, out, { recursive: true })
    if (!dryRun) await take(clone, before)
  } catch (error) {
    fs.rmSync(out, { recursive: true, force: true })
    throw error
  } finally {
    fs.rmSync(work, { recursive: true, force: true, maxRetries: 3 })
  }
  say(`Release ${version} is in ${out}. NOTES.txt says how to check and install it.`)
  const next = `git push --atomic origin HEAD ${tag}`
  say(dryRun ? 'Nothing else changed (--dry-run).' : `Tag ${tag} is on a commit of this branch. To publish it: ${next}`)
}

try {
  await release()
} catch (error) {
  if (!(error instanceof Refusal) && !interrupted.signal.aborted) throw error
  process.stderr.write(`${error instanceof Refusal ? error.message : 'Interrupted: nothing was released.'}\n`)
  process.exitCode = interrupted.signal.aborted ? 130 : 1
}
