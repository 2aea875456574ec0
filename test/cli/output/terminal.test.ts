import { dirname } from 'node:path'
import { describe, expect, test } from 'vitest'
import { showInPager } from '../../../src/cli/host/pager.js'
import { built } from '../../support/cli/built-cli.js'
import { secrets, stub, success, temporaryDir } from '../../support/cli/cli.js'
import { app, pageOf } from '../../support/cli/samples.js'
import { hasTerminal, pagerOf, runOnTerminal } from '../../support/cli/terminal.js'

function settingsBeforeAndAfter(shown: string): string[] {
  return [...shown.matchAll(/speed [^]*?-?echoke[^\r\n]*/g)].map(([it]) => it)
}

describe.runIf(hasTerminal)('on a terminal', () => {
  test.each([
    ['Ctrl-C', '\u0003', 'login'],
    ['Ctrl-D', '\u0004', 'login'],
    ['Ctrl-C', '\u0003', 'apps create'],
    ['Ctrl-D', '\u0004', 'apps create'],
  ])(
    'the key %s at a prompt ends the command with exit 130 and restores the terminal settings',
    async (_name, key, command) => {
      const { baseUrl, received } = await stub(() => success(app))
      const terminal = runOnTerminal(`${command} --base-url ${baseUrl}`, { VOUCHERCTL_JWT: secrets.VOUCHERCTL_JWT })
      await terminal.until('?')
      await terminal.until(command === 'login' ? '(hidden)' : 'application')
      terminal.type(key)
      expect(await terminal.exit).toBe(130)
      const settings = settingsBeforeAndAfter(terminal.shown())
      expect([settings.length, settings[0]]).toEqual([2, settings[1]])
      expect(received).toEqual([])
    },
  )

  test('a prompt finds an id by its name, and the command ends with the line to repeat', async () => {
    const items = [app, { ...app, id: 'app_02', name: 'Tea house' }]
    const { baseUrl } = await stub(({ method }) => success(method === 'GET' ? pageOf(...items) : app))
    const line = `apps update --name x --base-url ${baseUrl}`
    const terminal = runOnTerminal(line, { VOUCHERCTL_JWT: secrets.VOUCHERCTL_JWT })
    await terminal.until('Tea house, active    app_02')
    terminal.type('tea')
    // The typed text is the last row of the filtered list.
    await terminal.until('  tea\r\n')
    terminal.type('\r')
    expect(await terminal.exit).toBe(0)
    expect(terminal.shown()).toContain(`\`voucherctl apps update --name x --base-url ${baseUrl} app_02\``)
  })

  test('login on a terminal never shows a typed credential', async () => {
    const { baseUrl } = await stub(() => success(pageOf()))
    const terminal = runOnTerminal(`login --base-url ${baseUrl}`)
    await terminal.until('(hidden)')
    // In the prompt library, Ctrl-T reveals hidden input; voucherctl must disable this.
    terminal.type(`${secrets.VOUCHERCTL_TOKEN}\u0014`)
    terminal.type('\r')
    expect(await terminal.exit).toBe(0)
    expect(terminal.shown()).toContain('plain text')
    expect(terminal.shown()).not.toContain('CANARYtoken')
  })
})

describe.runIf(hasTerminal)('help topics on a terminal', () => {
  test('a help topic goes to $PAGER, which the shell runs with its arguments', { tags: 'help-topics/1' }, async () => {
    const pager = pagerOf('echo "pager got $*"; grep -c redeem')
    const terminal = runOnTerminal('help rules', { PAGER: `"${pager}" -a "b c"` })
    expect(await terminal.exit).toBe(0)
    expect(terminal.shown()).toMatch(/pager got -a b c\r\n\d+\r\n/)
    expect(terminal.shown()).not.toContain('# Rules')
  })

  test('a help topic goes to less -FRX, unless $PAGER is another one or none', { tags: 'help-topics/1' }, async () => {
    const PATH = `${dirname(pagerOf('[ "$*" = -FRX ] || exit 127', 'less'))}:/bin`
    expect(await showInPager('', { PATH })).toBe(true)
    for (const PAGER of ['', 'cat']) expect(await showInPager('', { PATH, PAGER })).toBe(false)
  })
})

test('a help topic without a terminal is printed without a pager', async () => {
  const { exit, stdout } = await built.run(['help', 'exit-codes'], temporaryDir(), { PAGER: 'echo paged' })
  expect(exit).toBe(0)
  expect(stdout).toContain('Exit codes are stable')
  expect(stdout).not.toContain('paged')
})
