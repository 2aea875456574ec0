import { readFileSync, rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { execa } from 'execa'
import { expect, test } from 'vitest'
import { folder, home, installed, major, node, voucherctl } from './installed.js'

const { version } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as { version: string }

test('the Node binary under test has the major version of VOUCHERCTL_E2E_MAJOR', async () => {
  const { stdout } = await execa(node, ['-p', 'process.versions.node'], { extendEnv: false })
  expect(stdout.split('.', 1)[0]).toBe(major)
})

test('--version prints the version of the installed package', async () => {
  const { stdout, stderr, exitCode } = await voucherctl('--version')
  expect({ stdout, stderr, exitCode }).toEqual({ stdout: version, stderr: '', exitCode: 0 })
})

test('--help lists the command groups', async () => {
  const { stdout, stderr, exitCode } = await voucherctl('--help')
  expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 })
  for (const group of [
    'quickstart',
    'server',
    'apps',
    'tokens',
    'templates',
    'vouchers',
    'bots',
    'webhook',
    'secure',
    'platform',
  ]) {
    expect(stdout).toMatch(new RegExp(`^ .*\\s${group}(?:\\s|$)`, 'm'))
  }
})

test('help local-webhooks prints a guide of the installed package', async () => {
  const { stdout, stderr, exitCode } = await voucherctl('help', 'local-webhooks')
  expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 })
  expect(stdout).toMatch(/^# Webhooks on your own machine\n/)
})

test('an unknown command exits 2 and suggests a similar command', async () => {
  const { stdout, stderr, exitCode } = await voucherctl('vuchers')
  expect({ stdout, exitCode }).toEqual({ stdout: '', exitCode: 2 })
  expect(stderr).toContain('vouchers')
})

test('quickstart --json prints its steps, from issue to a verified signature, as one document', async () => {
  const { stdout, stderr, exitCode } = await voucherctl('quickstart', '--json')
  expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 })
  const document = JSON.parse(stdout) as unknown
  const text = JSON.stringify(document)
  for (const step of ['issue', 'verify', 'redeem', 'reverse', 'secure/dispatch', 'signature valid'])
    expect(text).toContain(step)
})

test('server openapi prints an OpenAPI 3.1 document with the version of the package', async () => {
  const { stdout, exitCode } = await voucherctl('server', 'openapi', '--json')
  expect(exitCode).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ openapi: '3.1.0', info: { version } })
})

test('quickstart suggests --keep, open and the guide as next commands', async () => {
  const { next } = JSON.parse((await voucherctl('quickstart', '--json')).stdout)
  expect(next).toEqual([
    'voucherctl quickstart --keep --no-pause',
    'voucherctl open -p quickstart',
    'voucherctl help first-steps',
  ])
})

test('init commands write files that name a JSON Schema of the package', async () => {
  const schemaOf = (path: string) => {
    const [, schema = ''] = /^# yaml-language-server: \$schema=(\S+)\n/.exec(readFileSync(path, 'utf8')) ?? []
    return resolve(dirname(path), schema)
  }
  const [templates, scenario] = [join(home, 'init-templates.yaml'), join(home, 'init-scenario.yaml')]
  await Promise.all([voucherctl('templates', 'init', templates), voucherctl('scenario', 'init', scenario)])
  for (const path of [templates, scenario])
    expect(JSON.parse(readFileSync(schemaOf(path), 'utf8'))).toMatchObject({ type: 'object' })
  const inProject = join(folder, 'e2e-templates.yaml')
  rmSync(inProject, { force: true })
  await voucherctl('templates', 'init', inProject)
  expect(schemaOf(inProject)).toBe(join(folder, 'node_modules/voucherctl/dist/schemas/templates.schema.json'))
  rmSync(inProject)
})

test('profiles set --secure required says how to undo the setting', async () => {
  expect((await voucherctl('profiles', 'set', '--help')).stdout.replace(/\s+/g, ' ')).toContain(
    '`voucherctl profiles set --unset secure.mode` undoes --secure.',
  )
})
