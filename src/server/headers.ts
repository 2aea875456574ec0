import type { IncomingMessage } from 'node:http'

/**
 * Every value of a header as it came: Node takes the first Authorization and joins repeats of other headers.
 * Read from rawHeaders, the one list that an injected request has too.
 * @param name in lower case
 */
export function headerValues({ rawHeaders }: IncomingMessage, name: string): string[] {
  const values: string[] = []
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const given = rawHeaders[index] as string
    if (given.length === name.length && given.toLowerCase() === name) values.push(rawHeaders[index + 1] as string)
  }
  return values
}
