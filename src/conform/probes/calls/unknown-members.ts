import { contract } from '../../../contract/index.js'
import { credentialOf } from '../../fixtures.js'
import { probesOf } from '../../probe.js'
import type { Observed, ProbeContext } from '../../probe-context.js'
import { membersOrNone } from '../../wire.js'
import { needsStatus, unredeemed, verifyJson, verifyWith } from './shared.js'

const probe = probesOf('unknown-members', { needs: ['token', 'template'] })
const { list } = contract.templates
const code = 'VALIDATION_FAILED'

/** A verify call with more members. */
const verified = async (it: ProbeContext, changes: Readonly<Record<string, unknown>>) =>
  verifyWith(it, await verifyJson(it, changes))

/** The members of each entry of details.errors. */
function errorsOf(it: ProbeContext, response: Observed) {
  needsStatus(it, response, 400)
  const { errors } = response.details
  return Array.isArray(errors) ? errors.map(membersOrNone) : []
}

export const unknownMembers = [
  probe('body', `An unknown member of a body is refused with 400 ${code}.`, async (it) =>
    it.refuses(await verified(it, { conform: true }), 400, code),
  ),
  probe('inside', 'An unknown member of an object inside a body is refused with 400.', async (it) => {
    const credential = { ...credentialOf(it, await unredeemed(it)), conform: true }
    it.refuses(await verified(it, { credential }), 400)
  }),
  probe(
    'query',
    `An unknown member of a query is refused with 400 ${code}.`,
    { needs: ['token'], reads: true },
    async (it) => it.refuses(await it.call(list, { conform: 'true' }), 400, code),
  ),
  probe(
    'repeated',
    'A repeated member of a query is refused with 400.',
    { needs: ['token'], reads: true, plain: true },
    async (it) => {
      const path = `${list.path}?page=1&page=1`
      it.refuses(await it.send({ method: 'GET', path, as: 'token', headers: {} }), 400)
    },
  ),
  probe('pointers', 'The details name each unknown member by its JSON pointer.', async (it) => {
    const response = await verified(it, { conform: true, 'con/form': true })
    const pointers = errorsOf(it, response).map(({ pointer }) => pointer)
    const lacking = ['/conform', '/con~1form'].filter((pointer) => !pointers.includes(pointer))
    it.holds(lacking.length === 0, 'the pointers /conform and /con~1form in details.errors', response.text)
  }),
  probe('suggestion', 'The details suggest the known name that is close to an unknown one.', async (it) => {
    const response = await verified(it, { recipient_user_idd: 'conform' })
    const entry = errorsOf(it, response).find(({ pointer }) => pointer === '/recipient_user_idd')
    if (entry === undefined) return it.notApplicable('Needs details that name the member.')
    const isThere = typeof entry.suggestion === 'string' && entry.suggestion !== ''
    it.holds(isThere, 'a suggestion for /recipient_user_idd', response.text)
  }),
  probe('no-conversion', 'A number in place of a text is refused with 400.', async (it) =>
    it.refuses(await verified(it, { recipient_user_id: 1 }), 400),
  ),
]
