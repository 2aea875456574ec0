import { contract } from '../../../contract/index.js'
import { DAY_MS } from '../../../contract/values/duration.js'
import { probesOf } from '../../probe.js'

const probe = probesOf('versions', { needs: ['token'] })
const YEAR_MS = 365 * DAY_MS

/** Ms since the epoch of a header Deprecation, `@` and Unix seconds (RFC 9745). */
const deprecatedAt = (value: string) => Number(/^@(\d+)$/.exec(value)?.[1]) * 1000

export const versions = [
  probe(
    'announced-removal',
    'An endpoint whose response announces its removal with Sunset was deprecated 12 months before.',
    { reads: true },
    async (it) => {
      const { headers } = await it.call(contract.templates.list, {})
      if (headers.sunset === undefined) return
      const notice = Date.parse(headers.sunset) - deprecatedAt(headers.deprecation ?? '')
      it.holds(notice >= YEAR_MS, 'Deprecation 12 months before Sunset', `${headers.deprecation}, ${headers.sunset}`)
    },
  ),
]
