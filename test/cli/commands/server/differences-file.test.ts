import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { cli, temporaryDir } from '../../../support/cli/cli.js'

test('server start refuses a file with unknown differences, names the line and does not start', async () => {
  const cwd = temporaryDir()
  writeFileSync(join(cwd, 'theirs.yaml'), 'reversal:\n  window_days: 30\nlists:\n  limit: 50\n')
  const { exit, stdout, stderr } = await cli('server start --memory --port 0 --differences theirs.yaml --json', { cwd })
  expect([exit, stdout]).toEqual([2, ''])
  const { error } = JSON.parse(stderr)
  expect(error.details.errors).toEqual([
    { pointer: 'theirs.yaml:3:1', message: 'lists has no setting: it cannot be switched.' },
  ])
  expect(error.hint).toMatch(/^No server was started\. What can be switched: .*reversal \(window_days\)/)
})

test('server start names its differences in the ready line, and server status too', async () => {
  const cwd = temporaryDir()
  writeFileSync(join(cwd, 'theirs.yaml'), 'reversal: { window_days: 30 }\n')
  const end = new AbortController()
  let status: Awaited<ReturnType<typeof cli>> | undefined
  let statusDone = Promise.resolve()
  const { stdout } = await cli(
    'server start --port 0 --data data --differences theirs.yaml --json --log-level silent',
    {
      cwd,
      signal: end.signal,
      onStdout: () => {
        statusDone = cli('server status --data data --json', { cwd }).then((it) => {
          status = it
          end.abort()
        })
      },
    },
  )
  await statusDone
  expect(JSON.parse(stdout).differences).toEqual(['reversal.window_days'])
  expect(JSON.parse(status?.stdout ?? '').differences).toEqual(['reversal.window_days'])
})
