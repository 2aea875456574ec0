import { render } from 'preact'
import { isSessionEnd } from './api.js'
import { html } from './html.js'
import { startRouter } from './router.js'
import { openSession } from './session.js'
import { Shell } from './shell.js'
import { features, startClock } from './state.js'
import { followActivity } from './stream.js'

const opened = await openSession().catch(() => undefined)
if (opened?.ok) features.value = opened.features
else if (opened) isSessionEnd(401)
startRouter()
startClock()
render(html`<${Shell} />`, document.getElementById('page') as HTMLElement)
await followActivity()
