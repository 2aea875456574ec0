import { one, type ParseResult } from '../../flags/flags.js'

export function readReceiverUrl(text: string): ParseResult<URL> {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    const message = 'must be an http or https URL without user name and password, such as http://127.0.0.1:3000/hook'
    return { ok: false, message }
  }
  return { ok: true, value: url }
}

export const receiverUrl = (summary: string) => one('URL', summary, readReceiverUrl)
