import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { expect, onTestFinished, test } from 'vitest'
import { isAlive, processStart, startTicks } from '../../src/files/process-alive.js'

test.runIf(existsSync('/proc/self/stat'))(
  'process with parentheses in its name is identified by boot and start time until it ends',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'process-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const program = join(folder, 'a) b (c')
    symlinkSync('/bin/sh', program)
    const child = spawn(program, ['-c', 'read line'])
    const pid = child.pid ?? expect.unreachable()
    expect(isAlive(pid)).toBe(true)
    expect(startTicks(pid)).toMatch(/^\d+$/)
    expect(Number(startTicks(pid))).toBeGreaterThanOrEqual(Number(startTicks(process.pid)))
    expect(processStart(pid)).toMatch(new RegExp(`^[\\da-f-]{36} ${startTicks(pid)}$`))
    child.stdin.end()
    await once(child, 'exit')
    expect([isAlive(pid), startTicks(pid), processStart(pid)]).toEqual([false, undefined, undefined])
  },
)

test.runIf(existsSync('/proc/self/stat'))(
  'isAlive is false for a zombie, whose parent has not waited for it',
  async () => {
    // After exec, sleep is the parent of the subshell and does not wait for it; the shell itself would.
    const script = 'exec 3<&0; (read line <&3) & echo $!; exec sleep 30'
    const parent = spawn('sh', ['-c', script], { stdio: ['pipe', 'pipe', 'ignore'] })
    onTestFinished(() => void parent.kill())
    const [line] = await once(parent.stdout, 'data')
    const pid = Number(String(line))
    await expect.poll(() => readFileSync(`/proc/${parent.pid}/comm`, 'utf8')).toBe('sleep\n')
    parent.stdin.end()
    await expect.poll(() => isAlive(pid)).toBe(false)
    expect(existsSync(`/proc/${pid}`)).toBe(true)
  },
)
