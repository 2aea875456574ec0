import type { Probe } from '../../probe.js'
import { applicationTokens } from './application-tokens.js'
import { applications } from './applications.js'
import { credentialKinds } from './credential-kinds.js'
import { scopeProbes } from './scopes.js'
import { tenants } from './tenants.js'
import { accountTokens, storedSecrets, tokenForm } from './tokens-and-secrets.js'

export const callers: readonly Probe[] = [
  ...tenants,
  ...scopeProbes,
  ...credentialKinds,
  ...tokenForm,
  ...applicationTokens,
  ...accountTokens,
  ...applications,
  ...storedSecrets,
]
