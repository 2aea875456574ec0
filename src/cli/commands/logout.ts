import type { CredentialKind } from '../../contract/endpoint.js'
import { leaf } from '../leaf.js'
import { credentialNames } from '../secrets.js'
import { saveProfile } from '../store-credential.js'

export const logout = leaf({
  name: 'logout',
  summary: 'Remove the credentials of a profile',
  notes: ['They stay valid on the server: revoke a token with `voucherctl tokens revoke`.'],
  examples: [{ command: 'voucherctl logout' }, { command: 'voucherctl logout --profile shop' }],
  changes: true,
  view: {
    headline: (it: { profile: string; removed: readonly string[] }) =>
      it.removed.length === 0
        ? `Profile ${it.profile} holds no credential.`
        : `Removed ${it.removed.map((kind) => credentialNames[kind as CredentialKind]).join(', ')} from profile ${it.profile}.`,
    members: [],
  },
  run: async (context) => {
    const { settings } = context
    const name = settings.profileName.value
    const { credentials = {}, account: _account, ...rest } = settings.profile
    const removed = Object.keys(credentials)
    if (context.dryRun) return context.plan(`remove ${removed.length} credentials from profile ${name}`)
    if (removed.length > 0) {
      const problem = await saveProfile(context, name, rest)
      if (problem !== undefined) return problem
    }
    return { ok: true, data: { profile: name, removed } }
  },
})
