import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { scriptFiles, scriptFor } from '../../../../src/cli/commands/completion/scripts.js'
import type { shellNames } from '../../../../src/cli/commands/completion/shells.js'
import { entries } from '../../../../src/cli/program.js'
import { built } from '../../../support/cli/built-cli.js'
import { secrets, stub, success, temporaryDir } from '../../../support/cli/cli.js'
import { patient } from '../../../support/cli/completion.js'
import { app, pageOf } from '../../../support/cli/samples.js'
import { bash, fish, hasShell, nameOf, type Session, zsh } from '../../../support/cli/shells.js'

const hostile = {
  ...app,
  id: 'app_$(touch pwned);it`touch pwned`\'s "x" y',
  name: '$(touch pwned) `touch pwned` "x" %F{red}',
}

/** Shell settings with a fake `voucherctl`: completes with the built program, else prints its arguments. */
async function session(shell: (typeof shellNames)[number], ...apps: unknown[]): Promise<Session> {
  const home = temporaryDir()
  const bin = join(home, 'bin')
  mkdirSync(bin)
  const program = join(bin, 'voucherctl')
  writeFileSync(
    program,
    `#!/bin/sh
if [ "$1" = __complete ]; then echo asked >> "${home}/asked"; exec "${process.execPath}" "${built.bin}" "$@"; fi
printf 'ran:'; printf ' <%s>' "$@"; echo
`,
  )
  chmodSync(program, 0o755)
  const script = join(home, scriptFiles[shell])
  writeFileSync(script, await scriptFor(shell, entries))
  mkdirSync(join(home, '.config/voucherctl'), { recursive: true })
  const config = { current: 'a', profiles: { a: {}, "my shop's": {} } }
  writeFileSync(join(home, '.config/voucherctl/config.json'), JSON.stringify(config))
  writeFileSync(join(home, 'some file.json'), '')
  mkdirSync(join(home, 'some folder'))
  const { baseUrl } = await stub(() => success(pageOf(...apps)))
  const env = { PATH: `${bin}:${process.env.PATH}`, HOME: home, TERM: 'dumb', ...secrets, ...patient }
  return { home, env: { ...env, VOUCHERCTL_BASE_URL: baseUrl }, script }
}

const hasRun = ({ home }: Session) => existsSync(join(home, 'asked'))
const pwned = ({ home }: Session) => existsSync(join(home, 'pwned'))

describe.skipIf(!hasShell('bash'))(nameOf('bash'), () => {
  test('Tab in bash completes command names without starting voucherctl', async () => {
    const it = await session('bash', app)
    expect(await bash(['voucherctl vou\tredem\t', 'voucherctl platform clock adv\t'], it)).toEqual([
      'ran: <vouchers> <redemption>',
      'ran: <platform> <clock> <advance>',
    ])
    expect(hasRun(it)).toBe(false)
    expect(await bash(['voucherctl apps create --na\t'], it)).toEqual(['ran: <apps> <create> <--name>'])
    expect(hasRun(it)).toBe(true)
  })

  test('Tab in bash completes flags, values, ids, files and folders, after = and in quotes', async () => {
    const it = await session('bash', app)
    const lines = [
      'voucherctl apps get a\t--secure=r\t',
      'voucherctl -q apps create --allow\tx --output "y\t',
      'voucherctl apps list --token-file some\\ fi\t',
      'voucherctl server start --data=some\t',
      'voucherctl -p my\t',
      "voucherctl -p 'my\t",
      'voucherctl tokens create --scope vouchers:redeem --scope vouchers:templates:w\t',
    ]
    expect(await bash(lines, it)).toEqual([
      'ran: <apps> <get> <app_01> <--secure=required>',
      'ran: <-q> <apps> <create> <--allowed-origin> <x> <--output> <yaml>',
      'ran: <apps> <list> <--token-file> <some file.json>',
      'ran: <server> <start> <--data=some folder/>',
      "ran: <-p> <my shop's>",
      "ran: <-p> <my shop's>",
      'ran: <tokens> <create> <--scope> <vouchers:redeem> <--scope> <vouchers:templates:write>',
    ])
  })

  test('bash completion never executes code in names and ids from a server', async () => {
    const it = await session('bash', hostile)
    expect(await bash(['voucherctl apps get app\t', 'voucherctl apps get "app\t'], it)).toEqual([
      `ran: <apps> <get> <${hostile.id}>`,
      `ran: <apps> <get> <${hostile.id}>`,
    ])
    expect(pwned(it)).toBe(false)
  })
})

describe.skipIf(!hasShell('zsh'))(nameOf('zsh'), () => {
  test('Tab in zsh completes command names with summaries without starting voucherctl', async () => {
    const it = await session('zsh', app)
    const [names, group] = await zsh(['voucherctl vou', 'voucherctl platform clock '], it)
    expect(names?.line).toBe('voucherctl vouchers ')
    expect(group?.shown).toEqual([
      'show      -- Read the test clock',
      expect.stringMatching(/^set {7}-- ./),
      expect.stringMatching(/^advance {3}-- ./),
      expect.stringMatching(/^forecast {2}-- ./),
    ])
    expect(hasRun(it)).toBe(false)
  })

  test('Tab in zsh completes flags, values, ids, files and folders, after = and in quotes', async () => {
    const it = await session('zsh', app)
    const lines = [
      'voucherctl apps get a',
      'voucherctl apps list --secure=r',
      'voucherctl -q apps create --allow',
      'voucherctl apps list --token-file some\\ fi',
      'voucherctl server start --data=some',
      'voucherctl -p my',
      'voucherctl -p "my',
    ]
    const completed = await zsh(lines, it)
    expect(completed.map(({ line }) => line.trimEnd())).toEqual([
      'voucherctl apps get app_01',
      'voucherctl apps list --secure=required',
      'voucherctl -q apps create --allowed-origin',
      'voucherctl apps list --token-file some\\ file.json',
      'voucherctl server start --data=some\\ folder/',
      "voucherctl -p my\\ shop\\'s",
      'voucherctl -p "my shop\'s"',
    ])
    expect(completed[0]?.shown).toEqual(['app_01       -- Coffee shop, active', 'Coffee shop  -- app_01, active'])
  })

  test('zsh completion never executes code in names and ids from a server', async () => {
    const it = await session('zsh', hostile)
    const [completed] = await zsh(['voucherctl apps get app'], it)
    expect(completed?.line.trimEnd()).toBe(
      'voucherctl apps get app_\\$\\(touch\\ pwned\\)\\;it\\`touch\\ pwned\\`\\\'s\\ \\"x\\"\\ y',
    )
    expect(pwned(it)).toBe(false)
  })
})

describe.skipIf(!hasShell('fish'))(nameOf('fish'), () => {
  test('fish completes command names with summaries without starting voucherctl', async () => {
    const it = await session('fish', app)
    expect(await fish('voucherctl vou', it)).toEqual([
      `vouchers\t${entries.find((one) => one.name === 'vouchers')?.summary}`,
    ])
    expect(await fish('voucherctl platform clock s', it)).toContain('show\tRead the test clock')
    expect(hasRun(it)).toBe(false)
  })

  test.each([
    ['voucherctl apps get ', 'app_01\tCoffee shop, active'],
    ['voucherctl apps list --secure=r', '--secure=required'],
    ['voucherctl -q apps create --allow', '--allowed-origin\tOrigin that the encrypted transport accepts, or *'],
    ['voucherctl apps list --token-file some', 'some file.json'],
    ['voucherctl server start --data=some', '--data=some folder/'],
    ['voucherctl -p my', "my shop's"],
    ['voucherctl -p "my', "my shop's"],
  ])('fish completes the line "%s" with %j', async (line, offered) => {
    expect(await fish(line, await session('fish', app))).toContainEqual(expect.stringContaining(offered))
  })

  test('fish completion never executes code in names and ids from a server', async () => {
    const it = await session('fish', hostile)
    expect(await fish('voucherctl apps get ', it)).toEqual([
      `${hostile.id}\t${hostile.name}, active`,
      `${hostile.name}\t${hostile.id}, active`,
    ])
    expect(pwned(it)).toBe(false)
  })
})
