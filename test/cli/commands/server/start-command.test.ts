import { expect, test } from 'vitest'
import { type StartFlags, startCommandOf } from '../../../../src/cli/commands/server/start-flags.js'

const commandOf = (flags: Partial<StartFlags>) =>
  startCommandOf({ memory: false, watch: false, ...flags } as StartFlags, '/data dir', { cwd: '/project' })('8421')

test('command that starts a server again names folder and port, and works from any folder', () => {
  expect(commandOf({ port: 0, 'test-clock': true, seed: 'seed.yaml', 'new-store': true })).toBe(
    "voucherctl server start --port=8421 --test-clock --seed=/project/seed.yaml --detach '--data=/data dir'",
  )
})

test.each([
  'https://user:pass@keys.example/set',
  'https:user:pass@keys.example/set',
  'https:\\\\user:p@ss@keys.example/set',
])('command that starts a server again has neither a seed from stdin nor the password of %s', (url) => {
  expect(commandOf({ memory: true, seed: '-', 'jwks-url': url })).toBe(
    'voucherctl server start --memory --jwks-url=https://keys.example/set --port=8421 --detach',
  )
})
