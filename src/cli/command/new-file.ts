import { realpathSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { codeOf } from '../../files/error-code.js'
import { fail } from '../failures/failure.js'
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
      `FILE is ${defaultFile} unless given; with - the file is printed. An existing file stays as it is. Its first line names the JSON Schema of the package, with which editors complete and check the file.`,
    ],
    positional: { name: 'FILE', summary: `File to write, default ${defaultFile}` },
    examples: examples.map((command) => ({ command })),
    changes: true,
    run: async (context, { positional: path = defaultFile }): Promise<Outcome<{ readonly file: string }>> => {
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

/**
 * First line of a new file, which names its JSON Schema for editors. The path is relative if the package is installed
 * in a folder above the file, so that the line holds for everybody who clones the project.
 */
function schemaLine({ self, cwd }: Host, name: InitOptions['schema'], path: string): string {
  const schema = join(packageFolder(self[1] ?? ''), 'dist', 'schemas', `${name}.schema.json`)
  const folder = dirname(resolve(cwd, path))
  const [project] = schema.split(`${sep}node_modules${sep}`)
  const isInstalledAbove = project !== schema && `${folder}${sep}`.startsWith(`${project}${sep}`)
  const place = isInstalledAbove ? relative(folder, schema).replaceAll(sep, '/') : pathToFileURL(schema).href
  return `# yaml-language-server: $schema=${isInstalledAbove && !place.startsWith('.') ? `./${place}` : place}\n`
}

function packageFolder(script: string): string {
  try {
    return dirname(dirname(realpathSync(script)))
  } catch {
    return dirname(dirname(resolve(script)))
  }
}
