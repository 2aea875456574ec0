import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { built } from './support/cli/built-cli.js'
import { cli, temporaryDir } from './support/cli/cli.js'

/** Tests that no text tells readers to run what needs a published package: a registry does not have voucherctl yet. */

const root = join(import.meta.dirname, '..')
const documents = [
  ...readdirSync(root).filter((path) => path.endsWith('.md') && path !== 'CHANGELOG.md'),
  ...['src', 'test', '.github'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((path) => /\.(?:md|yaml)$/.test(path) && !path.startsWith('vectors'))
      .map((path) => join(folder, path)),
  ),
]

/** Words that run or install the package from a registry, such as `npx -y voucherctl` or `npm i -g voucherctl@1`. */
const fromRegistry = [
  /\b(?:npx|bunx|pnpx)(?: +-\S+)+ +voucherctl\b[^\n`]*/g,
  /\b(?:bunx|pnpx|(?:pnpm|yarn|npm|bun) +(?:dlx|x|exec)) +voucherctl\b[^\n`]*/g,
  /\b(?:npm|pnpm|yarn|bun) +(?:install|i|add|ci)\b[^\n`&|]* voucherctl(?![\w-]*-\d[\w.]*\.tgz)\b[^\n`]*/g,
  /\bvoucherctl@(?:latest|\d)[^\n`]*/g,
]
/** Local `npx voucherctl`, which runs without a registry where `npm ci` has installed a clone or a packed file. */
const local = /\bnpx +voucherctl\b[^\n`]*/g

/** Commands of a text that cannot work before the package is published. */
function unpublished(text: string): string[] {
  const found = fromRegistry.flatMap((it) => [...text.matchAll(it)].map(([command]) => command))
  const blocks = text.split(/^```.*$/m)
  return [
    ...found,
    ...blocks.flatMap((it) => (it.includes('npm ci') ? [] : [...it.matchAll(local)].map(([all]) => all))),
  ]
}

describe('the search', () => {
  test.each([
    'npx -y voucherctl mcp serve',
    'npx --yes voucherctl@1.2.3 quickstart',
    'npx voucherctl quickstart',
    'npm install voucherctl',
    'npm i --save-dev voucherctl',
    'pnpm add --allow-build=@photostructure/sqlite voucherctl',
    'pnpm dlx voucherctl',
    'npm install --global voucherctl@0.1.0',
  ])('finds `%s`, which needs a registry', (command) => {
    expect(unpublished(`Run \`${command}\`.`)).not.toEqual([])
  })

  test.each([
    'npm ci && npx voucherctl quickstart',
    'npm install ./voucherctl-0.1.0.tgz',
    'pnpm add --allow-build=@photostructure/sqlite voucherctl-0.1.0.tgz',
    'npm install --global --prefix ~/.local . && voucherctl quickstart',
    'npm uninstall --global voucherctl',
  ])('accepts `%s`, which works in a clone or with a packed file', (command) => {
    expect(unpublished(`Run \`${command}\`.`)).toEqual([])
  })
})

test('no document names a command that needs a published package', () => {
  expect(documents.length).toBeGreaterThan(40)
  const found = documents.flatMap((path) => unpublished(readFileSync(join(root, path), 'utf8')).map((it) => [path, it]))
  expect(found).toEqual([])
})

test('no help page, topic or file of the build names a command that needs a published package', async () => {
  const { stdout } = await cli('--help')
  const names = /\nTopics.*:\n((?: {2}.*\n)+)/.exec(stdout)?.[1]?.trim().split(/\s+/) ?? []
  expect(names).toContain('agents')
  const pages = await Promise.all(names.map(async (it) => (await cli(['help', it])).stdout))
  const stored = ['help.json', 'SKILL', 'llms.txt'].map((it) =>
    readFileSync(join(root, 'dist', it === 'SKILL' ? `SKILL${'.md'}` : it), 'utf8'),
  )
  expect([...pages, ...stored].flatMap(unpublished)).toEqual([])
})

test.each(['claude', 'cursor', 'vscode'])('mcp install %s of a clone names the command on PATH', async (client) => {
  const { stdout, stderr } = await built.run(['mcp', 'install', client], temporaryDir(), { PATH: '/none' })
  const [[, servers] = []] = Object.entries(JSON.parse(stdout) as Record<string, Record<string, unknown>>)
  expect(servers).toEqual({ voucherctl: { command: 'voucherctl', args: ['mcp', 'serve'] } })
  expect(unpublished(stdout + stderr)).toEqual([])
  expect(stderr).toContain('`npm install --global --prefix ~/.local .`')
})
