import { createdApplication } from '../../fixtures.js'
import type { Need } from '../../group.js'
import { probesOf } from '../../probe.js'
import type { ProbeContext } from '../../probe-context.js'
import { membersOrNone } from '../../wire.js'
import { anonymousRead, createdTemplate, createdToken, issued, redeemed } from './shared.js'

const probe = probesOf('ids')

/** Defines a probe that observes an id which the platform has just made. */
const idOf = (
  prefix: string,
  what: string,
  needs: readonly Need[],
  read: (it: ProbeContext) => Promise<unknown>,
  options: { readonly reads?: true } = {},
) => {
  const run = async (it: ProbeContext) => {
    const id = await read(it)
    if (typeof id !== 'string') it.notApplicable('Needs a record with an id.')
    const isUlid = new RegExp(`^${prefix}_[0-7][0-9A-HJKMNP-TV-Z]{25}$`).test(id)
    it.holds(isUlid, `${prefix}_ and a ULID`, id)
  }
  return probe(prefix, `The id of ${what} is ${prefix}_ and a ULID.`, { needs, ...options }, run)
}

export const ids = [
  idOf('req', 'a request', [], async (it) => membersOrNone((await anonymousRead(it)).json).requestId, { reads: true }),
  idOf('app', 'an application', ['jwt'], async (it) => (await createdApplication(it)).data.id),
  idOf('tpl', 'a template', ['token'], async (it) => (await createdTemplate(it)).data.id),
  idOf('vch', 'a voucher', ['token', 'template'], async (it) => (await issued(it)).data.id),
  idOf('rdm', 'a redemption', ['token', 'template'], async (it) => (await redeemed(it)).response.data.id),
  idOf('tok', 'a token', ['jwt'], async (it) => (await createdToken(it)).data.id),
]
