import { expect, test } from 'vitest'
import { cli } from '../support/cli/cli.js'
import { homeOf, matrix, rowEnvironment } from '../support/cli/matrix.js'
import { slowServers } from '../support/cli/slow-servers.js'

/** Commands that poll, whose calls take at most 10 s longer than the server holds them. */
const polling = ['bots updates', 'webhook listen']

/** `webhook trigger` waits for an app as the platform does. */
const calling = Object.entries(matrix)
  .filter(([path, { local }]) => local !== true && path !== 'webhook trigger')
  // Those that wait longest, beside each other.
  .sort(([one], [other]) => Number(polling.includes(other)) - Number(polling.includes(one)))

/** Commands that run at the same time: each waits for its time limit. */
const AT_ONCE = 8
const batches = Array.from({ length: Math.ceil(calling.length / AT_ONCE) }, (_, batch) => {
  const rows = calling.slice(batch * AT_ONCE, (batch + 1) * AT_ONCE)
  return { first: rows[0]?.[0], last: rows.at(-1)?.[0], rows }
})

test.each(batches)(
  'commands from $first to $last end within --timeout for servers that never respond in full',
  async ({ rows }) => {
    const runs = rows.flatMap(([path, row]) =>
      Object.entries(slowServers)
        .slice(0, polling.includes(path) ? 1 : 3)
        .map(async ([what, start]) => {
          const { baseUrl } = await start()
          const home = homeOf(row)
          const args = row.args.replaceAll('{url}', baseUrl).replaceAll('{home}', home)
          const line = `${path} ${args} --json --retries 0 --timeout 200ms --base-url ${baseUrl}`
          const stdin = row.stdin === undefined ? {} : { stdin: row.stdin }
          const ran = await cli(line, { home, env: rowEnvironment, ...stdin })
          expect([path, what, ran.exit], JSON.stringify(ran)).toEqual([path, what, path === 'scenario run' ? 1 : 9])
          // Polls take 10 s longer than the server holds them; without --timeout, a call may take 30 s.
          expect(ran.stdout + ran.stderr).toMatch(/within (1\d)?\d{3} ms|"ms": \d{3,4}\b/)
        }),
    )
    await Promise.all(runs)
  },
)
