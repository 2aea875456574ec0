import { execFile, execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { shellWord } from '../../../../src/values/shell-word.js'
import { cli, type Received, redeemCode, secrets, stub, success, temporaryDir } from '../../../support/cli/cli.js'
import { type CliServer, cliServer } from '../../../support/cli/server.js'

const has = (program: string) => {
  try {
    return execFileSync(program, ['--version']).length > 0
  } catch {
    return false
  }
}
const missing = ['bash', 'curl'].filter((it) => !has(it))
/** Defines a test that is skipped if bash or curl is missing. */
const inBash = (name: string, body: () => Promise<void>) => test.skipIf(missing.length > 0)(name, body, 60_000)
const reason = missing.length > 0 ? ` (skipped: no ${missing.join(' and no ')})` : ''

function bash(
  script: string,
  env: Record<string, string> = {},
): Promise<{ exit: number | null; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    const options = { env: { PATH: process.env.PATH ?? '', ...env }, maxBuffer: 16 * 1024 * 1024 }
    const child = execFile('bash', ['--norc', '-c', script], options, (_error, stdout, stderr) => {
      resolve({ exit: child.exitCode, stdout, stderr })
    })
  })
}

/** Strings with characters that are special in shells, JSON and URLs. */
const hostile = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.string({
      unit: fc.constantFrom(...'ab \'"$`!\\\n\t;&|<>*?[]{}()#~=%@-.é漢😀\u0001\u001b\u007f\u0085\u202e\u2028'),
    }),
  },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme' }) },
)

describe(`words for bash${reason}`, () => {
  inBash('bash reads the output of shellWord back as the same bytes, in any locale', async () => {
    const texts = fc.sample(hostile, { numRuns: 400, seed: 7 }).filter((it) => !it.includes('\0'))
    for (const locale of ['C', 'C.UTF-8']) {
      const script = texts.map((it) => `printf '%s\\0' ${shellWord(it)}`).join('\n')
      const { stdout, stderr } = await bash(script, { LC_ALL: locale })
      expect([stdout.split('\0').slice(0, -1), stderr]).toEqual([texts, ''])
    }
    for (const text of texts) expect(shellWord(text)).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e\u2028]/)
  })

  inBash('an interactive bash with history does not expand ! in the output of shellWord', async () => {
    const text = "a!b '!c\t!!"
    const { stdout } = await bash(`set -o history; set -H\nprintf '%s' ${shellWord(text)}`)
    expect(stdout).toBe(text)
  })
})

describe(`api --curl${reason}`, () => {
  let server: CliServer
  let env: CliServer['env']
  beforeAll(async () => {
    server = await cliServer()
    env = server.env
  })
  afterAll(() => server.close())

  inBash('the command of api --curl sends the same request as api for any path, query and fields', async () => {
    const { baseUrl, received } = await stub(() => success({}))
    const values = fc.sample(fc.tuple(hostile, hostile, hostile), { numRuns: 12, seed: 11 })
    const given = { env: { ...secrets, VOUCHERCTL_BASE_URL: baseUrl } }
    const lines: string[] = []
    for (const [a, b, c] of values) {
      const [one, two, three] = [a, b, c].map((it) => it.replaceAll('\0', '')) as [string, string, string]
      const fields = [`text=${one}`, `metadata[${two.replaceAll(/[[\].=]/g, '') || 'k'}]=${three}`]
      const path = `/open-platform/x/${encodeURIComponent(one)}/${three.replaceAll(/[#\n]/g, '')}?q=${encodeURIComponent(two)}`
      for (const args of [
        ['api', 'GET', path, '-f', `f=${three}`, '--as', 'token'],
        ['api', 'PATCH', path, ...fields.flatMap((it) => ['-f', it]), '--as', 'token'],
      ]) {
        const sent = await cli(args, given)
        expect([args, sent.exit, sent.stderr]).toEqual([args, 0, ''])
        const shown = await cli([...args, '--curl'], given)
        expect([shown.exit, shown.stderr]).toEqual([0, ''])
        lines.push(shown.stdout)
      }
    }
    const ours = received.splice(0)
    expect(ours).toHaveLength(lines.length)
    const ran = await bash(`set -e\n${lines.join('\n')}`, secrets)
    expect([ran.exit, ran.stderr, received.length]).toEqual([0, '', lines.length])
    for (const [index, theirs] of received.entries()) {
      const { method, path, body, headers } = ours[index] as Received
      expect([lines[index], theirs]).toMatchObject([lines[index], { method, path, body }])
      for (const name of ['authorization', 'accept', 'content-type', 'content-length'])
        expect([lines[index], name, theirs.headers[name]]).toEqual([lines[index], name, headers[name]])
    }
  })

  inBash('the command of api --curl prints the same response as api, also for errors and with -i', async () => {
    const calls = [
      'GET /open-platform/vouchers/templates -F limit=1',
      'GET /open-platform/applications',
      'GET /open-platform/vouchers/redemptions/rdm_nothing',
      'GET /_platform/v1/reviews?kind=bot',
      'GET /healthz',
      'GET /open-platform/x/../y --as jwt',
      'POST /open-platform/vouchers/issue',
      'DELETE /open-platform/applications/app_nothing/bots/b',
    ]
    for (const call of calls) {
      const sent = await cli(`api ${call} -i --json --yes`, { env })
      const { command } = JSON.parse((await cli(`api ${call} --curl --json`, { env })).stdout)
      const ran = await bash(command, env)
      const withoutId = ({ requestId: _id, ...rest }: Record<string, unknown>) => rest
      expect([call, withoutId(JSON.parse(ran.stdout))]).toEqual([call, withoutId(JSON.parse(sent.stdout).body)])
      const shown = await cli(`api ${call} --curl -i`, { env })
      expect((await bash(shown.stdout, env)).stdout).toMatch(new RegExp(`^HTTP/1.1 ${JSON.parse(sent.stdout).status} `))
    }
  })

  inBash('the command of api --curl contains no secret and fails if a secret variable is unset', async () => {
    const { baseUrl, received } = await stub(() => success({}))
    for (const [route, name] of [
      ['GET /open-platform/vouchers/templates', 'VOUCHERCTL_TOKEN'],
      ['GET /bots/getWebhookInfo', 'VOUCHERCTL_BOT_TOKEN'],
      ['GET /open-platform/applications', 'VOUCHERCTL_JWT'],
      ['GET /_platform/v1/reviews', 'VOUCHERCTL_OPERATOR_KEY'],
    ]) {
      const shown = await cli(`api ${route} --curl --base-url ${baseUrl}`, { env: secrets })
      expect(shown.stdout).not.toContain('CANARY')
      const ran = await bash(shown.stdout)
      expect([ran.exit === 0, ran.stderr.includes(name as string), received.length]).toEqual([false, true, 0])
    }
  })

  test('api --curl without a credential prints a variable in its place', { tags: 'hidden-values/1' }, async () => {
    const shown = await cli(`api GET /open-platform/applications --curl --base-url ${server.baseUrl}`)
    expect([shown.exit, shown.stderr]).toEqual([0, ''])
    expect(shown.stdout).toContain('"Authorization: Bearer ${VOUCHERCTL_JWT:?}"')
  })

  inBash('the command of api --curl reads codes, secrets and webhook URLs from variables', async () => {
    const { credential } = await server.issue()
    const stdin = JSON.stringify({ metadata: { note: "till '4' $X" }, credential })
    const shown = await cli(
      'api POST /open-platform/vouchers/redeem --input - --idempotency-key till-4 --curl --json',
      { env, stdin },
    )
    const { command, variables } = JSON.parse(shown.stdout)
    expect(command).not.toContain(credential.value)
    expect(variables).toEqual([
      { name: 'VOUCHERCTL_TOKEN', holds: 'the application token' },
      { name: 'CODE', holds: `the code …${credential.value.slice(-4)}` },
    ])
    const first = JSON.parse((await bash(command, { ...env, CODE: credential.value })).stdout)
    expect(first.data).toMatchObject({ status: 'succeeded', metadata: { note: "till '4' $X" } })
    // The printed command holds the idempotency key, so its second run returns a replay.
    expect(JSON.parse((await bash(command, { ...env, CODE: credential.value })).stdout).data).toEqual(first.data)

    const { baseUrl, received } = await stub(() => success({}))
    const body = { url: 'https://shop.example/hook/canary', secret_token: 'canary-secret', note: '@ @@' }
    const hook = await cli(`api POST /bots/setWebhook --input - --curl --base-url ${baseUrl}`, {
      env: secrets,
      stdin: JSON.stringify(body),
    })
    expect(hook.stdout).not.toContain('canary')
    const filled = { WEBHOOK_URL: body.url, VOUCHERCTL_WEBHOOK_SECRET: body.secret_token }
    await bash(hook.stdout, { ...secrets, ...filled })
    expect(received[0]?.body).toEqual(body)
  })

  inBash('the command of api --curl sends the bytes of the --input file, which it names', async () => {
    const { baseUrl, received } = await stub(() => success({}))
    const cwd = temporaryDir()
    const value = { type: 'redeem_code', value: redeemCode }
    writeFileSync(join(cwd, "it's -b@d.json"), `${JSON.stringify({ credential: value }, null, 2)}\r\n`)
    const args = ['api', 'POST', '/open-platform/vouchers/verify', '--input', "it's -b@d.json", '--base-url', baseUrl]
    await cli(args, { env: secrets, cwd })
    const shown = await cli([...args, '--curl'], { env: secrets, cwd })
    expect(shown.stdout).not.toContain(redeemCode)
    await bash(shown.stdout, secrets)
    const [ours, theirs] = received
    expect(theirs?.headers['content-length']).toBe(ours?.headers['content-length'])
    expect(theirs?.body).toEqual({ credential: value })
  })

  inBash(
    'the command of api --curl ignores proxy variables of the environment, like voucherctl for a local server',
    async () => {
      const more = { ...env, http_proxy: 'http://127.0.0.1:9' }
      const shown = await cli('api GET /healthz --curl', { env: more })
      expect((await bash(shown.stdout, more)).stdout).toContain('"status":"ok"')
    },
  )

  test('api --curl is refused with --secure auto and required, because curl cannot encrypt', async () => {
    for (const mode of ['auto', 'required']) {
      const ran = await cli(`api GET /open-platform/applications --curl --secure ${mode}`, { env })
      expect([ran.exit, ran.stdout]).toEqual([2, ''])
      expect(ran.stderr).toContain('--secure off')
      expect((await cli(`api GET /_platform/v1/reviews --curl --secure ${mode}`, { env })).exit).toBe(0)
    }
  })

  test('api --curl lists on a terminal the environment variables that the command needs', async () => {
    const ran = await cli('api GET /open-platform/applications --curl', { env, terminal: true })
    expect(ran.stderr).toContain('VOUCHERCTL_JWT: the account JWT')
  })
})
