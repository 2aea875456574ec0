import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { commandOf, OUTPUT_MAX } from '../../src/prove/process.js'
import { temporaryDir } from '../support/cli/cli.js'
import { isAlive, processesWith, until } from '../support/prove/processes.js'

const env = { PATH: process.env.PATH }
const start = (script: string, variables: Record<string, string> = {}, cwd = '.') =>
  commandOf(['sh', '-c', script], cwd, env)(variables)
const run = (script: string, variables?: Record<string, string>, cwd?: string) => start(script, variables, cwd).ended

describe('a command', () => {
  test('ends with its exit code, stdout and stderr', async () => {
    expect(await run('echo out; echo err >&2; exit 7')).toEqual({ code: 7, stdout: 'out\n', stderr: 'err\n' })
  })

  test('runs in its folder with the inherited and the given variables', async () => {
    const cwd = temporaryDir()
    const { stdout } = await run('pwd -P; echo "$NAME $OTHER"; test -n "$PATH"', { NAME: 'a b' }, cwd)
    expect(stdout).toMatch(new RegExp(`${cwd.split('/').at(-1)}\na b \n$`))
  })

  test('has no input and no terminal', async () => {
    expect(await run('cat; test -t 0 || test -t 1 || test -t 2; echo $?')).toMatchObject({ stdout: '1\n' })
  })

  test('leads a process group of its own', async () => {
    const { stdout } = await run('echo $$ $(ps -o pgid= -p $$)')
    const [id, group] = stdout.trim().split(/\s+/)
    expect(group).toBe(id)
  })

  test('that ends by its own signal has no exit code and no other trouble', async () => {
    expect(await run('echo out; kill -TERM $$')).toEqual({ code: null, stdout: 'out\n', stderr: '' })
  })

  test('keeps characters that arrive in two parts', async () => {
    expect(await run(`printf '\\303'; sleep 0.05; printf '\\244'`)).toMatchObject({ stdout: 'ä' })
  })

  test.each([
    ['does not exist', 'no-such-program', 'ENOENT'],
    ['cannot be executed', '/etc/passwd', 'EACCES'],
  ])('that %s is reported as not started', async (_about, program, code) => {
    const exit = await commandOf([program], '.', env)({}).ended
    expect(exit).toEqual({ code: null, stdout: '', stderr: '', trouble: { kind: 'not_started', program, code } })
  })

  test('in a folder that does not exist is reported as not started', async () => {
    const exit = await commandOf(['sh'], join(temporaryDir(), 'none'), env)({}).ended
    expect(exit.trouble).toMatchObject({ kind: 'not_started', code: 'ENOENT' })
  })
})

describe('a killed command', () => {
  test('keeps what it printed before, and has no exit code', async () => {
    const file = join(temporaryDir(), 'printed')
    const started = start(`echo begun; touch ${file}; exec sleep 1000`)
    await until(() => existsSync(file))
    started.kill?.()
    expect(await started.ended).toEqual({ code: null, stdout: 'begun\n', stderr: '' })
  })

  test('ends with all processes of its group', async () => {
    const file = join(temporaryDir(), 'child')
    const started = start(`sleep 1000 & echo $! > ${file}.new; mv ${file}.new ${file}; wait`)
    await until(() => existsSync(file))
    started.kill?.()
    expect(await started.ended).toEqual({ code: null, stdout: '', stderr: '' })
    const child = Number(readFileSync(file, 'utf8'))
    await until(() => !isAlive(child))
  })

  test('can be killed again after its end', async () => {
    const started = start('true')
    await started.ended
    expect(() => started.kill?.()).not.toThrow()
  })
})

describe('a command that leaves a process', () => {
  /** The shell ends after the process has become the program, whose name the test expects. */
  const begun = 'until [ "$(ps -o comm= -p $!)" = sleep ]; do :; done'

  test.each([
    ['in the background with its output open', 'sleep 1001 &'],
    ['in the background with its output closed', 'sleep 1002 > /dev/null 2>&1 &'],
    ['that ignores hangups', 'nohup sleep 1003 > /dev/null 2>&1 &'],
    ['in a session of its own', 'setsid sleep 1004 > /dev/null 2>&1 &'],
    ['in a session of its own with its output open', 'setsid sleep 1005 &'],
  ])('%s is a daemon, named with its id, and ended', async (_about, script) => {
    const exit = await run(`${script} ${begun}`)
    expect(exit).toMatchObject({
      code: 0,
      trouble: { kind: 'daemon', processes: expect.stringMatching(/^sleep \(process \d+\)$/) },
    })
    const id = /\d+/.exec(exit.trouble?.kind === 'daemon' ? exit.trouble.processes : '')?.[0]
    await until(() => !isAlive(Number(id)))
  })

  test('that has ended is no daemon', async () => {
    expect(await run('true & sleep 0 & wait; exit 3')).toEqual({ code: 3, stdout: '', stderr: '' })
  })
})

describe('a command that prints more than 16 MiB', () => {
  test.each(['stdout', 'stderr'] as const)('on %s is ended', async (name) => {
    const exit = await run(`yes ${name === 'stderr' ? '>&2' : ''}`)
    expect(exit).toMatchObject({ code: null, trouble: { kind: 'too_much_output' } })
    expect(exit[name].length).toBeLessThanOrEqual(OUTPUT_MAX)
  })

  test('is ended with all of its group', async () => {
    const mark = `1005.${process.pid}`
    await run(`sleep ${mark} & yes`)
    await until(() => processesWith(mark).length === 0)
  })
})
