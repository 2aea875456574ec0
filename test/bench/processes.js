// Folders, bundles and child processes of measurements.
import { fork, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { build } from 'rolldown'

export const root = fileURLToPath(new URL('../..', import.meta.url))
export const voucherctl = join(root, 'bin', 'voucherctl.js')
export const program = (name) => fileURLToPath(new URL(`programs/${name}`, import.meta.url))

/** Folder to which a benchmark run writes everything except bench.json. */
export const cache = join(root, 'node_modules', '.cache', 'bench')
mkdirSync(cache, { recursive: true })

/** Environment of measured processes, without NODE_EXTRA_CA_CERTS: Node 20 would read that file at each start. */
export const environment = { ...process.env, NODE_ENV: 'production' }
delete environment.NODE_EXTRA_CA_CERTS
delete environment.NODE_OPTIONS

/** Environment of commands whose files are in a folder. */
export const homeIn = (folder) => {
  const names = ['HOME', 'XDG_CONFIG_HOME', 'XDG_DATA_HOME', 'XDG_CACHE_HOME']
  return { ...environment, ...Object.fromEntries(names.map((name) => [name, folder])) }
}

/**
 * Bundles a script of programs/ and its TypeScript imports with the settings of the published bundle.
 * @returns {Promise<string>} path of the bundle
 */
export async function bundle(name) {
  const file = join(cache, `${name}.mjs`)
  await build({
    input: program(name),
    platform: 'node',
    external: ['@photostructure/sqlite'],
    transform: { target: 'node20.19' },
    output: { file, format: 'esm', codeSplitting: false },
  })
  return file
}

/**
 * Installs a package into a folder of the cache.
 * @param file exists once the package is installed
 * @returns why this is not possible, or null
 */
export function installBeside(folder, file, [name, ...flags]) {
  if (existsSync(file)) return null
  const args = ['install', '--no-save', ...flags, '--prefix', join(cache, folder), name]
  const { status, stderr } = spawnSync('npm', args, { stdio: ['ignore', 'ignore', 'pipe'], encoding: 'utf8' })
  const [reason = `exit code ${status}`] = stderr?.match(/^npm error .*$/m) ?? []
  return status === 0 && existsSync(file) ? null : `npm cannot install ${name} (${reason})`
}

/**
 * Gives `work` a folder, `start`, which starts a child process, and `own`, which registers anything else to stop. When
 * the work ends, it stops all of them, the last one first, and removes the folder.
 */
export async function withProcesses(work) {
  const folder = mkdtempSync(join(cache, 'data-'))
  const owned = []
  const own = (it) => {
    owned.push(it)
    return it
  }
  try {
    return await work({ folder, own, start: (...options) => own(startChild(...options)) })
  } finally {
    for (const it of owned.reverse()) await it.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Starts a Node process that responds to each IPC message with one IPC message. */
function startChild(file, args = [], { stderr = 'inherit', ...options } = {}) {
  const child = fork(file, args, { env: environment, stdio: ['ignore', 'inherit', stderr, 'ipc'], ...options })
  // Listen from the start: a child may end before anyone waits for its message.
  const gone = once(child, 'exit').then(([code]) => {
    throw new Error(`${file} ended with ${code}`)
  })
  gone.catch(() => {})
  const nextMessage = async () => {
    const ended = new AbortController()
    try {
      const [message] = await Promise.race([once(child, 'message', { signal: ended.signal }), gone])
      return message
    } finally {
      ended.abort()
    }
  }
  return {
    nextMessage,
    ask(message) {
      const response = nextMessage()
      child.send(message)
      return response
    },
    async stop() {
      if (child.exitCode !== null) return
      const exit = once(child, 'exit')
      child.disconnect()
      await exit
    },
  }
}

/**
 * Starts a server with its data and its log in a folder.
 * @param {{ receiverPort?: number, databaseUrl?: string, profile?: string }} options profile: folder for CPU profiles
 */
export async function startServer(start, folder, { receiverPort = 0, databaseUrl, profile } = {}) {
  const child = start(
    await bundle('server-under-test.js'),
    [folder, String(receiverPort), ...(databaseUrl === undefined ? [] : [databaseUrl])],
    {
      stderr: openSync(join(folder, 'server.log'), 'a'),
      execArgv: profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`],
    },
  )
  const { operatorKeyFile, ...ready } = await child.nextMessage()
  return { ...ready, child, ...targetOf(child, ready), operatorKey: readFileSync(operatorKeyFile, 'utf8').trim() }
}

/** Ports and CPU time of a child process, for the load generator. */
export const targetOf = (child, { baseUrl }) => ({
  ports: [Number(new URL(baseUrl).port)],
  cpu: () => child.ask('cpu'),
})

/** CPU time in us and resident memory in MB of a process, from /proc, which only Linux has; null after its end. */
export function usageOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const fields = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number)
    // The system counts CPU time in ticks of 10 ms, and memory in pages of 4 KiB.
    return { cpu: (fields[11] + fields[12]) * 10_000, mb: (fields[21] * 4_096) / 2 ** 20 }
  } catch {
    return null
  }
}

/** Monotonic time in ms. */
export const now = () => Number(process.hrtime.bigint()) / 1e6

/** Runs Node to its end, and returns the ms that it took. */
export function runToEnd(args, env, node = process.execPath) {
  const startedAt = now()
  const { status } = spawnSync(node, args, { env, stdio: 'ignore' })
  const ms = now() - startedAt
  if (status !== 0) throw new Error(`node ${args.join(' ')} ended with ${status}`)
  return ms
}
