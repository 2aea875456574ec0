import { resolve } from 'node:path'
import { codeOf } from '../../../files/error-code.js'
import type { RunningServer } from '../../../server/options.js'
import type { Context } from '../../command/context.js'
import { failureOfServer } from '../../failures/codes.js'
import { type Failure, fail } from '../../failures/failure.js'
import { FileWatch } from '../../host/file-watch.js'
import { readSeedFile } from '../../server/seed-file.js'

/** Plants a seed file again after each change until the server stops. @param planted text of the planted file */
export async function watchSeed(
  { host, output }: Context,
  { replant }: RunningServer,
  path: string,
  planted: string,
): Promise<Failure | undefined> {
  let watch: FileWatch
  try {
    watch = new FileWatch([resolve(host.cwd, path)])
  } catch (error) {
    return fail('FILE_UNREADABLE', `The folder of ${path} cannot be watched (${codeOf(error)}).`, 'Check the path.')
  }
  try {
    // First without a wait: the file may have changed since the start.
    let isWrong = false
    for (let last = planted, changed: string | undefined = path; changed; changed = await watch.next(host.signal)) {
      const read = await readSeedFile(host, path)
      if (read.ok && read.text === last) {
        if (isWrong) output.notice(`${path} is as it was when its records were planted.`)
        isWrong = false
        continue
      }
      const failure = read.ok ? await replant(read.seed).catch(failureOfServer) : read
      isWrong = failure !== undefined
      if (!isWrong && read.ok) last = read.text
      if (failure === undefined) output.notice(`${path} has changed: its records are planted again.`)
      else await output.fail({ ...failure, hint: 'The server keeps its state. Correct the file.' })
    }
  } finally {
    watch.close()
  }
  return undefined
}
