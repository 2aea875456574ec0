import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { SecureProfile } from './config.js'
import { codeOf, isMissing, isSecure, parseObject } from './config.js'
import type { Failure } from './failure.js'
import { fail } from './failure.js'
import { looksSecret } from './secrets.js'

/** Members of voucherctl.json: what a project may settle for everybody who works on it. */
export const projectMembers = ['profile', 'base_url', 'output', 'timeout', 'retries', 'secure'] as const

export interface ProjectFile {
  readonly path: string
  readonly members: Readonly<Partial<Record<Exclude<(typeof projectMembers)[number], 'secure'>, string | number>>> & {
    readonly secure?: Omit<SecureProfile, 'latched'>
  }
}

export type ProjectResult = { readonly ok: true; readonly project: ProjectFile | undefined } | Failure

/** The nearest voucherctl.json in the working folder or above it. A secret in it is refused: such files are shared. */
export function readProjectFile(cwd: string): ProjectResult {
  for (let dir = cwd; ; dir = dirname(dir)) {
    const path = join(dir, 'voucherctl.json')
    try {
      return checkProjectFile(path, readFileSync(path, 'utf8').replace(/^\ufeff/, ''))
    } catch (error) {
      if (!isMissing(error)) return fail('CONFIG_INVALID', `${path} cannot be read (${codeOf(error)}).`)
    }
    if (dirname(dir) === dir) return { ok: true, project: undefined }
  }
}

function checkProjectFile(path: string, content: string): ProjectResult {
  const members = parseObject(content)
  if (members === undefined) return fail('CONFIG_INVALID', `${path} is not a JSON object.`)
  const secret = Object.entries(members).find(([name, value]) => looksSecret(name, value))
  if (secret !== undefined) {
    return fail(
      'CONFIG_HOLDS_SECRET',
      `${path} holds a secret in "${secret[0]}". A project file is shared with everybody who has the project.`,
      'Remove it there and revoke it; keep secrets in a profile (`voucherctl login`) or in the environment.',
    )
  }
  const unknown = Object.keys(members).find((name) => !(projectMembers as readonly string[]).includes(name))
  if (unknown !== undefined) {
    return fail(
      'CONFIG_INVALID',
      `${path} has an unknown member "${unknown}".`,
      `It may hold ${projectMembers.join(', ')}.`,
    )
  }
  const wrong = Object.entries(members).find(([name, value]) => !forms[formOf(name)](value))
  if (wrong !== undefined) return fail('CONFIG_INVALID', `${path}: "${wrong[0]}" must be ${formOf(wrong[0])}.`)
  return { ok: true, project: { path, members } }
}

const forms = {
  'a number': (value: unknown) => typeof value === 'number',
  text: (value: unknown) => typeof value === 'string',
  'an object with mode, origin and pins': (value: unknown) =>
    isSecure(value) && Object.keys(value).every((name) => ['mode', 'origin', 'pins'].includes(name)),
}

function formOf(member: string): keyof typeof forms {
  if (member === 'secure') return 'an object with mode, origin and pins'
  return member === 'retries' ? 'a number' : 'text'
}
