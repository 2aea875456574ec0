import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { codeOf } from '../../files/error-code.js'
import { leaf } from '../command/leaf.js'
import { fail } from '../failure.js'
import type { Outcome } from '../output/outcome.js'
import { type SchemaName, schemaLine } from './schema-line.js'

interface NewFile {
  readonly file: string
}

interface InitOptions {
  readonly schema: SchemaName
  /** What the file is, with its article. */
  readonly what: string
  readonly defaultFile: string
  readonly example: string
  readonly examples: readonly string[]
  /** The command to run next. */
  readonly next: (file: string) => string
}

/** Creates the command `init`, which writes a new file that names its JSON Schema; `-` prints it. */
export const initLeaf = ({ schema, what, defaultFile, example, examples, next }: InitOptions) =>
  leaf({
    name: 'init',
    summary: `Write ${what} to start from`,
    notes: [
      `FILE is ${defaultFile} unless given; with - the file is printed. An existing file stays as it is. Its first line names the JSON Schema of the package, with which editors complete and check the file.`,
    ],
    positional: { name: 'FILE', summary: `File to write, default ${defaultFile}` },
    examples: examples.map((command) => ({ command })),
    changes: true,
    run: async (context, { positional: path = defaultFile }): Promise<Outcome<NewFile>> => {
      const text = schemaLine(context.host, schema, path === '-' ? 'file.yaml' : path) + example
      if (path === '-') {
        context.output.printBytes(Buffer.from(text))
        return { ok: true, printed: true }
      }
      if (context.dryRun) return context.plan(`create ${path}`)
      try {
        await writeFile(resolve(context.host.cwd, path), text, { flag: 'wx' })
      } catch (error) {
        const code = codeOf(error)
        if (code === 'EEXIST')
          return fail('FILE_UNWRITABLE', `${path} exists and stays as it is.`, 'Name another file.')
        return fail('FILE_UNWRITABLE', `${path} cannot be written (${code}).`, 'Check its folder and permissions.')
      }
      await context.output.print(
        { file: path },
        { headline: ({ file }) => `Wrote ${file}.`, members: [], next: ({ file }) => `Next: ${next(file)}` },
      )
      return { ok: true, printed: true }
    },
  })
