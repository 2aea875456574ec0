import { isLoopbackHost } from '../../../contract/loopback.js'
import type { Read } from '../../flags/flags.js'
import { one } from '../../flags/flags.js'

/** The URL of a receiver. */
export function readReceiverUrl(text: string): Read<URL> {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    const message = 'must be an http or https URL without user name and password, such as http://127.0.0.1:3000/hook'
    return { ok: false, message }
  }
  return { ok: true, value: url }
}

export const receiverUrl = (summary: string) => one('URL', summary, readReceiverUrl)

/** True for a host that names this machine: localhost, 127.0.0.0/8 and ::1. */
export function isLoopback({ hostname }: URL): boolean {
  return isLoopbackHost(hostname.replace(/^\[(.*)\]$/, '$1'))
}
