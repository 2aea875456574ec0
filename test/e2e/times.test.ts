// One form of time in all text for people, local with its zone, and RFC 3339 in UTC for programs.
import { join } from 'node:path'
import { execa } from 'execa'
import { afterAll, expect, test } from 'vitest'
import { environment, folder, node } from './installed.js'

const command = join('node_modules', 'voucherctl', 'bin', 'voucherctl.js')
const secret = 'a-secret-of-a-test'

/** Starts the installed command in a zone that is 5:30 h ahead of UTC. */
const start = (...args: string[]) =>
  execa(node, [command, ...args, '-p', 'e2e-times'], {
    cwd: folder,
    env: { ...environment, TZ: 'Asia/Kolkata', VOUCHERCTL_WEBHOOK_SECRET: secret },
    extendEnv: false,
    stdin: 'ignore',
    reject: false,
    timeout: 45_000,
  })
const run = async (line: string) => (await start(...line.split(' '))).stdout
afterAll(() => start('server', 'stop'))

const local = /\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\+05:30/
const utc = /\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ/

test('texts show local times, --utc shows UTC, and formats for programs have RFC 3339', async () => {
  await run('server start --detach --test-clock')
  await run('login --local --account demo')
  const id = await run('apps create --name Shop -q')
  for (const line of ['apps list', `apps get ${id}`, 'whoami', 'server status', 'server logs', 'platform clock show']) {
    const shown = await run(line)
    expect([line, shown]).toEqual([line, expect.stringMatching(local)])
    expect(shown).not.toMatch(/\dT\d\d:\d\d/)
    expect(await run(`${line} --utc`)).toMatch(utc)
  }
  for (const format of ['json', 'jsonl', 'yaml', 'csv']) {
    const printed = await run(`apps list -o ${format}`)
    expect([format, printed]).toEqual([format, expect.stringMatching(/\dT\d\d:\d\d:\d\d\.\d{3}Z/)])
    expect(printed).not.toContain('+05:30')
  }
})

test('a shown time can be typed again, and clock advance and clock forecast take the same --in', async () => {
  expect(await run('platform clock forecast --in 31d')).toMatch(/^Until .*\+05:30: /)
  const [shown = ''] = local.exec(await run('platform clock advance --in 31d')) ?? []
  const later = `${Number(shown.slice(0, 4)) + 1}${shown.slice(4)}`
  const { stdout } = await start('platform', 'clock', 'set', later)
  expect(stdout).toContain(`The test clock says ${later}.`)
})

test('webhook listen, trigger, inbox list and inbox show print the same form of time', async () => {
  const listening = start('webhook', 'listen', '--port', '0', '--expect', 'ping=1')
  let told = ''
  listening.stderr.on('data', (chunk) => (told += chunk))
  const url = await new Promise<string>((resolve) =>
    listening.stderr.on('data', () => {
      const found = /^Ready on (\S+)\. /m.exec(told)
      if (found !== null) resolve(found[1] as string)
    }),
  )
  const texts = [
    await run(`webhook trigger ping --url ${url}`),
    (await listening).stdout,
    await run('webhook inbox list'),
    await run('webhook inbox show 1-1'),
  ]
  for (const text of texts) expect(text.split('\n').find((it) => local.test(it)) ?? text).toMatch(local)
})
