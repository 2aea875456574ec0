import { type ShellText, shellWord } from './shell-word.js'

interface CurlRequest {
  readonly method: string
  readonly url: ShellText
  /** Lines such as `accept: application/json`. */
  readonly headers: readonly ShellText[]
  readonly body?: ShellText | undefined
  /** Path of a file with the body, in place of `body`; `-` is standard input. */
  readonly file?: string | undefined
}

/** Formats a request as a curl command that sends it unchanged. @param flags more flags, such as `i` */
export function curlCommand(flags: string, { method, url, headers, body, file }: CurlRequest): string {
  const words = [
    // By default, curl expands brackets and braces in a URL and removes dot segments, even those with %2e.
    `curl -sSg${flags}${method === 'GET' ? '' : ` -X ${shellWord(method)}`} --path-as-is`,
    shellWord(url),
    ...headers.map((it) => `-H ${shellWord(it)}`),
  ]
  if (file !== undefined) words.push(`--data-binary ${shellWord(`@${file}`)}`)
  else if (body !== undefined) words.push(`--data-raw ${shellWord(body)}`)
  return words.join(' \\\n  ')
}
