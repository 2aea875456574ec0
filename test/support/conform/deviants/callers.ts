import { scopes } from '../../../../src/contract/endpoint.js'
import {
  accepts,
  acceptsCode,
  any,
  bearerOf,
  bodyOf,
  both,
  type Call,
  codeOf,
  type Deviate,
  deviants,
  onPath,
  refusal,
  refuses,
  responds,
  returns,
  returnsData,
  sends,
  sendsBody,
  success,
} from '../deviants.js'

const open = '/api/v1/open-platform'
const runtime = onPath(`\\w+ ${open}/vouchers/.*`)
const templates = onPath(`GET ${open}/vouchers/templates`)
const apps = `${open}/applications`
const createApp = onPath(`POST ${apps}`)
const app = onPath(`\\w+ ${apps}(/[^/]+)?`)
const patchApp = onPath(`PATCH ${apps}/[^/]+`)
const createToken = onPath(`POST ${apps}/[^/]+/tokens`)
const revokeToken = onPath(`DELETE ${apps}/[^/]+/tokens/[^/]+`)
const link = onPath(`PUT ${apps}/[^/]+/bots/[^/]+`)
const unlink = onPath(`DELETE ${apps}/[^/]+/bots/[^/]+`)
const consoleCall = onPath(`\\w+ (${apps}.*|/api/v1/bots/(my|applications).*)`)
const botCall = onPath('\\w+ /api/v1/bots/(vouchers/issue|sendMessage|getUpdates|setWebhook|getWebhookInfo)')
const isJwt = (bearer: string) => /^[^.]+\.[^.]*\./.test(bearer)

/** Accepts calls of tokens with several scopes only. */
const singleScopes: Deviate = (next) => {
  const single = new Set<string>()
  return async (request) => {
    if (runtime(request) && single.has(bearerOf(request))) return refusal(403, 'INSUFFICIENT_SCOPE')
    const response = await next(request)
    if (createToken(request) && response.status === 201) {
      const { data } = JSON.parse(response.body)
      if (data.scopes.length === 1) single.add(data.token)
    }
    return response
  }
}

/** Tokens are longer than the reference's. */
const longTokens: Deviate = (next) => async (request) => {
  const headers = { ...request.headers, authorization: `Bearer ${bearerOf(request).replace(/LONG$/, '')}` }
  const response = await next(bearerOf(request) === '' ? request : { ...request, headers })
  if (!createToken(request) || response.status !== 201) return response
  const json = JSON.parse(response.body)
  return { ...response, body: JSON.stringify({ ...json, data: { ...json.data, token: `${json.data.token}LONG` } }) }
}

/** Lists the values of tokens. */
const listedTokens: Deviate = (next) => {
  const values = new Map<string, string>()
  return async (request) => {
    const response = await next(request)
    if (createToken(request) && response.status === 201) {
      const { id, token } = JSON.parse(response.body).data
      values.set(id, token)
    }
    if (!onPath(`GET ${apps}/[^/]+/tokens`)(request)) return response
    return {
      ...response,
      body: response.body.replace(/"id":"(tok_\w+)"/g, (it, id) => `${it},"token":"${values.get(id)}"`),
    }
  }
}

/** Refuses a call to a path to which it was made before, unless another kind of call undid it. */
const refusesTwice =
  (when: Call, undo: Call): Deviate =>
  (next) => {
    const done = new Set<string>()
    return async (request) => {
      if (undo(request)) done.delete(request.path)
      if (!when(request)) return next(request)
      if (done.has(request.path)) return refusal(409)
      done.add(request.path)
      return next(request)
    }
  }

/** Returns the first response to an issue again, even if the application is disabled. */
const replaysAnyway: Deviate = (next) => {
  const kept = new Map<string, Awaited<ReturnType<typeof next>>>()
  return async (request) => {
    const response = await next(request)
    const key = request.headers['idempotency-key'] ?? ''
    if (codeOf(response) === 'APPLICATION_DISABLED') return kept.get(key) ?? response
    if (response.status === 201) kept.set(key, response)
    return response
  }
}

/** Changes responses to calls after a bot was unlinked. */
const afterUnlink =
  (when: Call, response: ReturnType<typeof refusal>): Deviate =>
  (next) => {
    let isUnlinked = false
    return async (request) => {
      if (unlink(request)) isUnlinked = true
      if (link(request)) isUnlinked = false
      return isUnlinked && when(request) ? response : next(request)
    }
  }

const staysDisabled: Deviate = (next) => {
  let isDisabled = false
  return async (request) => {
    if (patchApp(request) && bodyOf(request).status === 'disabled') isDisabled = true
    return isDisabled && runtime(request) ? refusal(403, 'APPLICATION_DISABLED') : next(request)
  }
}

const repeatsSecret = (when: Call, secret: (request: Parameters<typeof link>[0]) => string): Deviate =>
  responds(when, (response, request) =>
    response.status < 400 ? {} : { body: response.body.replace('"message":"', `"message":"${secret(request)} `) },
  )

/** Does for every application what the server does for another one that has called before. */
export const leaks =
  (when: Call): Deviate =>
  (next) => {
    const bearers = new Set<string>()
    return async (request) => {
      const response = await next(request)
      if (/^sop_/.test(bearerOf(request))) bearers.add(bearerOf(request))
      // A list is a success for its caller too, but leaks the templates of the first application.
      if (!when(request) || (response.status !== 404 && request.method !== 'GET')) return response
      for (const bearer of bearers) {
        const headers = { ...request.headers, authorization: `Bearer ${bearer}` }
        const other = await next({ ...request, headers })
        if (other.status <= 299) return other
      }
      return response
    }
  }

/** Reports the refusals that the server should give, but does what it refused. */
const leaksInSilence =
  (when: Call): Deviate =>
  (next) => {
    const leaking = leaks(when)(next)
    const first = { bearer: '' }
    return async (request) => {
      if (first.bearer === '' && /^sop_/.test(bearerOf(request))) first.bearer = bearerOf(request)
      const response = await leaking(request)
      const isOther = when(request) && bearerOf(request) !== first.bearer
      return isOther && response.status <= 299 ? refusal(404, 'VOUCHER_NOT_FOUND') : response
    }
  }

/** Keeps idempotency keys without their application. */
const replaysForAll =
  (when: Call): Deviate =>
  (next) => {
    const kept = new Map<string, Awaited<ReturnType<typeof next>>>()
    return async (request) => {
      const key = request.headers['idempotency-key']
      if (!when(request) || key === undefined) return next(request)
      const response = kept.get(key) ?? (await next(request))
      if (response.status <= 299) kept.set(key, response)
      return response
    }
  }

/** Lists for a bot the templates that any application has created. */
const listsForBots: Deviate = (next) => {
  const created: unknown[] = []
  return async (request) => {
    const response = await next(request)
    if (onPath(`POST ${open}/vouchers/templates`)(request) && response.status === 201)
      created.push(bodyOf(response).data)
    if (!onPath('GET /api/v1/bots/my/[^/]+/vouchers/templates')(request)) return response
    const json = bodyOf(response)
    return { ...response, body: JSON.stringify({ ...json, data: { ...json.data, items: created } }) }
  }
}

const byCredential = (call: string, type: string): Call =>
  both(onPath(`POST ${open}/vouchers/${call}`), (it) => bodyOf(it).credential?.type === type)
const byBot = onPath('\\w+ /api/v1/bots/.*vouchers/.*')

/** Platforms that leak the objects of one application to others, by the probe that reports them. */
export const tenants = deviants({
  'tenants/list': leaks(templates),
  'tenants/submit': leaks(onPath(`POST ${open}/vouchers/templates/[^/]+/submit`)),
  'tenants/issue': leaks(onPath(`POST ${open}/vouchers/issue`)),
  'tenants/verify-qr_token': leaks(byCredential('verify', 'qr_token')),
  'tenants/verify-redeem_code': leaks(byCredential('verify', 'redeem_code')),
  'tenants/redeem-qr_token': leaks(byCredential('redeem', 'qr_token')),
  'tenants/redeem-redeem_code': leaks(byCredential('redeem', 'redeem_code')),
  'tenants/redemption': leaks(onPath(`GET ${open}/vouchers/redemptions/[^/]+`)),
  'tenants/reverse': leaks(onPath(`POST ${open}/vouchers/redemptions/[^/]+/reverse`)),
  'tenants/unchanged': leaksInSilence(onPath(`POST ${open}/vouchers/(redeem|redemptions/.*)`)),
  'tenants/replay-of-issue': replaysForAll(onPath(`POST ${open}/vouchers/issue`)),
  'tenants/replay-of-redeem': replaysForAll(onPath(`POST ${open}/vouchers/redeem`)),
  'tenants/replay-of-reverse': replaysForAll(onPath(`POST ${open}/vouchers/redemptions/[^/]+/reverse`)),
  'tenants/list-by-bot': listsForBots,
  'tenants/issue-by-bot': accepts(onPath('POST /api/v1/bots/vouchers/issue'), 404),
  'tenants/submit-by-bot': accepts(both(byBot, onPath('POST .*/submit')), 404),
})

/** Deviant servers by the probe that reports them. */
export const callers = deviants({
  ...Object.fromEntries(
    scopes.map(
      (scope) =>
        [
          `scopes/without-${scope.replaceAll(':', '-')}`,
          responds(runtime, ({ status, body }) =>
            status === 403 && body.includes(`"required_scope":"${scope}"`) ? success() : {},
          ),
        ] as const,
    ),
  ),
  ...Object.fromEntries(scopes.map((scope) => [`scopes/with-${scope.replaceAll(':', '-')}`, singleScopes] as const)),
  'scopes/unknown-scope': accepts(createToken, 400, (it) => String(bodyOf(it).scopes).includes('conform')),
  'scopes/required-scope': returns(runtime, 4, ({ details: _, ...json }) => json),
  'scopes/www-authenticate': responds(runtime, () => ({ headers: {} })),
  'scopes/bot-issue': acceptsCode(onPath('POST /api/v1/bots/vouchers/issue'), 'INSUFFICIENT_SCOPE'),
  'scopes/bot-templates-read': acceptsCode(onPath('GET /api/v1/bots/my/.*'), 'INSUFFICIENT_SCOPE'),
  'scopes/bot-templates-write': acceptsCode(onPath('POST /api/v1/bots/my/.*'), 'INSUFFICIENT_SCOPE'),

  'credential-kinds/runtime-with-jwt': accepts(templates, 401, (it) => /^ey/.test(bearerOf(it))),
  'credential-kinds/runtime-with-bot': accepts(onPath(`POST ${open}/.*/redeem`), 401, (it) =>
    /^sbot_/.test(bearerOf(it)),
  ),
  'credential-kinds/bot-with-token': acceptsCode(botCall, 'TOKEN_TYPE_NOT_ACCEPTED'),
  'credential-kinds/bot-with-jwt': acceptsCode(botCall, 'TOKEN_TYPE_NOT_ACCEPTED'),
  'credential-kinds/console-with-token': acceptsCode(consoleCall, 'TOKEN_TYPE_NOT_ACCEPTED'),
  'credential-kinds/console-with-bot': returns(consoleCall, 4, (it) =>
    it.code === 'TOKEN_TYPE_NOT_ACCEPTED' ? { ...it, code: 'TOKEN_INVALID' } : it,
  ),

  'token-form/application-token': longTokens,
  'token-form/wrong-checksum-of-token': responds(templates, (response, request) =>
    codeOf(response) === 'TOKEN_INVALID' && /^sop_.{36}$/.test(bearerOf(request)) ? success() : {},
  ),
  'token-form/wrong-checksum-of-bot': acceptsCode(botCall, 'TOKEN_INVALID'),
  'token-form/shown-parts': returnsData(createToken, (it) => ({ ...it, last4: '****' })),
  'token-form/shown-parts-of-bots': returnsData(onPath('GET /api/v1/bots/my'), ({ items, ...rest }) => ({
    ...rest,
    items: items.map((item: object) => ({ ...item, token_prefix: 'sbot_' })),
  })),

  'application-tokens/shown-once': listedTokens,
  'application-tokens/revoked': acceptsCode(runtime, 'TOKEN_REVOKED'),
  'application-tokens/revoked-twice': refusesTwice(revokeToken, createToken),
  'application-tokens/name': sendsBody(createToken, (it) => ({ name: 'deviant', ...it })),
  'application-tokens/scopes': sendsBody(createToken, (it) => ({
    ...it,
    scopes: it.scopes?.length ? it.scopes : ['vouchers:read'],
  })),
  'application-tokens/lifetime-of-0': accepts(createToken, 400, (it) => bodyOf(it).expires_in_days === 0),
  'application-tokens/lifetime-of-366': accepts(createToken, 400, (it) => bodyOf(it).expires_in_days === 366),
  'application-tokens/lifetime-of-1': returnsData(createToken, (it) => ({ ...it, expiresAt: null })),
  'application-tokens/lifetime-of-365': refuses((it) => createToken(it) && bodyOf(it).expires_in_days === 365, 400),
  'application-tokens/lifetime-by-default': sendsBody(createToken, (it) => ({ expires_in_days: 30, ...it })),
  'application-tokens/lifetime-null': sendsBody(createToken, (it) => ({
    ...it,
    expires_in_days: it.expires_in_days ?? 365,
  })),
  'application-tokens/limit-of-20': acceptsCode(createToken, 'TOKEN_LIMIT_REACHED'),

  'account-tokens/algorithm-none': responds(app, ({ status }, request) =>
    status === 401 && /\.$/.test(bearerOf(request)) ? success({ items: [] }) : {},
  ),
  'account-tokens/changed-expiry': responds(app, (response, request) =>
    codeOf(response) === 'TOKEN_INVALID' && isJwt(bearerOf(request)) ? success({ items: [] }) : {},
  ),

  'applications/record': returnsData(app, ({ features: _, ...data }) => data),
  'applications/allowed-origins': returnsData(createApp, (it) => ({ ...it, allowedOrigins: [] })),
  'applications/listed-and-read': returnsData(onPath(`GET ${apps}`), (it) => ({ ...it, items: [] })),
  'applications/patched': sendsBody(patchApp, ({ description: _, ...body }) => body),
  'applications/owner-disables': returnsData(patchApp, (it) => ({ ...it, status: 'active' })),
  'applications/owner-cannot-suspend': accepts(patchApp, 400),
  'applications/disabled': acceptsCode(templates, 'APPLICATION_DISABLED'),
  'applications/disabled-replay': replaysAnyway,
  'applications/enabled-again': staysDisabled,
  'applications/link-of-an-unknown-bot': accepts(link, 404),
  'applications/link-elsewhere': acceptsCode(link, 'BOT_ALREADY_LINKED'),
  'applications/linked-bots': returnsData(link, (it) => ({ ...it, linkedBots: [] })),
  'applications/link-twice': refusesTwice(link, unlink),
  'applications/link-changes': returnsData(onPath(`GET ${apps}/[^/]+`), (it) => ({ ...it, updatedAt: it.createdAt })),
  'applications/unlink-twice': refusesTwice(unlink, link),
  'applications/unlinked-bot': sends(unlink, (it) => ({
    method: 'GET',
    path: it.path.replace(/\/bots\/.*/, ''),
    body: '',
  })),
  'applications/unlink-keeps': afterUnlink(templates, refusal(401)),
  'applications/unlink-keeps-vouchers': afterUnlink(onPath(`POST ${open}/vouchers/verify`), refusal(404)),

  'stored-secrets/refused-token': repeatsSecret(templates, bearerOf),
  'stored-secrets/refused-code': repeatsSecret(
    onPath(`POST ${open}/vouchers/verify`),
    (it) => bodyOf(it).credential.value,
  ),
  'stored-secrets/refused-webhook-secret': repeatsSecret(
    onPath('POST /api/v1/bots/setWebhook'),
    (it) => bodyOf(it).secret_token,
  ),
})

/** Deviant servers that review bots later. */
export const callersInReview = deviants({
  'applications/link-of-a-pending-bot': acceptsCode(any, 'BOT_NOT_APPROVED'),
})
