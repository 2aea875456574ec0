import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { codeOf } from '../../files/error-code.js'
import type { Context } from '../command/context.js'
import { fail } from '../failure.js'
import type { Outcome, View } from '../output/outcome.js'
import { type SchemaName, schemaLine } from './schema-line.js'

interface NewFile {
  readonly file: string
}

interface NewFileOptions {
  readonly schema: SchemaName
  readonly path: string
  readonly content: string
  readonly view: View<NewFile>
}

/** Writes a new file that names its JSON Schema; `-` prints it. An existing file stays as it is. */
export async function createFile(
  context: Context,
  { schema, path, content, view }: NewFileOptions,
): Promise<Outcome<NewFile>> {
  const text = schemaLine(context.host, schema, path === '-' ? 'file.yaml' : path) + content
  if (path === '-') {
    context.output.printBytes(Buffer.from(text))
    return { ok: true, printed: true }
  }
  if (context.dryRun) return context.plan(`create ${path}`)
  try {
    await writeFile(resolve(context.host.cwd, path), text, { flag: 'wx' })
  } catch (error) {
    const code = codeOf(error)
    if (code === 'EEXIST') return fail('FILE_UNWRITABLE', `${path} exists and stays as it is.`, 'Name another file.')
    return fail('FILE_UNWRITABLE', `${path} cannot be written (${code}).`, 'Check its folder and permissions.')
  }
  await context.output.print({ file: path }, view)
  return { ok: true, printed: true }
}
