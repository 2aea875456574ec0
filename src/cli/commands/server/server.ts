import type { SecureKey } from '../../../contract/platform.js'
import * as contract from '../../../contract/platform.js'
import { callLeaf, type Group, leaf } from '../../command/leaf.js'
import { defined } from '../../flags/defined.js'
import { operatorNotes } from '../platform/operator-notes.js'
import { status, stop } from './control.js'
import { exportStore } from './export.js'
import { importStore } from './import.js'
import { logs } from './logs.js'
import { migrate } from './migrate.js'
import { start } from './start.js'

interface Keys {
  readonly items: readonly SecureKey[]
}

const keyMembers = ['kid', 'state', 'pin', 'activated_at', 'grace_until']
const kidOf = ({ items }: Keys, state: SecureKey['state']) => items.find((it) => it.state === state)?.kid

const keys: Group = {
  name: 'keys',
  alias: 'key',
  summary: 'Keys of the encrypted transport',
  commands: [
    callLeaf({
      name: 'list',
      endpoint: contract.secureKeys,
      notes: [
        'A key is next, then current, then in grace for 120 s, then destroyed. Pin the next one in your clients before you rotate.',
        ...operatorNotes,
      ],
      examples: [
        { command: 'voucherctl server keys list' },
        { command: 'voucherctl server keys list --json --fields state,pin', comment: 'What clients pin' },
      ],
      view: { members: keyMembers },
      input: () => ({}),
    }),
    callLeaf({
      name: 'rotate',
      endpoint: contract.rotateSecureKeys,
      notes: [
        'Sessions go on with the keys that they have. A client that pins only the current key is refused from now on.',
        ...operatorNotes,
      ],
      examples: [{ command: 'voucherctl server keys rotate' }],
      view: {
        headline: (it) => `Key ${kidOf(it, 'current')} is the current one; ${kidOf(it, 'next')} comes next.`,
        members: keyMembers,
      },
      input: () => ({}),
    }),
  ],
}

const openapi = leaf({
  name: 'openapi',
  summary: 'Print the OpenAPI 3.1 document of what the server answers',
  examples: [{ command: 'voucherctl server openapi > openapi.json' }, { command: 'voucherctl server openapi -o yaml' }],
  view: { body: (document: object) => JSON.stringify(document, null, 2) },
  run: async ({ host, settings }) => {
    const { openApiDocument } = await import('../../../contract/openapi/openapi.js')
    const { value: serverUrl } = settings.baseUrl
    return { ok: true, data: openApiDocument({ version: host.version(), ...defined({ serverUrl }) }) }
  },
})

export const server: Group = {
  name: 'server',
  alias: 'servers',
  summary: 'The bundled reference server',
  commands: [start, status, stop, logs, keys, openapi, migrate, exportStore, importStore],
}
