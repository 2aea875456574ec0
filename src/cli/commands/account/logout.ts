import type { CredentialKind } from '../../../contract/endpoint.js'
import { leaf } from '../../command/leaf.js'
import { shownOnce } from '../../command/store-credential.js'
import { changeProfile, profileNotFound } from '../../config/config.js'
import { credentialNames } from '../../host/secrets.js'

export const logout = leaf({
  name: 'logout',
  summary: 'Remove the credentials of a profile',
  notes: ['They stay valid on the server: revoke a token with `voucherctl tokens revoke`.'],
  examples: ['voucherctl logout', 'voucherctl logout --profile shop'],
  changes: true,
  view: {
    headline: (report: { profile: string; removed: readonly string[] }) =>
      report.removed.length === 0
        ? `Profile ${report.profile} holds no credential.`
        : `Removed ${report.removed.map((kind) => credentialNames[kind as CredentialKind]).join(', ')} from profile ${report.profile}.`,
    members: [],
  },
  run: async (context) => {
    const { settings } = context
    const name = settings.profileName.value
    if (settings.profileMissing) return profileNotFound(name, settings.config)
    const removed = Object.keys(settings.profile.credentials ?? {})
    if (context.dryRun) return context.plan(`remove ${removed.length} credentials from profile ${name}`)
    const refusal = await context.confirm({ action: `Logging out of ${name}`, loses: shownOnce(settings.profile) })
    if (refusal !== undefined) return refusal
    if (removed.length > 0) {
      const problem = await changeProfile(
        context.host,
        name,
        ({ credentials: _credentials, account: _account, store, ...rest }) => (store ? { ...rest, store } : rest),
      )
      if (problem !== undefined) return problem
    }
    return { ok: true, data: { profile: name, removed } }
  },
})
