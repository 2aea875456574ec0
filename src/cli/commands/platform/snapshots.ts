import { platformControls as contract, type Snapshot } from '../../../contract/platform/controls.js'
import { confirmLoss } from '../../command/confirmation.js'
import { callLeaf, type Group, type Leaf, leaf } from '../../command/leaf.js'
import { suggested } from '../../failures/failure.js'

const name = { name: 'NAME', summary: 'Name of the snapshot', ask: 'Name of the snapshot' }
const members = ['name', 'saved_at', 'clock', 'vouchers']
const key = 'name'
const vouchers = (count: number) => `${count} ${count === 1 ? 'voucher' : 'vouchers'}`
const replacing = [
  'Calls in flight end first, and later ones wait. On PostgreSQL, which other servers may use, it needs --yes.',
  'A restore of 1,000,000 vouchers takes up to two minutes: pass --timeout 5m.',
]

export const snapshots: Group = {
  name: 'snapshots',
  alias: 'snapshot',
  summary: 'Save the state of a local server, and return to it',
  commands: [
    callLeaf({
      name: 'list',
      endpoint: contract.snapshots,
      examples: ['voucherctl platform snapshots list'],
      view: {
        members,
        key,
        empty: `There are no snapshots. Save one: ${suggested`platform snapshots save seeded`}`,
      },
    }),
    leaf({
      name: 'save',
      endpoint: contract.saveSnapshot,
      notes: ['The command asks before it replaces a snapshot of the same name.'],
      positional: name,
      examples: ['voucherctl platform snapshots save seeded'],
      view: {
        headline: (it: Snapshot) => `Saved ${it.name} with ${vouchers(it.vouchers)}.`,
        members,
        key,
        next: (it: Snapshot) => `To return to it: ${suggested`platform snapshots restore ${it.name}`}`,
      },
      run: async (context, { positional }) => {
        if (!context.globals.yes && !context.dryRun) {
          const listed = await context.call(contract.snapshots, {})
          if (!listed.ok) return listed
          const held = 'data' in listed && listed.data.items.some((it) => it.name === positional)
          const refusal = held && (await confirmLoss(context, contract.saveSnapshot, positional))
          if (refusal) return refusal
        }
        return context.call(contract.saveSnapshot, { name: positional })
      },
    }),
    leaf({
      name: 'restore',
      endpoint: contract.restoreSnapshot,
      notes: replacing,
      positional: name,
      examples: ['voucherctl platform snapshots restore seeded --yes'],
      view: { headline: (it: Snapshot) => `Restored ${it.name} with ${vouchers(it.vouchers)}.`, members, key },
      run: async (context, { positional }) =>
        (await confirmLoss(context, contract.restoreSnapshot, positional)) ??
        context.call(contract.restoreSnapshot, { name: positional, ...(context.globals.yes ? { shared: true } : {}) }),
    }),
    callLeaf({
      name: 'remove',
      endpoint: contract.removeSnapshot,
      positional: name,
      examples: ['voucherctl platform snapshots remove seeded'],
      view: { headline: (it) => `Removed snapshot ${it.name}.`, members: [], key },
    }),
  ],
}

export const reset: Leaf = leaf({
  name: 'reset',
  endpoint: contract.reset,
  notes: [
    'The server then holds the records of its seed, or nothing. Its keys and its snapshots stay, and a test clock returns to the true time.',
    ...replacing,
  ],
  examples: ['voucherctl platform reset --yes'],
  view: {
    headline: (it: { readonly now: string }) => `The server is as it was at its start. Its clock says ${it.now}.`,
    members: [],
  },
  run: async (context) => {
    const server = context.baseUrl()
    if (!server.ok) return server
    return (
      (await confirmLoss(context, contract.reset, server.value)) ??
      context.call(contract.reset, context.globals.yes ? { shared: true } : {})
    )
  },
})
