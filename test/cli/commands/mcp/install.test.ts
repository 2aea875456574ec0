import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Host } from '../../../../src/cli/host/host.js'
import { entryOf } from '../../../../src/cli/mcp/clients.js'
import { cli, temporaryDir } from '../../../support/cli/cli.js'

const entry = { command: 'voucherctl', args: ['mcp', 'serve'] }

/** Writes the file of Claude Code with an entry that an earlier version made. */
function withEntry(more: object = {}) {
  const home = temporaryDir()
  const file = join(home, '.mcp.json')
  const before = { command: 'npx', args: ['-y', 'voucherctl', 'mcp', 'serve'], ...more }
  writeFileSync(file, JSON.stringify({ mcpServers: { voucherctl: before } }, null, 2))
  const entryNow = () => JSON.parse(readFileSync(file, 'utf8')).mcpServers.voucherctl
  return { home, file, before, entryNow }
}

describe('mcp install', () => {
  test.each([
    ['claude', '.mcp.json', 'mcpServers'],
    ['cursor', '.cursor/mcp.json', 'mcpServers'],
    ['vscode', '.vscode/mcp.json', 'servers'],
  ])('%s gets its configuration, printed or written to its file', async (client, path, member) => {
    const home = temporaryDir()
    const printed = await cli(`mcp install ${client}`, { home })
    expect(JSON.parse(printed.stdout)).toEqual({ [member]: { voucherctl: entry } })
    expect(existsSync(join(home, path))).toBe(false)
    expect((await cli(`mcp install ${client} --write --dry-run`, { home })).stdout).toContain(
      `write ${join(home, path)}`,
    )
    expect(existsSync(join(home, path))).toBe(false)
    const { exit, stdout } = await cli(`mcp install ${client} --write --json`, { home })
    expect([exit, JSON.parse(stdout)]).toEqual([0, { path: join(home, path) }])
    expect(JSON.parse(readFileSync(join(home, path), 'utf8'))).toEqual({ [member]: { voucherctl: entry } })
  })

  test('--write keeps other entries, their order, indentation and mode', { tags: 'tools-for-models/4' }, async () => {
    const home = temporaryDir()
    const file = join(home, '.mcp.json')
    const before = {
      note: 1,
      mcpServers: { b: { command: 'b' }, voucherctl: { command: 'old', env: { A: 'b' } }, a: { command: 'a' } },
      z: [],
    }
    writeFileSync(file, `${JSON.stringify(before, null, '\t')}\n`, { mode: 0o640 })
    expect((await cli('mcp install claude --write --yes', { home })).exit).toBe(0)
    const servers = { ...before.mcpServers, voucherctl: { command: 'voucherctl', env: { A: 'b' }, args: entry.args } }
    const after = { ...before, mcpServers: servers }
    expect(readFileSync(file, 'utf8')).toBe(`${JSON.stringify(after, null, '\t')}\n`)
    expect(statSync(file).mode & 0o777).toBe(0o640)
  })

  test('--write keeps the line ends CR LF of the file', async () => {
    const home = temporaryDir()
    const file = join(home, '.mcp.json')
    writeFileSync(file, '{\r\n  "mcpServers": {}\r\n}\r\n')
    expect((await cli('mcp install claude --write', { home })).exit).toBe(0)
    expect(readFileSync(file, 'utf8')).toMatch(/^(?:[^\r\n]+\r\n)+$/)
  })

  test.each([
    ['a comment', '{\n  // mine\n  "servers": {}\n}\n'],
    ['a cut end', '{ "servers": {'],
    ['a list', '[]'],
    ['servers in a list', '{ "servers": [1] }'],
    ['a repeated name', '{ "servers": {}, "servers": { "a": {} } }'],
    ['a number that JavaScript rounds', '{ "n": 12345678901234567890 }'],
  ])('a file with %s is left alone and named', { tags: 'tools-for-models/4' }, async (_what, text) => {
    const home = temporaryDir()
    const file = join(home, '.vscode', 'mcp.json')
    mkdirSync(join(home, '.vscode'))
    writeFileSync(file, text)
    const { exit, stderr } = await cli('mcp install vscode --write', { home })
    expect([exit, stderr]).toEqual([2, expect.stringContaining(file)])
    expect(readFileSync(file, 'utf8')).toBe(text)
  })

  test('--installed, --seed and --profile become part of the command', async () => {
    const home = temporaryDir()
    const { stdout } = await cli('mcp install claude --installed --seed seed.yaml --profile shop', {
      home,
      self: ['/usr/bin/node', '/opt/voucherctl.js'],
      env: {},
    })
    const args = ['/opt/voucherctl.js', 'mcp', 'serve', '--profile', 'shop', '--seed', join(home, 'seed.yaml')]
    expect(JSON.parse(stdout)).toEqual({ mcpServers: { voucherctl: { command: '/usr/bin/node', args } } })
  })

  const members = {
    type: 'stdio',
    env: { VOUCHERCTL_TOKEN: 'sop_once' },
    envFile: '.env',
    disabled: true,
    autoApprove: ['rule'],
    x: 1,
  }

  test('install --write keeps other members, shows the change, and asks', { tags: 'tools-for-models/4' }, async () => {
    const { home, before, entryNow } = withEntry(members)
    const unasked = await cli('mcp install claude --write', { home })
    const change = "It starts 'npx -y voucherctl mcp serve', and will start 'voucherctl mcp serve'."
    expect([unasked.exit, unasked.stderr]).toEqual([3, expect.stringContaining(change)])
    const no = await cli('mcp install claude --write', { home, terminal: true, replies: [false] })
    expect([no.exit, no.asked, entryNow()]).toEqual([3, [expect.stringContaining('.mcp.json: go on?')], before])
    const yes = await cli('mcp install claude --write', { home, terminal: true, replies: [true] })
    expect([yes.exit, yes.stderr]).toEqual([0, expect.stringContaining(change)])
    expect(entryNow()).toEqual({ ...before, ...entry })
    expect((await cli('mcp install claude --write', { home })).exit).toBe(0)
  })

  test.each([
    ['a server with a URL', { url: 'https://example.org' }],
    ['a server with serverUrl', { serverUrl: 'https://example.org', env: {} }],
    ['a server with httpUrl', { httpUrl: 'https://example.org' }],
    ['a server of type http', { type: 'http', env: {} }],
    ['a server of type sse', { type: 'sse', headers: {} }],
    ['a name in place of an entry', undefined],
  ])('mcp install --write --yes leaves %s unchanged', async (_what, more) => {
    const { home, file } = withEntry(more)
    if (more === undefined) writeFileSync(file, '{"mcpServers":{"voucherctl":"x"}}')
    const before = readFileSync(file, 'utf8')
    const { exit, stderr } = await cli('mcp install claude --write --yes', { home })
    expect([exit, stderr, readFileSync(file, 'utf8')]).toEqual([2, expect.stringContaining('.mcp.json'), before])
  })

  test('mcp install --write refuses a read-only file, also as root', async () => {
    const { home, file, before, entryNow } = withEntry()
    chmodSync(file, 0o444)
    const { exit, stderr } = await cli('mcp install claude --write --yes', { home })
    expect([exit, stderr]).toEqual([1, expect.stringContaining(`${file} cannot be written (EACCES).`)])
    expect([entryNow(), statSync(file).mode & 0o777]).toEqual([before, 0o444])
  })

  test('mcp install warns if PATH has voucherctl only in a folder of packages, as in npm run', async () => {
    const home = temporaryDir()
    const [modules, bin] = [join(home, 'node_modules', '.bin'), join(home, 'bin')]
    for (const folder of [modules, bin]) {
      mkdirSync(folder, { recursive: true })
      writeFileSync(join(folder, 'voucherctl'), '', { mode: 0o755 })
    }
    const warningOf = async (PATH: string) => (await cli('mcp install claude', { home, env: { PATH } })).stderr
    expect(await warningOf(modules)).toContain('voucherctl is not on PATH')
    expect(await warningOf(`/none${delimiter}${bin}`)).toBe('')
  })

  test('mcp install starts a released version that is not on PATH with npx, but not a clone', () => {
    const hostOf = (manifest: object) => ({
      env: {},
      cwd: '/',
      self: ['', ''],
      document: () => JSON.stringify(manifest),
    })
    const of = (manifest: object) =>
      entryOf(hostOf(manifest) as unknown as Host, 'claude', {
        seed: undefined,
        profile: undefined,
        isInstalled: false,
      })
    const npx = { command: 'npx', args: ['-y', 'voucherctl@1.2.3', 'mcp', 'serve'] }
    expect(of({ version: '1.2.3', released: '1.2.3' })).toEqual(npx)
    expect(of({ version: '1.2.3' })).toEqual(entry)
  })

  test.each([
    ['claude', 'data/seed.yaml'],
    ['cursor', `\${workspaceFolder}/data/seed.yaml`],
    ['vscode', `\${workspaceFolder}/data/seed.yaml`],
  ])('the file of %s names a seed of the project without a path of this machine', async (client, seed) => {
    const home = temporaryDir()
    const { stdout } = await cli(`mcp install ${client} --seed ${join(home, 'data', 'seed.yaml')}`, { home })
    expect(JSON.stringify(JSON.parse(stdout))).toContain(JSON.stringify([...entry.args, '--seed', seed]))
  })

  test.each(['--seed /seed.yaml', '--seed ../seed.yaml', '--installed'])('install --write refuses %s', async (flag) => {
    const home = temporaryDir()
    expect((await cli(`mcp install claude --write ${flag}`, { home })).exit).toBe(2)
    expect(existsSync(join(home, '.mcp.json'))).toBe(false)
  })

  test.each(['install claude', 'serve'])('%s refuses a seed on standard input', async (command) => {
    const { exit, stderr, stdout } = await cli(`mcp ${command} --seed -`)
    expect([exit, stdout, stderr]).toEqual([2, '', expect.stringContaining('--seed cannot be standard input')])
  })

  test('an unknown client is exit code 2', async () => {
    const { exit, stderr } = await cli('mcp install emacs')
    expect([exit, stderr]).toEqual([2, expect.stringContaining('claude, cursor, vscode')])
  })
})

test('mcp tools lists the tools, with schemas in JSON', async () => {
  const { stdout } = await cli('mcp tools')
  expect(stdout).toMatch(/^server_state +reads +State of the server$/m)
  const { items } = JSON.parse((await cli('mcp tools --json')).stdout) as { items: Record<string, unknown>[] }
  for (const it of items) {
    expect(it).toMatchObject({ name: expect.stringMatching(/^[a-z_]+$/), input: { type: 'object' }, output: {} })
    expect(String(it.description).length, String(it.name)).toBeGreaterThan(60)
  }
})

describe('doctor checks MCP clients', () => {
  const check = async (home: string) => {
    const { checks } = JSON.parse((await cli('doctor --json', { home })).stdout) as { checks: { name: string }[] }
    return checks.find((it) => it.name === 'MCP clients')
  }

  test('a written configuration is in order', async () => {
    const home = temporaryDir()
    await cli('mcp install cursor --write', { home })
    expect(await check(home)).toMatchObject({ status: 'ok', message: 'Configured: cursor.' })
  })

  test('a path that does not exist is a failure, and a file that does not parse a warning', async () => {
    const home = temporaryDir()
    const { stdout } = await cli('mcp install claude --installed', {
      home,
      self: ['/none/node', '/none/voucherctl.js'],
    })
    writeFileSync(join(home, '.mcp.json'), stdout)
    expect(await check(home)).toMatchObject({ status: 'fail', message: expect.stringContaining('/none/node') })
    writeFileSync(join(home, '.mcp.json'), '{')
    expect(await check(home)).toMatchObject({ status: 'warn', message: expect.stringContaining('.mcp.json') })
  })
})
