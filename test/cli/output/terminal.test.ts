import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { built } from '../../support/cli/built-cli.js'
import { secrets, stub, success, temporaryDir } from '../../support/cli/cli.js'
import { app, pageOf } from '../../support/cli/samples.js'
import { hasTerminal, onTerminal } from '../../support/cli/terminal.js'

/** Runs a command on a terminal and prints the terminal settings (stty) before and after it. */
function run(args: string, env: Record<string, string> = {}) {
  const home = temporaryDir()
  const command = `stty -a; ${process.execPath} ${built.bin} ${args}; exit=$?; stty -a; exit $exit`
  return onTerminal(command, home, built.environment(home, { TERM: 'xterm', ...env }))
}

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
      const terminal = run(`${command} --base-url ${baseUrl}`, { VOUCHERCTL_JWT: secrets.VOUCHERCTL_JWT })
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
    const terminal = run(line, { VOUCHERCTL_JWT: secrets.VOUCHERCTL_JWT })
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
    const terminal = run(`login --base-url ${baseUrl}`)
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
  const pagerOf = (script: string) => {
    const file = join(temporaryDir(), 'pager')
    writeFileSync(file, `#!/bin/sh\n${script}\n`, { mode: 0o700 })
    return file
  }

  test('a help topic goes to the command in $PAGER, which the shell runs with its arguments', async () => {
    const pager = pagerOf('echo "pager got $*"; grep -c redeem')
    const terminal = run('help rules', { PAGER: `"${pager}" -a "b c"` })
    expect(await terminal.exit).toBe(0)
    expect(terminal.shown()).toMatch(/pager got -a b c\r\n\d+\r\n/)
    expect(terminal.shown()).not.toContain('# Rules')
  })

  test('a pager that ends early is no failure of a help topic', async () => {
    const terminal = run('help rules', { PAGER: `${pagerOf('head -1; exit 3')}` })
    expect(await terminal.exit).toBe(0)
    expect(terminal.shown()).toContain('# Rules')
    expect(terminal.shown()).not.toContain('error')
  })

  test.each([
    ['empty', ''],
    ['cat', 'cat'],
    ['a command that does not exist', '/nonexistent/pager'],
  ])('a help topic is printed without a pager if $PAGER is %s', async (_name, pager) => {
    const terminal = run('help exit-codes', { PAGER: pager })
    expect(await terminal.exit).toBe(0)
    expect(terminal.shown()).toContain('Exit codes are stable')
  })

  test('a help topic is printed on a terminal if less is not installed', async () => {
    const terminal = run('help exit-codes', { PATH: temporaryDir() })
    expect(await terminal.exit).toBe(0)
    expect(terminal.shown()).toContain('Exit codes are stable')
  })

  test.each(['help exit-codes --json', 'help vouchers', '--version'])(
    '%s uses no pager on a terminal',
    async (args) => {
      const terminal = run(args, { PAGER: pagerOf('echo paged') })
      expect(await terminal.exit).toBe(0)
      expect(terminal.shown()).not.toContain('paged')
    },
  )

  test('Ctrl-C while a help topic is shown leaves the decision to the pager', async () => {
    const pager = pagerOf('trap "echo interrupted; exit 0" INT; echo ready; while :; do read -r line </dev/tty; done')
    const home = temporaryDir()
    // The shell that starts the command gets the signal too.
    const command = `trap : INT; ${process.execPath} ${built.bin} help rules; echo "exit $?"`
    const terminal = onTerminal(command, home, built.environment(home, { TERM: 'xterm', PAGER: pager }))
    await terminal.until('ready')
    terminal.type('\u0003')
    await terminal.exit
    expect(terminal.shown()).toMatch(/interrupted\r\nexit 0\r\n/)
  })
})

test('a help topic without a terminal is printed without a pager', async () => {
  const { exit, stdout } = await built.run(['help', 'exit-codes'], temporaryDir(), { PAGER: 'echo paged' })
  expect(exit).toBe(0)
  expect(stdout).toContain('Exit codes are stable')
  expect(stdout).not.toContain('paged')
})
