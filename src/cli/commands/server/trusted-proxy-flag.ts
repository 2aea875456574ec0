import { isIP } from 'node:net'
import type { Flag } from '../../flags/flags.js'

export const trustedProxyFlag: Flag<readonly string[]> = {
  value: 'ADDRESS|CIDR',
  summary: 'A proxy in front of the server, whose X-Forwarded-For names the client that limits count',
  repeatable: true,
  read: (texts) =>
    texts.every(isAddressOrCidr)
      ? { ok: true, value: texts }
      : { ok: false, message: 'must be an IPv4 or IPv6 address, or a network such as 10.0.0.0/8' },
}

function isAddressOrCidr(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/')
  // BlockList ignores an IPv6 zone, so refuse one.
  const family = address.includes('%') ? 0 : isIP(address)
  if (family === 0 || rest.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128))
}
