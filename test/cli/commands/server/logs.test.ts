import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { cli, temporaryDir } from '../../../support/cli.js'

const request = { time: 'T', method: 'GET', path: '/healthz', status: 200, code: null, duration_ms: 1.25 }

function logs(args: string) {
  const dir = join(temporaryDir(), 'data')
  mkdirSync(dir)
  writeFileSync(join(dir, 'server.log'), `${JSON.stringify(request)}\n{"time":"T","msg":"stopped"}\nno JSON\n`)
  return cli(`server logs --data ${dir} ${args}`)
}

test('server logs formats JSON lines of the log file and prints other lines unchanged', async () => {
  expect((await logs('')).stdout).toBe('T 200 GET       1.3 ms /healthz\nT stopped\nno JSON\n')
})

test('server logs --fields selects members of each log entry', async () => {
  const lines = (await logs('--fields method,status')).stdout.trim().split('\n')
  expect(JSON.parse(lines[0] ?? '')).toEqual({ method: 'GET', status: 200 })
  expect(lines).toHaveLength(3)
})
