import { membersOf } from '../../../contract/endpoint.js'
import { type Template, type TemplateInput, templateInput } from '../../../contract/templates.js'
import { type Path, typeHint } from '../../../files/yaml-document.js'
import { asMembers, type Members } from '../../../values/json.js'
import { jsonMistake } from '../../../values/json-mistake.js'
import type { Context, Ok } from '../../command/context.js'
import { type Failure, fail, usage } from '../../failures/failure.js'
import { readTextFile } from '../../host/files.js'
import { type Problem, Source } from '../../host/yaml-source.js'

/** A template in a file. Only names, required members and types are checked (rules/cli.md#template-files). */
export type DefinedTemplate = TemplateInput

const names = Object.keys(membersOf(templateInput))
const required = templateInput.required ?? []
const objects = ['validity', 'metadata']
const validityMembers = {
  fixed: ['type', 'starts_at', 'ends_at'],
  relative: ['type', 'duration_days', 'delay_days', 'not_after'],
}

/** Reads a template file, in YAML or JSON: a list `templates`, or a single template as `templates create` takes it. */
export async function readTemplateFile(
  { host, globals }: Context,
  path: string,
): Promise<Ok<readonly DefinedTemplate[]> | Failure> {
  if (path === '-' && globals['token-file'] === '-') return usage('--file and --token-file cannot both read stdin.')
  const read = await readTextFile(host, path)
  if (!read.ok) return read
  const source = new Source(read.text, await import('yaml'))
  const templates = source.problems.length === 0 ? templatesIn(source) : []
  return refusedFile(path, source.problems) ?? { ok: true, value: templates }
}

/** Reads the members of a template from a JSON file. Flags may supply others, and the server checks the values. */
export async function readDefinitionFile({ host, globals }: Context, path: string): Promise<Ok<Members> | Failure> {
  if (path === '-' && globals['token-file'] === '-') return usage('--file and --token-file cannot both read stdin.')
  const read = await readTextFile(host, path)
  if (!read.ok) return read
  const mistake = jsonMistake(read.text)
  if (mistake !== undefined) return refusedFile(path, [mistake]) as Failure
  const source = new Source(read.text, await import('yaml'))
  const template = source.problems.length === 0 ? checkNames(source, [], source.value) : undefined
  return refusedFile(path, source.problems) ?? { ok: true, value: template ?? {} }
}

function refusedFile(path: string, problems: readonly Problem[]): Failure | undefined {
  if (problems.length === 0) return undefined
  const errors = problems.map(({ line, column, message }) => ({
    pointer: `${path === '-' ? 'stdin' : path}:${line}:${column}`,
    message,
  }))
  const message =
    errors.length === 1 ? 'The template file has a mistake.' : `The template file has ${errors.length} mistakes.`
  return fail('INVALID_INPUT', message, 'Nothing was sent. `voucherctl templates init -` prints an example.', {
    errors,
  })
}

function templatesIn(source: Source): readonly DefinedTemplate[] {
  const isSingle = asMembers(source.value)?.external_template_id !== undefined
  const top = isSingle ? undefined : source.record([], source.value ?? null, ['templates'])
  if (top !== undefined && top.templates === undefined) source.wrong([], 'The file has no list "templates".')
  const list = isSingle ? [source.value] : (source.list(['templates'], top?.templates, 'templates') ?? [])
  const seen = new Set<unknown>()
  return list.flatMap((entry, index) => {
    const path = isSingle ? [] : ['templates', index]
    const template = checkNames(source, path, entry)
    if (template === undefined) return []
    for (const name of required)
      if (template[name] === undefined || template[name] === null) source.wrong(path, `${name} is required.`)
    for (const [name, value] of Object.entries(template)) checkType(source, [...path, name], name, value)
    const id = template.external_template_id
    if (seen.has(id)) source.wrong([...path, 'external_template_id'], `${String(id)} is in the file twice.`)
    seen.add(id)
    return [template as Members & DefinedTemplate]
  })
}

/** Refuses unknown members of a template and of its validity. */
function checkNames(source: Source, path: Path, value: unknown): Members | undefined {
  const template = source.record(path, value, names)
  const validity = asMembers(template?.validity)
  const type = validity?.type
  if (type === 'fixed' || type === 'relative') source.record([...path, 'validity'], validity, validityMembers[type])
  return template
}

function checkType(source: Source, path: Path, name: string, value: unknown): void {
  if (value === undefined || value === null) return
  if (name === 'issue_limit') {
    if (!Number.isInteger(value)) source.wrong(path, 'issue_limit must be a whole number.')
  } else if (objects.includes(name)) {
    const members = source.record(path, value)
    if (name === 'validity' && members !== undefined) checkValidity(source, path, members)
    if (name === 'metadata')
      for (const [key, it] of Object.entries(members ?? {})) checkText(source, [...path, key], it)
  } else if (names.includes(name)) checkText(source, path, value)
}

const checkText = (source: Source, path: Path, value: unknown) => {
  if (typeof value !== 'string') source.wrong(path, `${path.at(-1)} must be a text${typeHint(value, [])}.`)
}

function checkValidity(source: Source, path: Path, validity: Members): void {
  const { type } = validity
  if (type !== 'fixed' && type !== 'relative') {
    source.wrong([...path, 'type'], 'The type of a validity must be fixed or relative.')
    return
  }
  const needed = type === 'fixed' ? ['starts_at', 'ends_at'] : ['duration_days']
  for (const name of needed) if (validity[name] === undefined) source.wrong(path, `${name} is required.`)
}

interface Difference {
  /** Path of the member in the file, such as `validity.duration_days`. */
  readonly member: string
  readonly file: unknown
  readonly server: unknown
}

/** Result of comparing a template of a file with the server; only `same` needs no change. */
export type TemplateState = 'missing' | 'differs' | 'draft' | 'rejected' | 'same'

export interface Comparison {
  readonly state: TemplateState
  readonly differences: readonly Difference[]
}

/** Values of members that a file may omit. */
const defaults = { description: null, metadata: {} }
const relativeDefaults = { delay_days: 0, not_after: null }
const instants = new Set(['starts_at', 'ends_at', 'not_after'])

export function compareTemplates(defined: TemplateInput, stored: Template | undefined): Comparison {
  if (stored === undefined) return { state: 'missing', differences: [] }
  const { validity, ...others }: Members = { ...defaults, ...withoutNull(defined) }
  const record = asMembers(stored) ?? {}
  const differences = [
    ...differencesOf(others, record, ''),
    ...validityDifferences(asMembers(validity) ?? {}, asMembers(record.validity)),
  ]
  const { status } = stored
  if (differences.length > 0) return { state: 'differs', differences }
  return { state: status === 'draft' || status === 'rejected' ? status : 'same', differences }
}

function validityDifferences(validity: Members, stored: Members | undefined): Difference[] {
  if (stored === undefined) return []
  if (validity.type !== stored.type) return [{ member: 'validity.type', file: validity.type, server: stored.type }]
  const expected = validity.type === 'relative' ? { ...relativeDefaults, ...withoutNull(validity) } : validity
  return differencesOf(expected, stored, 'validity.')
}

/** Compares only members that the server returns; another implementation may return fewer. */
const differencesOf = (expected: object, stored: Members, prefix: string): Difference[] =>
  Object.entries(expected).flatMap(([name, file]) => {
    const server = stored[camelCase(name)]
    return server === undefined || same(name, file, server) ? [] : [{ member: `${prefix}${name}`, file, server }]
  })

function same(name: string, file: unknown, server: unknown): boolean {
  if (instants.has(name) && typeof file === 'string' && typeof server === 'string')
    return Date.parse(file) === Date.parse(server)
  return canonical(file) === canonical(server)
}

function canonical(value: unknown): string {
  const members = asMembers(value)
  return JSON.stringify(members === undefined ? value : Object.entries(members).sort(([a], [b]) => (a < b ? -1 : 1)))
}

const withoutNull = (members: object) => Object.fromEntries(Object.entries(members).filter(([, it]) => it !== null))

const camelCase = (name: string) => name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
