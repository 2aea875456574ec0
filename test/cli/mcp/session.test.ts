import { expect, test } from 'vitest'
import { cli } from '../../support/cli/cli.js'
import { homeWithProfiles } from '../../support/cli/profiles.js'

const client = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
const change = { endpoint: 'platform.advanceClock', input: { seconds: 1 } }
const messages = [
  { id: 1, method: 'initialize', params: client },
  { method: 'notifications/initialized' },
  { id: 2, method: 'tools/call', params: { name: 'call', arguments: change } },
]
const stdin = messages.map((it) => `${JSON.stringify({ jsonrpc: '2.0', ...it })}\n`).join('')

test.each([
  ['another machine', { base_url: 'http://shop.invalid' }, '', 'not on this machine'],
  ['production', { base_url: 'http://127.0.0.1:9', production: true }, ' --allow-write', 'with a production profile'],
])('tools change nothing on %s', { tags: 'tools-for-models/1' }, async (_where, profile, flags, why) => {
  const { stdout } = await cli(`mcp serve${flags}`, { home: homeWithProfiles({ default: profile }), stdin })
  expect(stdout).toContain(why)
})
