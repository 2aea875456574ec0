import { html } from 'htm/preact'
import { render } from 'preact'
import { openSession } from './session.js'

const root = document.getElementById('page') as HTMLElement

openSession()
  .then((opened) => {
    const text = opened.ok
      ? `Connected to the ${opened.features.source} at ${opened.features.base_url}, version ${opened.features.version}.`
      : `${opened.message} Run: voucherctl open`
    render(html`<p>${text}</p>`, root)
  })
  .catch(() => render(html`<p>The server does not respond.</p>`, root))
