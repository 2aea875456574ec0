import { resolve } from 'node:path'
import type { Seed } from '../../server/seed/schema.js'
import { type Failure, fail } from '../failures/failure.js'
import { text } from '../flags/flags.js'
import { readTextFile } from '../host/files.js'
import type { Host } from '../host/host.js'
import { closing, othersMay } from '../host/permissions.js'
import { remember } from '../host/secrets.js'

export const seedFlag = {
  seed: text('FILE', 'Records of an empty store, YAML or JSON'),
}

interface SeedFile {
  readonly ok: true
  readonly seed: Seed
  readonly text: string
}

/** Reads a seed file. A file that holds tokens must be private (rules/server.md#seeds). */
export async function readSeedFile(host: Host, path: string, readText = readTextFile): Promise<SeedFile | Failure> {
  const file = await readText(host, path)
  if (!file.ok) return file
  const { readSeed } = await import('../../server/seed/read.js')
  const read = await readSeed(file.text)
  if (!read.ok) {
    const name = path === '-' ? 'Standard input' : path
    const errors = read.problems.map((it) => ({ pointer: `${name}:${it.line}:${it.column}`, message: it.message }))
    const count = errors.length === 1 ? 'a mistake' : `${errors.length} mistakes`
    const hint = 'Nothing was made. `voucherctl help reference-server` shows a seed.'
    return fail('INVALID_INPUT', `The seed has ${count}.`, hint, { errors })
  }
  const { seed } = read
  const secrets = secretsOf(seed)
  for (const it of secrets) remember(host, it)
  const absolute = resolve(host.cwd, path)
  if (path !== '-' && secrets.length > 0 && othersMay(absolute) !== 0) {
    const message = `${path} holds tokens and is open to other users of this machine.`
    return fail('INVALID_INPUT', message, `Close it: ${closing(path, '600')}`)
  }
  return { ok: true, seed, text: file.text }
}

function secretsOf({ applications = [], bots = [] }: Seed): readonly string[] {
  const ofApplications = applications.flatMap(({ tokens = [] }) => tokens.map(({ token }) => token))
  return [...ofApplications, ...bots.flatMap(({ token }) => token ?? [])]
}
