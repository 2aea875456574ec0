import type { Context } from '../../command/context.js'
import { type Failure, fail, usage } from '../../failures/failure.js'
import { readTextFile } from '../../host/files.js'

type Body = { readonly ok: true; readonly text: string | undefined } | Failure

/**
 * Reads JSON from a file or stdin. It checks the syntax and returns the unchanged text.
 * @param flag name of the flag that names the file, for messages
 */
export async function readJsonBody(
  { host, globals }: Pick<Context, 'host' | 'globals'>,
  file: string | undefined,
  flag: string,
): Promise<Body> {
  if (file === undefined) return { ok: true, text: undefined }
  if (file === '-' && globals['token-file'] === '-') return usage(`${flag} and --token-file cannot both read stdin.`)
  const read = await readTextFile(host, file)
  if (!read.ok) return read
  try {
    JSON.parse(read.text)
  } catch {
    return fail('INVALID_INPUT', `${file === '-' ? 'Standard input' : file} does not hold JSON.`)
  }
  return read
}
