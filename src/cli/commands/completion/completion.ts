import { basename } from 'node:path'
import { platform } from '../../../files/platform.js'
import type { Context } from '../../command/context.js'
import { type Entry, type Group, type Leaf, leaf } from '../../command/leaf.js'
import { type Failure, fail, usage } from '../../failures/failure.js'
import { choice, text } from '../../flags/flags.js'
import { required } from '../../prompts/required.js'
import { type InstallLocation, installLocation } from './install-location.js'
import { scriptFor } from './scripts.js'
import { isShell, type Shell, shellNames } from './shells.js'
import { withBlock, withoutBlock } from './startup-block.js'
import { bytesOf, readUserFile, removeUserFile, writeUserFile } from './user-files.js'

/** First words of every generated script. A file without them was not generated, so it is never changed. */
const MADE_HERE = 'Completion of voucherctl for '

const use: Readonly<Record<Shell, string>> = {
  bash: 'For this shell alone: eval "$(voucherctl completion bash)"',
  zsh: 'For this shell alone, after compinit: eval "$(voucherctl completion zsh)"',
  fish: 'For this shell alone: voucherctl completion fish | source',
  powershell: 'For this shell alone: voucherctl completion powershell | Out-String | Invoke-Expression',
}

const names: Readonly<Record<Shell, string>> = { bash: 'bash', zsh: 'zsh', fish: 'fish', powershell: 'PowerShell' }

const print = (entries: readonly Entry[], shell: Shell): Leaf =>
  leaf({
    name: shell,
    summary: `Print the script for ${names[shell]}`,
    notes: [
      'Commands, flags and values are completed, ids of applications, templates, bots, deliveries, chats and tokens too: the chosen server is asked for them for 250 ms. Without a response or a login, there are none.',
      'The script completes and calls `voucherctl`. With npx alone there is no such command: install the package globally, or `npm link` a clone.',
      use[shell],
    ],
    examples: [`voucherctl completion ${shell}`],
    view: { body: (it: { script: string }) => it.script.replace(/\n$/, '') },
    run: async () => ({ ok: true, data: { shell, script: await scriptFor(shell, entries) } }),
  })

const flags = {
  shell: choice(shellNames, 'Default the one that SHELL names'),
  'startup-file': text('FILE', 'What your shell reads at its start, in place of the usual file'),
}

interface InstallChoice {
  readonly ok: true
  readonly shell: Shell
  readonly location: InstallLocation
}

function choose({ host }: Context, named: Shell | undefined, startupFile: string | undefined): InstallChoice | Failure {
  const own = basename(host.env.SHELL ?? '')
  const shell = named ?? (isShell(own) ? own : platform.defaultShell)
  if (shell === undefined) return required(['--shell'])
  const location = installLocation(shell, host, startupFile)
  if (location === 'no startup file') return usage(`${names[shell]} needs no lines in a startup file.`)
  if (location === 'startup file unknown')
    return fail('INPUT_REQUIRED', 'Missing: --startup-file.', 'In PowerShell, give --startup-file $PROFILE.', {
      missing: ['--startup-file'],
    })
  return { ok: true, shell, location }
}

interface InstallReport {
  readonly shell: Shell
  readonly script: string
  readonly startup_file: string | null
  /** Paths of files that the command wrote or removed. */
  readonly changed: readonly string[]
}

interface Change {
  readonly path: string
  /** New content of the file; undefined removes the file. */
  readonly content: string | undefined
  readonly action: string
}

const install = (entries: readonly Entry[]): Leaf =>
  leaf({
    name: 'install',
    summary: 'Put the completion where the shell finds it',
    notes: [
      'bash, zsh and PowerShell get the script and, between two marks, lines in their startup file that read it; fish gets the script. Doing it again changes nothing; do it after an update, so that new commands are known immediately.',
    ],
    flags,
    examples: [
      'voucherctl completion install',
      'voucherctl completion install --shell fish',
      { command: 'voucherctl completion install --dry-run', comment: 'Which files would change' },
    ],
    changes: true,
    view: {
      headline: (report: InstallReport) =>
        report.changed.length === 0
          ? `The completion for ${report.shell} was in place.`
          : `New ${report.shell} shells complete it.`,
      members: ['script', 'startup_file', 'changed'],
    },
    run: async (context, { flags: given }) => {
      const chosen = choose(context, given.shell, given['startup-file'])
      if (!chosen.ok) return chosen
      const { script, startup } = chosen.location
      const before = readUserFile(script)
      if (!before.ok) return before
      const content = bytesOf(await scriptFor(chosen.shell, entries))
      if (before.content !== undefined && !before.content.includes(MADE_HERE)) return foreign(script)
      const changes: Change[] = before.content === content ? [] : [{ path: script, content, action: `write ${script}` }]
      const atStartup = startup === undefined ? undefined : addToStartup(startup)
      if (atStartup !== undefined && 'code' in atStartup) return atStartup
      return carryOut(context, chosen, atStartup === undefined ? changes : [...changes, atStartup])
    },
  })

/** Computes the change that adds the lines to a startup file; undefined if the file has them. */
function addToStartup({ path, lines }: NonNullable<InstallLocation['startup']>): Change | Failure | undefined {
  const read = readUserFile(path)
  if (!read.ok) return read
  const content = withBlock(read.content ?? '', lines.map(bytesOf))
  if (content === undefined) return torn(path)
  return content === read.content ? undefined : { path, content, action: `put lines that read it into ${path}` }
}

const uninstall = leaf({
  name: 'uninstall',
  summary: 'Remove the completion that `install` added',
  flags,
  examples: ['voucherctl completion uninstall', 'voucherctl completion uninstall --shell fish'],
  changes: true,
  view: {
    headline: (report: InstallReport) =>
      report.changed.length === 0
        ? `There was no completion for ${report.shell}.`
        : `${report.shell} no longer completes it.`,
    members: ['changed'],
  },
  run: async (context, { flags: given }) => {
    const chosen = choose(context, given.shell, given['startup-file'])
    if (!chosen.ok) return chosen
    const { script, startup } = chosen.location
    const changes: Change[] = []
    if (startup !== undefined) {
      const read = readUserFile(startup.path)
      if (!read.ok) return read
      const after = withoutBlock(read.content ?? '')
      if (after === undefined) return torn(startup.path)
      if (after !== (read.content ?? '')) {
        const content = after === '' ? undefined : after
        changes.push({ path: startup.path, content, action: `take the lines of voucherctl out of ${startup.path}` })
      }
    }
    const before = readUserFile(script)
    if (!before.ok) return before
    if (before.content?.includes(MADE_HERE)) {
      changes.push({ path: script, content: undefined, action: `remove ${script}` })
    }
    return carryOut(context, chosen, changes)
  },
})

function carryOut(context: Context, { shell, location }: InstallChoice, changes: readonly Change[]) {
  if (context.dryRun) {
    const plans = changes.map(({ action }) => context.plan(action))
    return plans[0] ?? { ok: false as const, plan: [] }
  }
  for (const { path, content } of changes) {
    const problem = content === undefined ? removeUserFile(path) : writeUserFile(path, content)
    if (problem !== undefined) return problem
  }
  const data: InstallReport = {
    shell,
    script: location.script,
    startup_file: location.startup?.path ?? null,
    changed: changes.map(({ path }) => path),
  }
  return { ok: true as const, data }
}

const foreign = (path: string) =>
  fail('FILE_UNWRITABLE', `${path} was not made by voucherctl and is left as it is.`, 'Move it away first.')

const torn = (path: string) =>
  fail(
    'FILE_UNWRITABLE',
    `In ${path} one of the two marks of voucherctl completion is missing. Nothing was changed.`,
    'Remove the other mark and the lines that belong to it.',
  )

/** The completion commands. @param entries groups and commands to complete */
export const completion = (entries: readonly Entry[]): Group => ({
  name: 'completion',
  summary: 'Completion of the shell: print the script, install, uninstall',
  commands: [...shellNames.map((shell) => print(entries, shell)), install(entries), uninstall],
})
