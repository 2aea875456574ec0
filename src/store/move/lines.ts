import { isUtf8 } from 'node:buffer'
import { ExportUnusable } from './format.js'

/** A row has at most some hundred kilobytes: what is longer is no export, and must not fill the memory. */
const LINE_BYTES_MAX = 64 * 1024 * 1024
const LF = 0x0a

/** Lines without their line feeds, and the number of the first, from 1. */
interface Lines {
  readonly first: number
  readonly texts: readonly string[]
}

/** @throws ExportUnusable for what is no text */
export async function* linesOf(chunks: AsyncIterable<Uint8Array | string>): AsyncGenerator<Lines> {
  let held: Buffer[] = []
  let bytes = 0
  let first = 1
  const take = (block: Buffer): Lines => {
    if (!isUtf8(block)) throw new ExportUnusable(`line ${first + placeOfNoText(block)} is not UTF-8`)
    return { first, texts: block.toString('utf8').split('\n') }
  }
  for await (const chunk of chunks) {
    const buffer =
      typeof chunk === 'string' ? Buffer.from(chunk) : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length)
    if (first === 1 && bytes === 0) refusePacked(buffer)
    const end = buffer.lastIndexOf(LF)
    if (end < 0) {
      held.push(buffer)
      bytes += buffer.length
    } else {
      const lines = take(Buffer.concat([...held, buffer.subarray(0, end)]))
      yield lines
      first += lines.texts.length
      held = [buffer.subarray(end + 1)]
      bytes = buffer.length - end - 1
    }
    if (bytes > LINE_BYTES_MAX) throw new ExportUnusable(`line ${first} is longer than any that an export has`)
  }
  if (bytes > 0) yield take(Buffer.concat(held))
}

/** How many lines of it are text. */
function placeOfNoText(block: Buffer): number {
  for (let at = 0, line = 0; ; line++) {
    const end = block.indexOf(LF, at)
    if (end < 0 || !isUtf8(block.subarray(at, end))) return line
    at = end + 1
  }
}

function refusePacked([one, two]: Buffer): void {
  if (one === 0x1f && two === 0x8b) throw new ExportUnusable('it is compressed; unpack it into a pipe: gunzip -c')
}
