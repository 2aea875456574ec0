import { expect, test } from 'vitest'
import { tools } from '../../../src/cli/mcp/tools.js'
import { cli } from '../../support/cli/cli.js'
import { homeWithProfiles } from '../../support/cli/profiles.js'

const client = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
const change = { endpoint: 'platform.advanceClock', input: { seconds: 1 } }
const messages = [
  { id: 1, method: 'initialize', params: client },
  { method: 'notifications/initialized' },
  { id: 2, method: 'tools/call', params: { name: 'call', arguments: change } },
  { id: 3, method: 'tools/call', params: { name: 'prove', arguments: { command: 'touch started' } } },
]
const stdin = messages.map((it) => `${JSON.stringify({ jsonrpc: '2.0', ...it })}\n`).join('')

test.each([
  ['another machine', { base_url: 'http://shop.invalid' }, '', 'not on this machine'],
  ['production', { base_url: 'http://127.0.0.1:9', production: true }, ' --allow-write', 'with a production profile'],
])('tools change and run nothing: %s', { tags: ['tools-for-models/1', 'prove/4'] }, async (_, profile, flags, why) => {
  const { stdout } = await cli(`mcp serve${flags}`, { home: homeWithProfiles({ default: profile }), stdin })
  expect(stdout).toContain(why)
  expect(stdout).toContain('This command is not permitted.')
})

test.each(tools)('the tool $name has 55 s, or half an hour', { tags: 'tools-for-models/1' }, ({ name, msMax }) => {
  expect(msMax).toBe(['run_scenario', 'conform', 'prove'].includes(name) ? 1_800_000 : 55_000)
})
