import type { ReferenceEndpoint, ReferenceMember } from '../../../contract/platform/reference.js'

// What a user types into the form of a call.

/** Texts of the fields, by the names of their members. */
export type Texts = Readonly<Record<string, string>>

/** A member of the input with its own field; members within it are part of its JSON. */
export type Field = ReferenceMember & { readonly form: 'choice' | 'line' | 'number' | 'json' }

export function fieldsOf({ members }: Pick<ReferenceEndpoint, 'members'>): readonly Field[] {
  const own = members.filter(({ name }, at) => !/[.[]/.test(name) && members.findIndex((it) => it.name === name) === at)
  return own.map((it) => ({ ...it, ...formOf(it) }))
}

function formOf({ type, values }: ReferenceMember): Pick<Field, 'form' | 'values'> {
  if (values) return { form: 'choice', values }
  if (/^boolean/.test(type)) return { form: 'choice', values: ['true', 'false'] }
  if (/^(integer|number)/.test(type)) return { form: 'number' }
  return { form: /^string( \| null)?$/.test(type) ? 'line' : 'json' }
}

/** The example of the contract; without one, a required choice begins with its first value. */
export const exampleTexts = (fields: readonly Field[]): Texts =>
  Object.fromEntries(
    fields.map(({ name, example, form, values, required }) => {
      if (example === undefined) return [name, (form === 'choice' && required && values?.[0]) || '']
      return [name, typeof example === 'string' && form !== 'json' ? example : JSON.stringify(example, null, 2)]
    }),
  )

type Read =
  | { readonly ok: true; readonly input: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly sentence: string }

/** Reads the members of a call; an empty field sends none. */
export function readTexts(fields: readonly Field[], texts: Texts): Read {
  const input: Record<string, unknown> = {}
  for (const { name, form, type, in: where } of fields) {
    const text = texts[name] ?? ''
    if (text === '' && where === 'path') return { ok: false, sentence: `${name} is part of the path: fill it in.` }
    if (text === '') continue
    const isText = form === 'line' || (form === 'choice' && !/^boolean/.test(type))
    if (isText && !(text === 'null' && type.includes('null'))) input[name] = text
    else
      try {
        input[name] = JSON.parse(text)
      } catch {
        return { ok: false, sentence: `${name} needs JSON, such as ${form === 'number' ? '12' : '{"name": "value"}'}.` }
      }
  }
  return { ok: true, input }
}
