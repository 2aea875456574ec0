import { scopes } from '../../../contract/endpoint.js'
import { tokens as contract } from '../../../contract/tokens.js'
import { callLeaf, type Group, leaf } from '../../command/leaf.js'
import { listLeaf } from '../../command/paging.js'
import { checkCanStore, confirmReplacing, storeCredential } from '../../command/store-credential.js'
import { suggested } from '../../failures/failure.js'
import { member, one, ownerFlag, type ParseResult, required, toggle } from '../../flags/flags.js'

const app = required(member('Application, app_…', 'ID'), 'Application id')
const members = ['id', 'name', 'tokenPrefix', 'scopes', 'status', 'createdAt', 'expiresAt']

/** Parses a lifetime in days; the value is null for `never`. */
function readDays(it: string): ParseResult<number | null> {
  if (it === 'never') return { ok: true, value: null }
  const days = /^\d{1,6}$/.test(it) ? Number(it) : 0
  return days > 0 ? { ok: true, value: days } : { ok: false, message: 'must be a number of days, or never' }
}

const trusted = 'Keep tokens on trusted servers only. Choose only the scopes that you need.'

export const tokens: Group = {
  name: 'tokens',
  alias: 'token',
  summary: 'Tokens of an application',
  commands: [
    listLeaf({
      name: 'list',
      endpoint: contract.list,
      flags: { app },
      examples: ['voucherctl tokens list --app app_01JC…'],
      view: { members: ['id', 'name', 'tokenPrefix', 'last4', 'status', 'expiresAt'] },
    }),
    leaf({
      name: 'create',
      endpoint: contract.create,
      notes: [trusted],
      flags: {
        app,
        name: member('Name, default "voucherctl"', 'NAME'),
        scope: required(member(`One of ${scopes.join(', ')}`, 'SCOPE'), 'Scopes of the token'),
        'expires-in-days': one('N|never', 'Days until it expires, default 365', readDays),
        save: toggle('Put it into the profile instead of showing it, in every format'),
      },
      examples: [
        {
          command: 'voucherctl tokens create --app app_01JC… --scope vouchers:issue --scope vouchers:verify --save',
          comment: 'Commands that follow use it',
        },
      ],
      run: async (context, { flags, input }) => {
        const refusal = flags.save ? await confirmReplacing(context, 'token') : undefined
        if (refusal !== undefined) return refusal
        const unwritable = await checkCanStore(context, flags.save)
        if (unwritable !== undefined) return unwritable
        const created = await context.call(
          contract.create,
          { ...input, name: flags.name ?? 'voucherctl' },
          { check: suggested`tokens list --app ${flags.app}` },
        )
        if (!created.ok) return created
        if (flags.save) {
          const problem = await storeCredential(context, 'token', created.data.token)
          if (problem !== undefined) {
            const { id } = created.data
            const hint = `Token ${id} exists, but its value is lost. Revoke it: ${suggested`tokens revoke ${id} --app ${flags.app}`}`
            return { ...problem, hint, details: { ...problem.details, token_id: id } }
          }
        }
        const { token: value, ...others } = created.data
        const data = (flags.save ? others : created.data) as typeof created.data
        await context.output.print(data, {
          headline: (it) =>
            `Created token ${it.name}${flags.save ? `, kept in profile ${context.settings.profileName.value}.` : '. Keep it now: it is not shown again.'}`,
          members: flags.save ? members : [...members, 'token'],
          shownOnce: { member: 'token', otherwise: 'Revoke it and create another, with --save or all fields.' },
          next: () => (flags.save ? 'Next: `voucherctl templates create --help`' : undefined),
        })
        return { ok: true, printed: true }
      },
    }),
    callLeaf({
      name: 'revoke',
      endpoint: contract.revoke,
      positional: { name: 'TOKEN_ID', summary: 'Id of the token, tok_…', ask: 'Token id' },
      flags: {
        app: ownerFlag(
          'tokens',
          member('Application, app_…; default: the one that has the token', 'ID'),
          'Application id',
        ),
      },
      examples: ['voucherctl tokens revoke tok_01JC…'],
      view: { headline: (token) => `Revoked token ${token.name}. It stops working immediately.`, members },
      check: ({ flags }) => suggested`tokens list --app ${flags.app}`,
    }),
  ],
}
