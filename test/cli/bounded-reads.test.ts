import { rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { cli, temporaryDir } from '../support/cli/cli.js'

const linux = test.runIf(process.platform === 'linux')
const refusal = expect.stringContaining('is larger than 16 MiB')

linux.each([
  'server start --memory --port 0 --seed /dev/zero',
  'scenario run /dev/zero',
  'templates apply --file /dev/zero',
  'templates create --file /dev/zero',
  'api POST /open-platform/applications --input /dev/zero',
  'api POST /open-platform/applications -F name=@/dev/zero',
  'secure call POST /open-platform/vouchers/verify --body /dev/zero',
  'webhook verify --body-file /dev/zero --headers-file /dev/null --secret-file /dev/null',
  'webhook sign --update-id 1 --body-file /dev/null --secret-file /dev/zero',
  'apps list --token-file /dev/zero',
  'login --with-token /dev/zero',
])('%s ends because the file is too large', { tags: 'bounded-reads/1' }, async (line) => {
  const { exit, stderr } = await cli(`${line} --json --base-url http://127.0.0.1:9`)
  expect([exit, JSON.parse(stderr).error.message]).toEqual([2, refusal])
})

linux('a profile file that is a link to /dev/zero or too large is refused', async () => {
  const home = temporaryDir()
  const run = () => cli('profiles list --json', { home, env: { VOUCHERCTL_CONFIG_DIR: home } })
  symlinkSync('/dev/zero', join(home, 'config.json'))
  expect(JSON.parse((await run()).stderr).error.message).toEqual(refusal)
  rmSync(join(home, 'config.json'))
  writeFileSync(join(home, 'config.json'), Buffer.alloc(17 * 1024 * 1024, 32))
  expect(JSON.parse((await run()).stderr).error.message).toEqual(refusal)
})
