// Child process of P14: runs `webhook listen` as a user does, with stdout in a file. argv: folder of the
// run, script of the command. Responds to each IPC message with the CPU time of the command.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'

const [, , dir, bin] = process.argv
const readyFile = join(dir, 'ready.json')
const flags = ['--port', '0', '--ready-file', readyFile, '--inbox', join(dir, 'inbox'), '--json']
const child = spawn(process.execPath, [bin, 'webhook', 'listen', ...flags], {
  stdio: ['ignore', openSync(join(dir, 'lines'), 'w'), 'inherit'],
})
while (!existsSync(readyFile)) await sleep(10)
/** User and kernel CPU time of the command; /proc counts it in ticks of 10 ms. */
function cpuSeconds() {
  const stat = readFileSync(`/proc/${child.pid}/stat`, 'latin1')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}

process.on('message', () => {
  const memory = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'latin1'))?.[1]) / 1024
  process.send({ cpu: cpuSeconds(), memory })
})
process.on('disconnect', async () => {
  child.kill('SIGTERM')
  await once(child, 'exit')
  process.exit()
})
process.send(JSON.parse(readFileSync(readyFile, 'utf8')))
