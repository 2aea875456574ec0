import { expect, test } from 'vitest'
import { cli, secrets } from '../support/cli/cli.js'
import { slowServers } from '../support/cli/slow-servers.js'

const commands = ['conform', 'conform --read-only', 'platform activity', 'server logs', 'server logs --tail 3']

test.each(commands)(
  '%s exits 9 within --timeout if the response is missing, incomplete or too slow',
  { tags: 'time-limits/1' },
  async (command) => {
    for (const [what, start] of Object.entries(slowServers)) {
      const { baseUrl } = await start()
      const { exit, stdout, stderr } = await cli(`${command} --json --timeout 200ms --base-url ${baseUrl}`, {
        env: secrets,
      })
      expect([what, exit, stdout], stderr).toEqual([what, 9, ''])
      expect(JSON.parse(stderr).error.message).toMatch(/No (?:complete )?response within 200 ms/)
    }
  },
)

test.each(['platform activity --follow', 'server logs --follow', 'server logs --follow --tail 3'])(
  '%s exits 9 within --timeout if no head of a response arrives',
  async (command) => {
    const { baseUrl } = await slowServers.silent()
    const { exit, stderr } = await cli(`${command} --json --timeout 200ms --base-url ${baseUrl}`, { env: secrets })
    const { code, message } = JSON.parse(stderr).error
    expect([exit, code, message]).toEqual([9, 'TIMEOUT', expect.stringContaining('within 200 ms')])
  },
)
