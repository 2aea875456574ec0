import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { codeOf } from '../files/error-code.js'
import { platform } from '../files/platform.js'
import { type FoundProcess, processesByVariable } from '../files/processes-by-variable.js'

/** Maximum bytes of output that are kept and searched for secrets; a program that prints more is ended. */
export const OUTPUT_MAX = 16 * 1024 * 1024
/** Time in which the output of a program ends after the program, unless another process holds it. */
const DRAIN_MS = 500

/** How a program ended. */
export interface Exit {
  /** Null if it was killed. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
  /** What makes its result useless: it could not start, printed too much, or left processes running. */
  readonly trouble?: Trouble
}

export type Trouble =
  | { readonly kind: 'not_started'; readonly program: string; readonly code: string }
  | { readonly kind: 'too_much_output' }
  | { readonly kind: 'daemon'; readonly processes: string }

export interface Started {
  readonly ended: Promise<Exit>
  /** Ends the program with all its processes; absent for a function. */
  readonly kill?: () => void
  /** Stops all its processes until they are killed; absent for a function. */
  readonly freeze?: () => void
}

/** An action or app that can be started: a command, or a function of a test. */
export type Start = (env: Readonly<Record<string, string>>) => Started

/** By its value in their environment, processes are found that a program started outside of its group. */
const MARK = 'VOUCHERCTL_PROVE_RUN'
/** Programs that run now with their marks, for the end of this process. */
const running = new Map<ChildProcess, string>()
let endsWithProcess = false

/** Returns the start of a command in a process group of its own, without a terminal. */
export function commandOf(
  [program = '', ...args]: readonly string[],
  cwd: string,
  inherited: NodeJS.ProcessEnv,
): Start {
  return (env) => {
    const mark = randomUUID()
    const child = spawn(program, args, {
      cwd,
      env: { ...inherited, ...env, [MARK]: mark },
      detached: platform.hasProcessGroups,
      stdio: ['ignore', 'pipe', 'pipe'],
      windowsHide: true,
    })
    running.set(child, mark)
    if (!endsWithProcess) process.once('exit', () => running.forEach((it, started) => killAll(started, it)))
    endsWithProcess = true
    return { ended: endOf(child, mark), kill: () => killGroup(child), freeze: () => signalGroup(child, 'SIGSTOP') }
  }
}

async function endOf(child: ChildProcess, mark: string): Promise<Exit> {
  const texts = { stdout: '', stderr: '' }
  let bytes = 0
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', (text: string) => {
      bytes += text.length
      if (bytes > OUTPUT_MAX) killGroup(child)
      else texts[name] += text
    })
  }
  const closed = once(child, 'close').catch(() => {})
  let outside: readonly FoundProcess[] | undefined
  try {
    const [code] = (await once(child, 'exit')) as [number | null]
    const isOpen = await staysOpen(closed)
    outside = processesByVariable(MARK, mark)
    if (bytes > OUTPUT_MAX) return { code: null, ...texts, trouble: { kind: 'too_much_output' } }
    const left = child.signalCode === 'SIGKILL' ? '' : leftOver(child, outside, isOpen)
    return { code, ...texts, ...(left !== '' && { trouble: { kind: 'daemon', processes: left } }) }
  } catch (error) {
    return { code: null, ...texts, trouble: { kind: 'not_started', program: child.spawnfile, code: codeOf(error) } }
  } finally {
    killGroup(child)
    for (const { id } of outside ?? []) signal(id, 'SIGKILL')
    running.delete(child)
    child.stdout?.destroy()
    child.stderr?.destroy()
  }
}

/** True if the output of a program that has ended stays open, because another process holds it. */
async function staysOpen(closed: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<true>((resolve) => {
    timer = setTimeout(resolve, DRAIN_MS, true)
  })
  const isOpen = (await Promise.race([closed, late])) === true
  clearTimeout(timer)
  return isOpen
}

/** Names the processes that a program left: in its group, or outside of it; empty for none. */
function leftOver(child: ChildProcess, outside: readonly FoundProcess[], isOpen: boolean): string {
  const found = [...(groupHasProcess(child) ? processesOf(child) : []), ...outside]
  const names = new Map(found.map(({ id, name }) => [id, `${name} (process ${id})`]))
  if (names.size > 0) return [...names.values()].join(', ')
  return isOpen ? 'a process that holds its output open' : ''
}

function groupHasProcess({ pid }: ChildProcess): boolean {
  if (pid === undefined || !platform.hasProcessGroups) return false
  try {
    return process.kill(-pid, 0)
  } catch {
    return false
  }
}

/** Lists the live processes of a group, without those that have ended and wait for their parent. */
function processesOf({ pid }: ChildProcess): FoundProcess[] {
  return listed(['-A', '-o', 'pgid=,pid=,stat=,comm='])
    .split('\n')
    .map((it) => it.trim().split(/\s+/))
    .filter(([group, , stat]) => group === String(pid) && !stat?.startsWith('Z'))
    .map(([, id, , name = '']) => ({ id: Number(id), name }))
}

/** Output of ps; empty where there is none, as in small containers. */
function listed(flags: readonly string[]): string {
  try {
    return execFileSync('ps', flags, { encoding: 'utf8' })
  } catch {
    return ''
  }
}

/** Ends the group of a program, and what it started outside of it. */
function killAll(child: ChildProcess, mark: string): void {
  killGroup(child)
  for (const { id } of processesByVariable(MARK, mark)) signal(id, 'SIGKILL')
}

function killGroup(child: ChildProcess): void {
  if (platform.hasProcessGroups) signalGroup(child, 'SIGKILL')
  else if (child.exitCode === null) spawnSync('taskkill', ['/pid', String(child.pid), '/t', '/f'], { stdio: 'ignore' })
}

function signalGroup({ pid }: ChildProcess, name: NodeJS.Signals): void {
  if (pid !== undefined && platform.hasProcessGroups) signal(-pid, name)
}

function signal(id: number, name: NodeJS.Signals): void {
  try {
    process.kill(id, name)
  } catch {
    // It has ended.
  }
}
