import { describe, expect, test } from 'vitest'
import { built } from '../../support/cli/built-cli.js'
import { temporaryDir } from '../../support/cli/cli.js'
import { hasTerminal, onTerminal, pagerOf, runOnTerminal } from '../../support/cli/terminal.js'

describe.runIf(hasTerminal)('help topics on a terminal', () => {
  test('a pager that ends early is no failure of a help topic', async () => {
    const terminal = runOnTerminal('help rules', { PAGER: `${pagerOf('head -1; exit 3')}` })
    expect(await terminal.exit).toBe(0)
    expect(terminal.shown()).toContain('# Rules')
    expect(terminal.shown()).not.toContain('error')
  })

  test.each([
    ['empty', ''],
    ['cat', 'cat'],
    ['a command that does not exist', '/nonexistent/pager'],
  ])('a help topic is printed without a pager if $PAGER is %s', { tags: 'help-topics/1' }, async (_name, pager) => {
    const terminal = runOnTerminal('help exit-codes', { PAGER: pager })
    expect(await terminal.exit).toBe(0)
    expect(terminal.shown()).toContain('Exit codes are stable')
  })

  test('a help topic is printed on a terminal if less is not installed', { tags: 'help-topics/1' }, async () => {
    const terminal = runOnTerminal('help exit-codes', { PATH: temporaryDir() })
    expect(await terminal.exit).toBe(0)
    expect(terminal.shown()).toContain('Exit codes are stable')
  })

  test.each(['help exit-codes --json', 'help vouchers', '--version'])(
    '%s uses no pager on a terminal',
    async (args) => {
      const terminal = runOnTerminal(args, { PAGER: pagerOf('echo paged') })
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
