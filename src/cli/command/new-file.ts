import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { codeOf } from '../../files/error-code.js'
import { type Failure, fail } from '../failures/failure.js'
import { foldersOf } from '../host/folders.js'
import type { Host } from '../host/host.js'
import type { Outcome } from '../output/outcome.js'
import { leaf } from './leaf.js'

interface InitOptions {
  readonly schema: 'templates' | 'scenario'
  /** Name of the kind of file, with its article. */
  readonly what: string
  readonly defaultFile: string
  readonly example: string
  readonly examples: readonly string[]
  readonly next: (file: string) => string
}

/** Creates the command `init`, which writes a new file that names its JSON Schema; `-` prints it. */
export const initLeaf = ({ schema, what, defaultFile, example, examples, next }: InitOptions) =>
  leaf({
    name: 'init',
    summary: `Write ${what} to start from`,
    notes: [
      `FILE is ${defaultFile} unless given; with - the file is printed. An existing file stays as it is. Its first line names a JSON Schema, with which editors complete and check the file: the schema in the node_modules of the project, else a copy that is written beside FILE.`,
    ],
    positional: { name: 'FILE', summary: `File to write, default ${defaultFile}` },
    examples,
    changes: true,
    run: async (context, { positional: path = defaultFile }): Promise<Outcome<unknown>> => {
      const { host, output } = context
      const name = `${schema}.schema.json`
      const folder = dirname(resolve(host.cwd, path))
      const installed = installedSchema(host, folder, name)
      if (path === '-') {
        output.printBytes(Buffer.from((installed === undefined ? '' : schemaLine(installed)) + example))
        return { ok: true, printed: true }
      }
      const copy = installed === undefined ? join(dirname(path), name) : undefined
      if (context.dryRun) return context.plan(`create ${path}${copy === undefined ? '' : ` and ${copy}`}`)
      const text = schemaLine(installed ?? name) + example
      const problem = (await create(host, path, text)) ?? (await writeSchema(host, copy, name))
      if (problem !== undefined) return problem
      await output.print(
        { file: path, schema: copy ?? null },
        {
          headline: () => `Wrote ${path}${copy === undefined ? '' : `; its schema is ${copy}`}.`,
          members: [],
          next: () => `Next: ${next(path)}`,
        },
      )
      return { ok: true, printed: true }
    },
  })

/** Writes a copy of a schema, unless the file exists. */
export async function writeSchema(host: Host, path: string | undefined, name: string): Promise<Failure | undefined> {
  if (path === undefined || existsSync(resolve(host.cwd, path))) return undefined
  return create(host, path, host.document(`dist/schemas/${name}`))
}

async function create({ cwd }: Host, path: string, text: string): Promise<Failure | undefined> {
  try {
    await writeFile(resolve(cwd, path), text, { flag: 'wx' })
    return undefined
  } catch (error) {
    const code = codeOf(error)
    if (code === 'EEXIST') return fail('FILE_UNWRITABLE', `${path} exists and stays as it is.`, 'Name another file.')
    return fail('FILE_UNWRITABLE', `${path} cannot be written (${code}).`, 'Check its folder and permissions.')
  }
}

/** Line for editors. Its path is relative, so that it holds for everybody with the project (rules/cli.md#new-files). */
export const schemaLine = (path: string) =>
  `# yaml-language-server: $schema=${path.startsWith('.') ? path : `./${path}`}\n`

/** Path from the folder to the schema in the node_modules of its project. */
export function installedSchema({ homeDir }: Host, folder: string, name: string): string | undefined {
  const path = join('node_modules', 'voucherctl', 'dist', 'schemas', name)
  const project = foldersOf({ cwd: folder, homeDir }).find((it) => existsSync(join(it, path)))
  return project === undefined ? undefined : relative(folder, join(project, path)).replaceAll(sep, '/')
}
