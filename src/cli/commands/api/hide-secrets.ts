import { credentialNames, credentialVariables, kindOf, redactCode } from '../../host/secrets.js'

/** A variable of a shell, and what belongs in it. */
interface Variable {
  readonly name: string
  readonly holds: string
}

/**
 * Replaces voucher codes, webhook secrets and URLs, and tokens of a body with the marker (DECISIONS.md#hidden-values).
 * Returns the variables that belong there, in the order of the text.
 */
export function hideSecrets(
  body: unknown,
  marker: string,
  routeId = '',
): { readonly shown: unknown; readonly variables: readonly Variable[] } {
  const variables: Variable[] = []
  const names = new Map<string, string>()
  const hide = (value: string, { name, holds }: Variable) => {
    const known = names.get(`${name} ${value}`)
    const used = new Set(names.values())
    let free = name
    for (let n = 2; used.has(free); n += 1) free = `${name}_${n}`
    names.set(`${name} ${value}`, known ?? free)
    const escaped = JSON.stringify(value) === `"${value}"` ? '' : ', escaped as in JSON'
    variables.push({ name: known ?? free, holds: `${holds}${escaped}` })
    return marker
  }
  const walk = (value: unknown, name: string, parent: string): unknown => {
    if (typeof value === 'string') {
      const variable = variableOf(value, name, parent, routeId)
      return variable === undefined ? value : hide(value, variable)
    }
    if (Array.isArray(value)) return value.map((it) => walk(it, name, parent))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([member, it]) => [member, walk(it, member, name)]))
  }
  return { shown: walk(body, '', ''), variables }
}

function variableOf(value: string, name: string, parent: string, routeId: string): Variable | undefined {
  if (parent === 'credential' && name === 'value') return { name: 'CODE', holds: `the code ${redactCode(value)}` }
  if (name === 'secret_token') return { name: 'VOUCHERCTL_WEBHOOK_SECRET', holds: 'the secret of the webhook' }
  // Whoever knows the path of a webhook can post to it.
  if (name === 'url' && routeId.startsWith('webhook.')) return { name: 'WEBHOOK_URL', holds: 'the URL of the webhook' }
  const kind = kindOf(value)
  return kind === undefined ? undefined : { name: credentialVariables[kind], holds: `the ${credentialNames[kind]}` }
}
