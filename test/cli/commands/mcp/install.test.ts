import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { cli, temporaryDir } from '../../../support/cli/cli.js'

const npx = { command: 'npx', args: ['-y', 'voucherctl', 'mcp', 'serve'] }

describe('mcp install', () => {
  test.each([
    ['claude', '.mcp.json', 'mcpServers'],
    ['cursor', '.cursor/mcp.json', 'mcpServers'],
    ['vscode', '.vscode/mcp.json', 'servers'],
  ])('%s gets its configuration, printed or written to its file', async (client, path, member) => {
    const home = temporaryDir()
    const printed = await cli(`mcp install ${client}`, { home })
    expect(JSON.parse(printed.stdout)).toEqual({ [member]: { voucherctl: npx } })
    expect(existsSync(join(home, path))).toBe(false)
    expect((await cli(`mcp install ${client} --write --dry-run`, { home })).stdout).toContain(
      `write ${join(home, path)}`,
    )
    expect(existsSync(join(home, path))).toBe(false)
    const { exit, stdout } = await cli(`mcp install ${client} --write --json`, { home })
    expect([exit, JSON.parse(stdout)]).toEqual([0, { path: join(home, path) }])
    expect(JSON.parse(readFileSync(join(home, path), 'utf8'))).toEqual({ [member]: { voucherctl: npx } })
  })

  test('--write keeps other entries, their order, the indentation and the mode of the file', async () => {
    const home = temporaryDir()
    const file = join(home, '.mcp.json')
    const before = {
      note: 1,
      mcpServers: { b: { command: 'b' }, voucherctl: { command: 'old' }, a: { command: 'a' } },
      z: [],
    }
    writeFileSync(file, `${JSON.stringify(before, null, '\t')}\n`, { mode: 0o640 })
    expect((await cli('mcp install claude --write', { home })).exit).toBe(0)
    const after = { ...before, mcpServers: { ...before.mcpServers, voucherctl: npx } }
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
  ])('a file with %s is left alone and named', async (_what, text) => {
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
    await cli('mcp install claude --write --installed', { home, self: ['/none/node', '/none/voucherctl.js'] })
    expect(await check(home)).toMatchObject({ status: 'fail', message: expect.stringContaining('/none/node') })
    writeFileSync(join(home, '.mcp.json'), '{')
    expect(await check(home)).toMatchObject({ status: 'warn', message: expect.stringContaining('.mcp.json') })
  })
})
