import { contract } from '../../../contract/index.js'
import { parseJson } from '../../../values/json.js'
import { probesOf } from '../../probe.js'
import type { ProbeContext } from '../../probe-context.js'
import { membersOrNone } from '../../wire.js'

const probe = probesOf('account-tokens', { needs: ['jwt'] })
const { list } = contract.apps

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const decode = (part: string) => membersOrNone(parseJson(Buffer.from(part, 'base64url').toString('utf8')))

/** The parts of the account JWT, which the platform accepts. */
async function parts(it: ProbeContext) {
  it.needs(await it.call(list, {}), 'an account JWT that works')
  const [head = '', payload = '', signature = ''] = it.resources.credential('jwt').split('.')
  const claims = decode(payload)
  if (claims.sub === undefined) it.notApplicable('Needs an account JWT whose claims can be read.')
  return { head, payload, signature, claims }
}

const forged = [
  ['algorithm-none', 'A JWT without a signature and with the algorithm none is 401.'],
  ['changed-expiry', 'A JWT whose exp was changed after it was signed is 401.'],
] as const

export const accountTokens = [
  ...forged.map(([name, title]) =>
    probe(name, title, { reads: true }, async (it) => {
      const { head, payload, signature, claims } = await parts(it)
      const credentials = {
        'algorithm-none': `${encode({ alg: 'none', typ: 'JWT' })}.${payload}.`,
        'changed-expiry': `${head}.${encode({ ...claims, exp: Number(claims.exp) + 1 })}.${signature}`,
      }
      it.refuses(await it.call(list, {}, { as: { credential: credentials[name] } }), 401)
    }),
  ),
  probe(
    'claims',
    'A JWT that is accepted has sub, the audience voucher-console and exp.',
    { reads: true },
    async (it) => {
      const { sub, aud, exp } = (await parts(it)).claims
      it.holds(typeof sub === 'string' && /^[!-~]{1,128}$/.test(sub), 'sub of 1 to 128 visible characters', sub)
      it.holds([aud].flat().includes('voucher-console'), 'aud voucher-console', aud)
      it.holds(typeof exp === 'number', 'a number in exp', exp)
    },
  ),
]
