import { chmodSync } from 'node:fs'
import { open } from 'node:fs/promises'
import type { DeadLetter } from './bridge.js'

/** A file of one JSON object a line, which its owner alone reads: updates hold what people wrote. */
export interface DeadLetterFile {
  /** On disk when this is over. */
  append(letter: DeadLetter): Promise<void>
}

/**
 * Makes the file if there is none, so that what cannot be written is known before it is needed.
 * @throws what the file system throws
 */
export async function openDeadLetters(path: string): Promise<DeadLetterFile> {
  await (await open(path, 'a', 0o600)).close()
  chmodSync(path, 0o600)
  return {
    async append(letter) {
      const file = await open(path, 'a', 0o600)
      try {
        await file.appendFile(`${JSON.stringify(letter)}\n`)
        await file.sync()
      } finally {
        await file.close()
      }
    },
  }
}
