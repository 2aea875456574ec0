import { expect, test } from 'vitest'
import { cli } from '../support/cli/cli.js'
import { homeOf, matrix, rowEnvironment } from '../support/cli/matrix.js'
import { slowServers } from '../support/cli/slow-servers.js'

/** Commands that poll, whose calls take at most 10 s longer than the server holds them. */
const polling = ['bots updates', 'webhook listen']

/** `webhook trigger` waits for an app as the platform does. */
const calling = Object.entries(matrix).filter(([path, { local }]) => local !== true && path !== 'webhook trigger')

test.each(calling)(
  'the command %s ends within --timeout for servers that never complete a response',
  async (path, row) => {
    for (const [what, start] of Object.entries(slowServers).slice(0, polling.includes(path) ? 1 : 3)) {
      const { baseUrl } = await start()
      const home = homeOf(row)
      const args = row.args.replaceAll('{url}', baseUrl).replaceAll('{home}', home)
      const line = `${path} ${args} --json --retries 0 --timeout 200ms --base-url ${baseUrl}`
      const ran = await cli(line, {
        home,
        env: rowEnvironment,
        ...(row.stdin === undefined ? {} : { stdin: row.stdin }),
      })
      expect([what, ran.exit], JSON.stringify(ran)).toEqual([what, path === 'scenario run' ? 1 : 9])
    }
  },
  // Before the 30 s that a call may take without --timeout.
  20_000,
)
