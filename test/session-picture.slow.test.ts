import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { built } from './support/cli/built-cli.js'
import { cliServer } from './support/cli/server.js'

/** Draws src/guides/session.svg, the terminal session of the front page, from a run of the built command. */

const redeemCode = '7CXW-YNFN-1KC8-RBQ3'

/** Replaces what differs between runs with what the picture shows. */
const examples: readonly (readonly [RegExp, string])[] = [
  [/ends in \w{4}/g, `ends in ${redeemCode.slice(-4)}`],
  [/\b(rdm|vch|req)_[0-9A-Z]{26}\b/g, '$1_01M82C8Y7XX287QNBKXJTB8G81'],
  [/(?<!\d)\d{4}-\d\d-\d\d([T ])\d\d:\d\d:\d\d(\.\d+)?Z/g, '2026-11-24$119:38:31$2Z'],
  [/(?<=:31)\.\d+(?=Z)/g, '.250'],
  [/ +\d+ ms/g, '    3 ms'],
  [/(?<=127\.0\.0\.1):\d+/g, ':8787'],
  [/#\d{13}/g, '#1795376315435'],
]

/** Runs the commands of the picture; returns each with its coloured output. */
async function runSession(): Promise<string> {
  const home = mkdtempSync(join(tmpdir(), 'voucherctl-picture-'))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  const server = await cliServer()
  onTestFinished(() => server.close())
  const { credential } = await server.issue()
  const env = { ...server.env, VOUCHERCTL_WEBHOOK_SECRET: 'a-secret-of-your-own', FORCE_COLOR: '1' }
  const run = async (line: string) => {
    const { stdout, stderr } = await built.run(line.replace(redeemCode, credential.value).split(' '), home, env)
    return `$ voucherctl ${line}\n${stdout}${stderr}`
  }
  const redeem = `vouchers redeem ${redeemCode} --reference`
  const redeemed = [await run(`${redeem} till-4`), await run(`${redeem} till-5`)]

  const listen = 'webhook listen --port 8787 --expect message=1'
  const listener = built.start(listen.replace('8787', '0').split(' '), home, env)
  onTestFinished(() => void listener.kill('SIGKILL'))
  const ended = once(listener, 'close')
  let printed = ''
  listener.stdout.on('data', (chunk) => (printed += chunk))
  listener.stderr.on('data', (chunk) => (printed += chunk))
  const [url] = await vi.waitUntil(() => /http:\/\/127\.0\.0\.1:\d+(?=\.)/.exec(printed), { timeout: 120_000 })
  await run(`webhook trigger ping --fault bad-signature --url ${url}/`)
  await run(`webhook trigger message --url ${url}/`)
  await ended
  const text = [...redeemed, `$ voucherctl ${listen}\n${printed}`].join('\n').replaceAll(home, '/home/ana')
  return examples.reduce((shown, [found, example]) => shown.replace(found, example), text)
}

/** Sizes in pixels; a longer line continues on the next one, as in a terminal. */
const [charWidth, lineHeight, margin, columns] = [7.8, 19, 16, 101]

/** Attributes of colour codes. The picture has its own background, so that it suits light and dark pages. */
const styles: Readonly<Record<string, string>> = {
  '1': 'font-weight="bold"',
  '2': 'fill="#9198a1"',
  '31': 'fill="#ff7b72"',
  '32': 'fill="#3fb950"',
  '33': 'fill="#d29922"',
  '36': 'fill="#56d4dd"',
}
const endedStyles: Readonly<Record<string, readonly string[]>> = { '22': ['1', '2'], '39': ['31', '32', '33', '36'] }

const escapeText = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

function draw(session: string): string {
  const active = new Set<string>()
  const drawn: string[] = []
  let [row, column] = [0, 0]
  for (const [token, code] of session.trimEnd().matchAll(/\u001b\[(\d+)m|\n|[^\u001b\n]+/g)) {
    if (code !== undefined) {
      for (const style of endedStyles[code] ?? []) active.delete(style)
      if (code in styles) active.add(code)
    } else if (token === '\n') {
      ;[row, column] = [row + 1, 0]
    } else {
      for (let rest = token; rest !== ''; ) {
        if (column === columns) [row, column] = [row + 1, 0]
        const part = rest.slice(0, columns - column)
        rest = rest.slice(part.length)
        const text = part.trimStart()
        const place = {
          x: margin + (column + part.length - text.length) * charWidth,
          y: margin + (row + 0.75) * lineHeight,
          textLength: text.trimEnd().length * charWidth,
        }
        const attributes = Object.entries(place).map(([name, pixels]) => `${name}="${Number(pixels.toFixed(1))}"`)
        const style = [...active].map((it) => ` ${styles[it]}`).join('')
        drawn.push(`<text ${attributes.join(' ')}${style}>${escapeText(text.trimEnd())}</text>`)
        column += part.length
      }
    }
  }
  const [width, height] = [Math.ceil(2 * margin + columns * charWidth), 2 * margin + (row + 1) * lineHeight]
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"
  font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="13" fill="#e6edf3" xml:space="preserve">
<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8" fill="#0d1117" stroke="#6e7681"/>
${drawn.filter((it) => !it.endsWith('></text>')).join('\n')}
</svg>
`
}

// After a change of the output, -u draws the picture.
test('src/guides/session.svg shows the output of the commands', async () => {
  await expect(draw(await runSession())).toMatchFileSnapshot('../src/guides/session.svg')
})
