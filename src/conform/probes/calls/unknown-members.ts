import { contract } from '../../../contract/index.js'
import { credentialOf } from '../../fixtures.js'
import { probesOf } from '../../probe.js'
import type { Observed, ProbeContext } from '../../probe-context.js'
import { membersOrNone } from '../../wire.js'
import { unredeemed, verifyJson, verifyWith } from './shared.js'

const probe = probesOf('unknown-members', { needs: ['token', 'template'] })
const tokenRead = probe.with({ needs: ['token'], reads: true })
const plainRead = probe.with({ needs: ['token'], reads: true, plain: true })
const { list } = contract.templates
const code = 'VALIDATION_FAILED'

const verified = async (run: ProbeContext, changes: Readonly<Record<string, unknown>>) =>
  verifyWith(run, await verifyJson(run, changes))

/** Returns the member names of each entry in details.errors. */
function errorsOf(run: ProbeContext, response: Observed) {
  run.needsRefusal(response, 400)
  const { errors } = response.details
  return Array.isArray(errors) ? errors.map(membersOrNone) : []
}

export const unknownMembers = [
  probe(1, 'body', `An unknown member of a body is refused with 400 ${code}.`, async (run) =>
    run.refuses(await verified(run, { conform: true }), 400, code),
  ),
  probe(1, 'inside', 'An unknown member of an object inside a body is refused with 400.', async (run) => {
    const credential = { ...credentialOf(run, await unredeemed(run)), conform: true }
    run.refuses(await verified(run, { credential }), 400)
  }),
  tokenRead(1, 'query', `An unknown member of a query is refused with 400 ${code}.`, async (it) =>
    it.refuses(await it.call(list, { conform: 'true' }), 400, code),
  ),
  plainRead(1, 'repeated', 'A repeated member of a query is refused with 400.', async (run) => {
    const path = `${list.path}?page=1&page=1`
    run.refuses(await run.send({ method: 'GET', path, as: 'token', headers: {} }), 400)
  }),
  probe(1, 'pointers', 'The details name each unknown member by its JSON pointer.', async (run) => {
    const response = await verified(run, { conform: true, 'con/form': true })
    const pointers = errorsOf(run, response).map(({ pointer }) => pointer)
    const lacking = ['/conform', '/con~1form'].filter((pointer) => !pointers.includes(pointer))
    run.holds(lacking.length === 0, 'the pointers /conform and /con~1form in details.errors', response.text)
  }),
  probe(1, 'suggestion', 'The details suggest the known name that is close to an unknown one.', async (run) => {
    const response = await verified(run, { recipient_user_idd: 'conform' })
    const entry = errorsOf(run, response).find(({ pointer }) => pointer === '/recipient_user_idd')
    if (entry === undefined) return run.notApplicable('Needs details that name the member.')
    const isThere = typeof entry.suggestion === 'string' && entry.suggestion !== ''
    run.holds(isThere, 'a suggestion for /recipient_user_idd', response.text)
  }),
  probe(1, 'no-conversion', 'A number in place of a text is refused with 400.', async (run) =>
    run.refuses(await verified(run, { recipient_user_id: 1 }), 400),
  ),
]
