import { createHmac } from 'node:crypto'

/** Request header of /healthz with which a client asks a local server to prove that it has the key of server.json. */
export const CHALLENGE_HEADER = 'x-voucherctl-challenge'

/** Response to a challenge. The key stays in server.json, which only its user can read (rules/cli.md#local-server). */
export const proofOf = (key: string, challenge: string): string =>
  createHmac('sha256', key).update(challenge).digest('base64url')
