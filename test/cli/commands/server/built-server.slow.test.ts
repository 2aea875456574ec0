import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { createInterface } from 'node:readline'
import { json } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { built } from '../../../support/cli/built-cli.js'
import { temporaryDir } from '../../../support/cli/cli.js'

// A bundler may drop a call whose only effect is that it throws, so this rule is tested on the bundle.
test('built server responds 404 to POST targets with malformed escapes and keeps running', async () => {
  const child = built.start(['server', 'start', '--memory', '--port', '0', '--json'], temporaryDir())
  const [line] = await once(createInterface({ input: child.stdout as NodeJS.ReadableStream }), 'line')
  const { port } = new URL(JSON.parse(line).base_url)
  try {
    for (const path of ['/%zz', '/%', '/%E0%A4%A', '/_platform/v1/%zz', '/api/v1/open-platform/secure/%']) {
      const sent = request({ host: '127.0.0.1', port, method: 'POST', path }).end()
      const [response] = (await once(sent, 'response')) as [IncomingMessage]
      expect([path, response.statusCode, await json(response)]).toEqual([
        path,
        404,
        expect.objectContaining({ code: 'ROUTE_NOT_FOUND' }),
      ])
    }
    expect(child.exitCode).toBe(null)
  } finally {
    child.kill('SIGTERM')
    await once(child, 'close')
  }
})
