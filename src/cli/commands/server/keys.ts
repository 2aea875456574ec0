import type { SecureKey } from '../../../contract/platform.js'
import * as contract from '../../../contract/platform.js'
import type { Group } from '../../command/leaf.js'
import { callLeaf } from '../../command/leaf.js'
import { operatorNotes } from '../platform/operator-notes.js'

interface Keys {
  readonly items: readonly SecureKey[]
}

const members = ['kid', 'state', 'pin', 'activated_at', 'grace_until']
const kidOf = ({ items }: Keys, state: SecureKey['state']) => items.find((it) => it.state === state)?.kid

export const serverKeys: Group = {
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
      view: { members },
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
        members,
      },
      input: () => ({}),
    }),
  ],
}
