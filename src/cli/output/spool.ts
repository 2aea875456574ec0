import { type FileHandle, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Number of characters above which the text moves to a file. */
const IN_MEMORY_MAX = 4 * 1024 * 1024
const CHUNK_BYTES = 1024 * 1024

/** A text buffer that moves to a private temporary file when it becomes large. */
export class Spool {
  #waiting: string[] = []
  #length = 0
  #file: { readonly handle: FileHandle; readonly path: string } | undefined

  async write(text: string): Promise<void> {
    this.#waiting.push(text)
    this.#length += text.length
    if (this.#length >= IN_MEMORY_MAX) await this.#flush()
  }

  /** Passes the whole text to `take`, piece by piece in order; stops when `take` resolves to false. */
  async copy(take: (text: string) => Promise<boolean>): Promise<void> {
    if (this.#file !== undefined) {
      await this.#flush()
      const decoder = new TextDecoder()
      const bytes = Buffer.alloc(CHUNK_BYTES)
      for (let at = 0; ; ) {
        const { bytesRead } = await this.#file.handle.read(bytes, 0, CHUNK_BYTES, at)
        if (bytesRead === 0) return
        at += bytesRead
        if (!(await take(decoder.decode(bytes.subarray(0, bytesRead), { stream: true })))) return
      }
    }
    for (const text of this.#waiting) if (!(await take(text))) return
  }

  async close(): Promise<void> {
    this.#waiting = []
    if (this.#file === undefined) return
    await this.#file.handle.close()
    await rm(this.#file.path, { force: true })
    this.#file = undefined
  }

  async #flush(): Promise<void> {
    this.#file ??= await create()
    await this.#file.handle.appendFile(this.#waiting.join(''))
    this.#waiting = []
    this.#length = 0
  }
}

/** Creates the file and unlinks it while it is open, if the system permits that, so that kill -9 leaves no file. */
async function create() {
  const path = join(tmpdir(), `voucherctl-${crypto.randomUUID()}`)
  const handle = await open(path, 'wx+', 0o600)
  if (process.platform !== 'win32') await rm(path)
  return { handle, path }
}
