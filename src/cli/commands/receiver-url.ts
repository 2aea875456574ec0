import { isIP } from 'node:net'
import type { Failure } from '../failure.js'
import { usage } from '../failure.js'

/** The URL of a receiver, as a flag named it. */
export function receiverUrl(flag: string, text: string): { readonly ok: true; readonly value: URL } | Failure {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    return usage(`${flag} must be an http or https URL, such as http://127.0.0.1:8787/hook.`)
  }
  if (url.username !== '' || url.password !== '') return usage(`${flag} must not hold a user or a password.`)
  return { ok: true, value: url }
}

/** True for a host that names this machine: localhost, 127.0.0.0/8 and ::1. */
export function isLoopback({ hostname }: URL): boolean {
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}
