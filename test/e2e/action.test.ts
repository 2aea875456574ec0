import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { fileOfGuide, home, installed, node } from './installed.js'

const actions = fileURLToPath(new URL('../../.github/actions', import.meta.url))
const work = join(home, 'runner')

let files = 0
const lines = (text: string) => text.split('\n').filter((it) => it !== '')

/** Runs the script of an action as the runner does; returns what it wrote into the files of the runner. */
async function runAction(name: 'start' | 'finish', inputs: Record<string, string>) {
  const file = (kind: string) => join(work, `${kind}-${files}`)
  files += 1
  const kinds = ['GITHUB_ENV', 'GITHUB_OUTPUT', 'GITHUB_PATH', 'GITHUB_STEP_SUMMARY']
  for (const kind of kinds) writeFileSync(file(kind), '')
  const { runs } = parse(readFileSync(join(actions, name, 'action.yml'), 'utf8')) as {
    runs: { steps: { run: string }[] }
  }
  // With the other variables of this machine, which npm may need to reach its registry.
  const result = await execa(
    'bash',
    ['--noprofile', '--norc', '-e', '-o', 'pipefail', '-c', runs.steps[0]?.run ?? ''],
    {
      cwd: work,
      env: {
        HOME: work,
        PATH: `${dirname(node)}${delimiter}${process.env.PATH}`,
        RUNNER_TEMP: join(work, 'temp'),
        GITHUB_ACTION_PATH: join(actions, name),
        ...Object.fromEntries(kinds.map((kind) => [kind, file(kind)])),
        ...Object.fromEntries(Object.entries(inputs).map(([input, value]) => [`INPUT_${input.toUpperCase()}`, value])),
      },
      stdin: 'ignore',
      reject: false,
    },
  )
  const [env = '', output = '', path = '', summary = ''] = kinds.map((kind) => readFileSync(file(kind), 'utf8'))
  return { ...result, env: lines(env), output: lines(output), path: lines(path), summary }
}

describe('actions for GitHub', () => {
  let tarball: string
  beforeAll(async () => {
    mkdirSync(join(work, 'temp'), { recursive: true })
    writeFileSync(join(work, 'seed.yaml'), fileOfGuide('seed.yaml'))
    const { stdout } = await execa('npm', ['pack', installed, '--ignore-scripts', '--json'], { cwd: work })
    tarball = `./${JSON.parse(stdout)[0].filename}`
  })
  afterAll(() => runAction('finish', { junit: '' }))

  test('finish succeeds without a server, and says so in the summary', async () => {
    const { exitCode, summary } = await runAction('finish', { junit: 'results.xml' })
    expect([exitCode, summary]).toEqual([0, '### Voucher server\nIt was not started.\n'])
  })

  test('start installs a package, masks tokens and passes them with the base URL to later steps', async () => {
    const { exitCode, stdout, stderr, env, output, path } = await runAction('start', {
      seed: 'seed.yaml',
      version: tarball,
    })
    expect([exitCode, stderr]).toEqual([0, expect.any(String)])
    const token = 'sop_ExampleTokenOfTheCoffeeShop00128wmY8'
    expect(env).toEqual([
      expect.stringMatching(/^VOUCHERCTL_BASE_URL=http:\/\/127\.0\.0\.1:\d+$/),
      `VOUCHERCTL_TOKEN=${token}`,
    ])
    expect(output).toEqual([env[0]?.replace('VOUCHERCTL_BASE_URL', 'base-url')])
    const printed = `${stdout}\n${stderr}`
    expect(printed.split(token)).toHaveLength(2)
    expect(lines(stdout)).toContain(`::add-mask::${token}`)
    const issue = ['vouchers', 'issue', '--template', 'tpl_ci', '--external-id', 'order-1', '--recipient', 'user-1']
    const later = await execa('voucherctl', [...issue, '--jq', '.status'], {
      env: {
        HOME: work,
        PATH: [...path, dirname(node), process.env.PATH].join(delimiter),
        ...Object.fromEntries(env.map((it) => [it.slice(0, it.indexOf('=')), it.slice(it.indexOf('=') + 1)])),
      },
      extendEnv: false,
    })
    expect(later.stdout).toBe('issued')
  })

  test('finish stops the server and keeps its log and the JUnit file', async () => {
    writeFileSync(join(work, 'results.xml'), '<testsuites/>')
    const { exitCode, output, summary } = await runAction('finish', { junit: 'results.xml' })
    const report = join(work, 'temp', 'voucherctl-report')
    expect([exitCode, output]).toEqual([0, [`path=${report}`]])
    expect(readdirSync(report).sort()).toEqual(['results.xml', 'server.log'])
    expect(summary).toMatch(/^### Voucher server\n0 errors in +\d+ lines of server\.log\n$/)
    expect(readFileSync(join(report, 'server.log'), 'utf8')).not.toContain('sop_')
    expect(existsSync(join(work, 'temp', 'voucherctl', 'data', 'server.json'))).toBe(false)
  })

  test('start fails for a wrong seed, and finish still succeeds', async () => {
    rmSync(join(work, 'temp'), { recursive: true })
    writeFileSync(join(work, 'wrong.yaml'), 'applicatons: []\n')
    const { exitCode, env } = await runAction('start', { seed: 'wrong.yaml', version: tarball })
    expect([exitCode, env]).toEqual([2, []])
    expect((await runAction('finish', { junit: '' })).exitCode).toBe(0)
  })

  test('example workflow uses both actions with inputs that they have', () => {
    const { jobs } = parse(readFileSync(join(actions, 'start', 'example.yaml'), 'utf8')) as {
      jobs: { test: { steps: { uses?: string; if?: string; with?: Record<string, string> }[] } }
    }
    const used = jobs.test.steps.filter(({ uses }) => uses?.includes('/.github/actions/'))
    for (const { uses = '', with: given = {} } of used) {
      const name = /actions\/(\w+)@/.exec(uses)?.[1] ?? ''
      const { inputs } = parse(readFileSync(join(actions, name, 'action.yml'), 'utf8')) as { inputs: object }
      expect([name, Object.keys(given).filter((it) => !(it in inputs))]).toEqual([name, []])
    }
    expect(used.map((it) => it.if)).toEqual([undefined, 'always()'])
  })
})
