import type { Reference, ReferenceEndpoint } from '../../../contract/platform/reference.js'
import { escapeHtml as text } from '../../output/text.js'

/** Writes the reference as one HTML file that needs no network; its script only finds endpoints. */
export function referenceHtml({ groups, failures }: Reference, version: string): string {
  const statusOf = new Map(failures.map(({ code, status }) => [code, status]))
  const links = groups.map(
    ({ name, endpoints }) =>
      `<h2><a href="#${name}">${name}</a></h2>\n<ul>${endpoints.map(({ id }) => `<li><a href="#${id}">${id.slice(name.length + 1)}</a></li>`).join('\n')}</ul>`,
  )
  const sections = groups.map(
    ({ name, description, endpoints }) =>
      `<section id="${name}">\n<h2>${name}</h2>\n<p>${text(description)}.</p>\n${endpoints.map((it) => articleOf(it, statusOf)).join('\n')}\n</section>`,
  )
  const rows = failures.map(
    ({ code, status, message, fix }) =>
      `<tr id="${code}"><td><code>${code}</code></td><td>${status}</td><td>${text(message)} ${text(fix)}</td></tr>`,
  )
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Voucher service: reference</title>
<style>${style}</style>
<nav aria-label="Endpoints">
<label hidden>Find <input type="search" id="find"></label>
${links.join('\n')}
<h2><a href="#failures">failures</a></h2>
</nav>
<main>
<h1>Voucher service</h1>
<p>The interface of voucherctl ${text(version)}: each endpoint with its credential, members, failures and examples. The examples take server and credentials from the variables of <code>voucherctl server env</code>.</p>
${sections.join('\n')}
<section id="failures">
<h2>failures</h2>
${table(['Code', 'Status', 'Meaning and fix'], rows)}
</section>
</main>
<script>${script}</script>
</html>
`
}

function articleOf(endpoint: ReferenceEndpoint, statusOf: ReadonlyMap<string, number>): string {
  const { id, method, path, summary, caller, scope, idempotency_key, members, failures, status, example } = endpoint
  const scopeText = scope === null ? '' : ` · scope <code>${scope}</code>`
  const keyText = idempotency_key === null ? '' : ` · Idempotency-Key ${idempotency_key}`
  const rows = members.map(
    ({ in: place, name, type, required, description }) =>
      `<tr><td><small>${place}</small> <code>${text(name)}</code>${required ? ' <small>required</small>' : ''}</td><td><code>${text(type)}</code></td><td>${text(description)}</td></tr>`,
  )
  // A long line scrolls, for which the keyboard needs a focus.
  const pre = (label: string, content: string) =>
    `<pre tabindex="0" role="region" aria-label="${label} of ${id}">${text(content)}</pre>`
  const codes = failures.map((it) => `<a href="#${it}">${statusOf.get(it)} ${it}</a>`)
  return `<article id="${id}">
<h3><a href="#${id}">${id}</a></h3>
<p>${text(summary)}.</p>
<p><b>${method}</b> <code>${text(path)}</code></p>
<p class="facts">credential <code>${caller}</code>${scopeText}${keyText}</p>
${rows.length === 0 ? '' : table(['Member', 'Type', 'Rule'], rows)}
${pre('curl', example.curl)}
${pre('client', example.client)}
<details><summary>Response ${status}</summary>${pre('Response', example.response)}</details>
<details><summary>${failures.length} failures: ${failures.slice(0, 3).join(', ')} …</summary><p class="codes">${codes.join(' ')}</p></details>
</article>`
}

const table = (heads: readonly string[], rows: readonly string[]) =>
  `<table><thead><tr>${heads.map((it) => `<th scope="col">${it}</th>`).join('')}</tr></thead><tbody>\n${rows.join('\n')}\n</tbody></table>`

const script = `
const field = document.getElementById('find')
field.parentElement.hidden = false
field.addEventListener('input', () => {
  const words = field.value.toLowerCase().split(/\\s+/)
  for (const it of document.querySelectorAll('article')) it.hidden = !words.every((word) => it.textContent.toLowerCase().includes(word))
  for (const it of document.querySelectorAll('nav li')) it.hidden = document.getElementById(it.firstChild.hash.slice(1)).hidden
})
`

const style = `
:root { color-scheme: light dark; --ground: light-dark(#f6f5f2, #131518); --sheet: light-dark(#fff, #1b1e23); --ink: light-dark(#1d2127, #e6e8ec); --quiet: light-dark(#5b6370, #a0a8b5); --line: light-dark(#dfddd7, #2e333b); --link: light-dark(#1f5bb5, #8bb8ff); --mark: light-dark(#9a4a06, #f0a24b); font: 15px/1.55 system-ui, sans-serif; background: var(--ground); color: var(--ink) }
* { box-sizing: border-box }
[hidden] { display: none !important }
body { margin: 0; display: grid; grid-template-columns: 15rem minmax(0, 1fr); border-top: 6px solid #d97706 }
nav { position: sticky; top: 0; height: 100vh; overflow: auto; padding: 1rem 1.25rem; border-right: 1px solid var(--line); background: var(--sheet) }
nav h2 { font-size: .95rem; margin: 1rem 0 .2rem }
nav ul { list-style: none; margin: 0; padding: 0 0 0 .75rem }
label, .facts, small, th { color: var(--quiet); font-size: .9rem }
input { font: inherit; color: inherit; width: 100%; padding: .35rem .5rem; background: var(--ground); border: 1px solid light-dark(#8b8f97, #6b7380); border-radius: 6px }
main { padding: 1.5rem 2rem 4rem; max-width: 62rem }
a { color: var(--link) }
nav a, h3 a { text-decoration: none }
nav a { color: var(--ink); display: block; padding: .1rem 0 }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px }
section > h2 { margin-top: 2.5rem; padding-top: .5rem; border-top: 2px solid var(--line) }
article { margin: 1rem 0; padding: 1rem 1.25rem; background: var(--sheet); border: 1px solid var(--line); border-radius: 8px; scroll-margin-top: 1rem }
article:target, tr:target { outline: 2px solid var(--mark) }
article h3, article p { margin: 0 0 .4rem }
b { color: var(--mark) }
code, pre { font: .88em/1.55 ui-monospace, "SF Mono", Menlo, Consolas, monospace; overflow-wrap: anywhere }
pre { margin: .6rem 0 0; padding: .6rem .8rem; background: var(--ground); border: 1px solid var(--line); border-radius: 6px; overflow: auto; max-height: 26rem }
table { border-collapse: collapse; width: 100%; font-size: .93em }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem .3rem 0; border-bottom: 1px solid var(--line) }
summary { cursor: pointer; margin-top: .5rem }
.codes { display: flex; flex-wrap: wrap; gap: .15rem 1rem; font-size: .88em; padding-top: .3rem }
@media (max-width: 800px) {
  body { display: block }
  nav { position: static; height: auto; max-height: 45vh; border-bottom: 1px solid var(--line) }
  main, article { padding: 1rem }
  thead { display: none }
  tr, td { display: block; border: 0; padding: .1rem 0 }
  tr { padding: .4rem 0; border-bottom: 1px solid var(--line) }
}
`
