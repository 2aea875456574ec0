import { TransportError } from './transport.js'

const LONGEST_LINE = 1024 * 1024

/** The lines of a UTF-8 body that are not empty, also one without a line feed at the end. */
export async function* readLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of chunks) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = parts.pop() ?? ''
    if (rest.length > LONGEST_LINE)
      throw new TransportError('lost', `A line of the stream is longer than ${LONGEST_LINE} characters`)
    yield* parts.filter((line) => line.trim() !== '')
  }
  rest += decoder.decode()
  if (rest.trim() !== '') yield rest
}
