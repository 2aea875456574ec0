import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import { expect, test } from 'vitest'
import { folder, major, node, voucherctl } from './installed.js'

const installed = JSON.parse(readFileSync(join(folder, 'node_modules', 'voucherctl', 'package.json'), 'utf8')) as {
  version: string
}

test('the Node binary under test has the major version of VOUCHERCTL_E2E_MAJOR', async () => {
  const { stdout } = await execa(node, ['-p', 'process.versions.node'], { extendEnv: false })
  expect(stdout.split('.', 1)[0]).toBe(major)
})

test('--version prints the version of the installed package', async () => {
  const { stdout, stderr, exitCode } = await voucherctl('--version')
  expect({ stdout, stderr, exitCode }).toEqual({ stdout: installed.version, stderr: '', exitCode: 0 })
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
  expect(JSON.parse(stdout)).toMatchObject({ openapi: '3.1.0', info: { version: installed.version } })
})
