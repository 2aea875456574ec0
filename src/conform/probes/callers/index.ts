import type { Probe } from '../../probe.js'
import { accountTokens } from './account-tokens.js'
import { applicationTokens } from './application-tokens.js'
import { applications } from './applications.js'
import { credentialKinds } from './credential-kinds.js'
import { scopeProbes } from './scopes.js'
import { storedSecrets } from './stored-secrets.js'
import { tokenForm } from './token-form.js'

export const callers: readonly Probe[] = [
  ...scopeProbes,
  ...credentialKinds,
  ...tokenForm,
  ...applicationTokens,
  ...accountTokens,
  ...applications,
  ...storedSecrets,
]
