import { render } from 'preact'
import { isSessionEnd } from './api.js'
import { startRouter } from './router.js'
import { openSession } from './session.js'
import { Shell } from './shell.js'
import { onChange } from './signal.js'
import { features, startClock } from './state.js'
import { followActivity } from './stream.js'

features.value = await openSession().catch(() => null)
if (features.value === null) isSessionEnd(401)

const show = () => render(<Shell />, document.getElementById('page') as HTMLElement)
onChange(show)
show()
// A new link in this tab changes only the fragment, for which the browser loads nothing.
addEventListener('hashchange', () => location.hash.startsWith('#ticket=') && location.reload())
startRouter()
startClock()
await followActivity()
