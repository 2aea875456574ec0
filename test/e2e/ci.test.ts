import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { fileOfGuide, home, installed, node } from './installed.js'

describe('CI', () => {
  const work = join(home, 'ci')
  const bash = (script: string) => {
    const npx = `npx() { shift; '${node}' '${join(installed, 'bin', 'voucherctl.js')}' "$@"; }`
    return execa('bash', ['-euo', 'pipefail', '-c', `${npx}\n${script}`], {
      cwd: work,
      env: { HOME: work, PATH: process.env.PATH ?? '', GITHUB_ENV: join(work, 'github.env') },
      extendEnv: false,
      stdin: 'ignore',
      reject: false,
    })
  }
  beforeAll(() => {
    mkdirSync(work)
    writeFileSync(join(work, 'seed.yaml'), fileOfGuide('seed.yaml'))
    chmodSync(join(work, 'seed.yaml'), 0o644)
  })
  afterAll(() => bash('npx voucherctl server stop'))

  test('server start refuses a readable seed file with tokens, and names the line of a mistake', async () => {
    const open = await bash('npx voucherctl server start --seed seed.yaml --memory --port 0')
    expect([open.exitCode, open.stderr]).toEqual([2, expect.stringContaining('chmod 600 seed.yaml')])
    const wrong = await bash('sed s/name:/nam:/ seed.yaml | npx voucherctl server start --seed - --memory --port 0')
    expect([wrong.exitCode, wrong.stderr]).toEqual([2, expect.stringContaining('applications[0].name is required.')])
  })

  test('CI workflow of the guide starts a server and passes variables to later steps', async () => {
    const { jobs } = parse(fileOfGuide('.github/workflows/test.yaml')) as {
      jobs: { test: { steps: { name?: string; run?: string }[] } }
    }
    const step = jobs.test.steps.find((it) => it.name === 'Start the voucher server')?.run ?? ''
    expect(await bash(step.replace('server start', 'server start --port 0'))).toMatchObject({ exitCode: 0 })
    const issued = await bash(`set -a; . ./github.env
      npx voucherctl vouchers issue --template tpl_ci --external-id order-1 --recipient user-1 --jq .status`)
    expect(issued).toMatchObject({ exitCode: 0, stdout: 'issued' })
  })

  test('server restart refuses another seed and finds its own', async () => {
    const start = 'npx voucherctl server start --port 0 --seed'
    const other = await bash(`npx voucherctl server stop
      sed s/tpl_ci/tpl_other/ seed.yaml > other.yaml
      chmod 600 other.yaml
      ${start} other.yaml`)
    expect([other.exitCode, other.stderr]).toEqual([6, expect.stringContaining('tpl_other is missing')])
    expect(JSON.parse((await bash(`${start} seed.yaml --detach --json`)).stdout)).toMatchObject({ seed: 'present' })
  })
})
