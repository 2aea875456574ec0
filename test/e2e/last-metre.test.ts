import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { removeHome, voucherctl } from './installed.js'

let baseUrl: string

beforeAll(async () => {
  const started = await voucherctl('server', 'start', '--detach', '--port', '0', '--auto-approve', '--json')
  baseUrl = (JSON.parse(started.stdout) as { base_url: string }).base_url
})
afterAll(async () => {
  await voucherctl('server', 'stop')
  removeHome()
})

describe('suggested commands', () => {
  test('the hint of a refusal names the profile and the server of the command line', async () => {
    const { exitCode, stderr } = await voucherctl('apps', 'list', '-p', 'shop', '--base-url', baseUrl)
    expect(exitCode).toBe(5)
    expect(stderr).toMatch(/`voucherctl login --profile shop --base-url http:\/\/127\.0\.0\.1:\d+`/)
  })
})
