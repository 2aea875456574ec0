import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadCommands, mustRun, type Workload } from '../workload.js'

const commands = [
  ...Array.from({ length: 6 }, (_, n) => `profiles set shop-${n} --base-url https://shop-${n}.example`),
  'profiles use shop-3',
  'profiles set shop-3 --default-timeout 20s --production on',
  'profiles remove shop-0 --yes',
  'profiles set shop-1 --default-retries 4',
]

interface Acknowledged {
  readonly content: string
}

const configIn = (folder: string) => join(folder, 'config', 'config.json')
const envIn = (folder: string) => ({ VOUCHERCTL_CONFIG_DIR: join(folder, 'config') })

/** Commands that change profiles, one after the other. */
export const profile: Workload = {
  name: 'profile',

  async record({ root, disk, notes, acknowledge }) {
    const run = loadCommands(root)
    for (const command of commands) {
      await mustRun(run, command.split(' '), { home: notes, env: envIn(disk) })
      acknowledge({ content: readFileSync(configIn(disk), 'utf8') })
    }
  },

  async open({ root, notes }) {
    const run = loadCommands(root)
    return {
      async check(state, acknowledged: readonly Acknowledged[]) {
        const lines = readFileSync(join(notes, 'acknowledged.ndjson'), 'utf8').trimEnd().split('\n')
        const contents = [undefined, ...lines.map((it) => (JSON.parse(it) as Acknowledged).content)]
        // The command during which the power failed may have taken effect.
        const allowed = contents.slice(acknowledged.length, acknowledged.length + 2)
        const broken = allowed.includes(contentOf(configIn(state)))
          ? []
          : ['the profiles differ from what the last command wrote']
        for (const args of [
          ['profiles', 'list', '--json'],
          ['profiles', 'set', 'new', '--base-url', 'https://new.example'],
        ]) {
          const { exit, stderr } = await run(args, { home: notes, env: envIn(state) })
          if (exit !== 0) broken.push(`${args.join(' ')} ended with ${exit}: ${stderr}`)
        }
        return broken
      },
    }
  },

  syncs: [
    { call: 'cli/config/config.ts', what: 'a new folder', path: /^$/ },
    { call: 'files/replace-file.ts', what: 'the new content', path: /^config\/config\.json\.tmp-/ },
    { call: 'files/replace-file.ts', what: 'the new name', path: /^config$/ },
  ],
}

function contentOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
