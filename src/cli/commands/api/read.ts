import type { Context } from '../../command/context.js'
import type { Failure } from '../../failure.js'
import { usage } from '../../failure.js'
import { readJsonBody } from './body.js'
import { documentOf } from './document.js'
import { findRoute, methods } from './endpoint.js'
import { readFields, readsStdin } from './fields.js'
import { readPath, withoutQuery, withQuery } from './path.js'
import type { AnyCall } from './send.js'

/** What the command line says about a call. */
export interface Typed {
  readonly method: string
  readonly path: string
  readonly fields: readonly string[]
  readonly rawFields: readonly string[]
  readonly input: string | undefined
  readonly as: AnyCall['kind'] | undefined
}

/** The call that was typed. What excludes each other is refused before a file is read. */
export async function readCall(
  context: Context,
  typed: Typed,
): Promise<{ readonly ok: true; readonly call: AnyCall } | Failure> {
  const { fields: typedFields, rawFields, input } = typed
  const method = typed.method.toUpperCase()
  if (!methods.includes(method))
    return usage(`METHOD must be one of ${methods.join(', ')}.`, '`voucherctl api routes` lists the routes.')
  const read = readPath(typed.path)
  if (!read.ok) return usage(read.message)
  if (input !== undefined && typedFields.length + rawFields.length > 0)
    return usage('--input is the whole body: it goes without --field and --raw-field.')
  if (input !== undefined && method === 'GET') return usage('A GET has no body; -F NAME=VALUE goes into its query.')
  if (readsStdin(typedFields) + (context.globals['token-file'] === '-' ? 1 : 0) > 1)
    return usage('Only one flag can read stdin.')
  const route = await findRoute(method, withoutQuery(read.path))
  const kind = typed.as ?? route?.caller
  if (kind === undefined)
    return usage(
      `${method} ${withoutQuery(read.path)} is not known here.`,
      'Say with --as which credential it takes; `voucherctl api routes` lists the known routes.',
    )
  const named = await readFields(context, typedFields, rawFields)
  if (!named.ok) return named
  const call = { method, kind, route }
  if (method === 'GET') {
    const query = named.fields.map(({ name, text }) => [name, text] as const)
    return { ok: true, call: { ...call, path: withQuery(read.path, query), body: undefined } }
  }
  const body = named.fields.length === 0 ? await readJsonBody(context, input, '--input') : bodyOf(named.fields)
  return body.ok ? { ok: true, call: { ...call, path: read.path, body: body.text } } : body
}

function bodyOf(fields: Parameters<typeof documentOf>[0]) {
  const built = documentOf(fields)
  return built.ok ? { ok: true as const, text: JSON.stringify(built.document) } : built
}
