import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { execa } from 'execa'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { folder, node } from './installed.js'

/** The README's own blocks, in their order. */
const readme = readFileSync(join(import.meta.dirname, '..', '..', 'README.md'), 'utf8')
const blocks = (language: string) =>
  [...readme.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'gms'))].map((match) => match[1] as string)

let home: string
let env: Record<string, string>

beforeAll(() => {
  home = mkdtempSync(join(folder, 'readme-'))
  // The same Node for the command and for what stands beside it in a pipe.
  const bin = join(home, 'bin')
  mkdirSync(bin)
  for (const [name, line] of [
    ['node', `exec '${node}' "$@"`],
    ['voucherctl', `exec '${node}' '${join(folder, 'node_modules', 'voucherctl', 'bin', 'voucherctl.js')}' "$@"`],
  ] as const) {
    writeFileSync(join(bin, name), `#!/bin/sh\n${line}\n`, { mode: 0o755 })
  }
  env = { HOME: home, PATH: `${bin}:${process.env.PATH ?? ''}` }
})
afterAll(async () => {
  await bash('voucherctl server stop || true')
  rmSync(home, { recursive: true, force: true })
})

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

const bash = (script: string) =>
  execa('bash', ['-euo', 'pipefail', '-c', script], {
    cwd: home,
    env,
    extendEnv: false,
    stdin: 'ignore',
    reject: false,
  })

test('the walk from a server of your own to a reversed redemption works as it is written', async () => {
  const start = 'server start --detach'
  const walk = blocks('sh').filter((block) => !block.includes('npm ') && !block.includes('--memory'))
  expect(walk.join('')).toContain(start)
  const [port, appPort] = [await freePort(), await freePort()]
  const script = walk
    .join('')
    .replace(start, `${start} --port 0`)
    .replaceAll('8787', String(port))
    .replaceAll('3000', String(appPort))
  const { stdout, stderr, exitCode } = await bash(script)
  expect({ exitCode, stderr: exitCode === 0 ? '' : stderr }).toEqual({ exitCode: 0, stderr: '' })
  expect(stdout).toContain('Reversed.')
  expect(stdout).toMatch(/Exported (\d+) rows of .*Imported \1 rows into /s)
  expect(stdout.match(/Every row has its voucher: 100 of 100\./g)).toHaveLength(2)
  expect(stdout).toContain('nothing listens on port')
  expect(stdout).toMatch(
    /^1-1 {2}message #\d+ {2}200 {2}\d+ ms {2}http:\/\/localhost:\d+\/hook\nNothing to show: .*inbox holds 1 delivery; none matches --failed\. 1 refused: see them with --verdict refused\.$/m,
  )
  expect(stdout).toMatch(/^\{"time":.*"verdict":"ok".*"type":"ping".*"status":200/m)
})

test('the programs run as they are written', async () => {
  const programs = blocks('js')
  expect(programs).toHaveLength(3)
  await bash('voucherctl server start --detach --port 0')
  const baseUrl = JSON.parse((await bash('voucherctl server status --json')).stdout).base_url as string
  const config = JSON.parse(readFileSync(join(home, '.config', 'voucherctl', 'config.json'), 'utf8'))
  const [profile] = Object.values(config.profiles) as [{ credentials: { token: { value: string } } }]
  const outputs = []
  for (const [index, program] of programs.entries()) {
    const file = join(folder, `readme-${index}.mjs`)
    writeFileSync(file, program)
    const variables = { VOUCHERCTL_BASE_URL: baseUrl, VOUCHERCTL_TOKEN: profile.credentials.token.value }
    const ran = await execa(node, [file], {
      cwd: folder,
      env: { ...env, ...variables },
      extendEnv: false,
      reject: false,
    })
    rmSync(file)
    expect({ exitCode: ran.exitCode, stderr: ran.stderr }).toEqual({ exitCode: 0, stderr: '' })
    outputs.push(ran.stdout)
  }
  expect(outputs[0]).toMatch(/^tpl_\w+ One free coffee 898$/)
  expect(outputs[1]).toMatch(/^true\n.+/)
  expect(outputs[2]).toBe('1 template, encrypted')
})
