// Uses each library after deleting the globals that the arguments name, or with `--realm` like Jest: in a context that has
// other classes and no global of Node but `process`
const { readFileSync } = require('node:fs')
const { createRequire } = require('node:module')
const { join } = require('node:path')
const vm = require('node:vm')

const names = process.argv.slice(2)
for (const name of names) delete globalThis[name]

const context = vm.createContext({ process })
const modules = new Map()
function loadInContext(path) {
  if (modules.has(path)) return modules.get(path).exports
  const module = { exports: {} }
  modules.set(path, module)
  const { resolve, ...outer } = createRequire(path)
  const inner = (id) => (/^\./.test(id) ? loadInContext(resolve(id)) : createRequire(path)(id))
  const wrapper = `(function (exports, require, module, __filename, __dirname) {${readFileSync(path, 'utf8')}\n})`
  const run = vm.runInContext(wrapper, context, { filename: path })
  run(module.exports, Object.assign(inner, outer, { resolve }), module, path, join(path, '..'))
  return module.exports
}
const load = (library) => {
  const path = join(__dirname, '../../dist', library, 'index.cjs')
  return names.includes('--realm') ? loadInContext(path) : require(path)
}
const { explainMismatch, signWebhook, verifyWebhook } = load('webhook')
const { createClient, createHttpTransport, createPoolTransport, withRetry } = load('client')
const { createSecureSession } = load('secure')
const { startServer } = load('testing')

async function main() {
  const rawBody = '{"update_id":7,"type":"ping","ping":{"name":"\u00e9"}}'
  const signed = { rawBody, secrets: ['s'], timestamp: Math.floor(Date.now() / 1000), updateId: 7 }
  const delivery = { headers: signWebhook(signed), rawBody, secrets: ['s'] }
  if (!verifyWebhook(delivery).ok) throw new Error('verifyWebhook')
  const { cause } = explainMismatch({ ...delivery, rawBody: `${rawBody}\n` }) ?? {}
  if (cause !== 'body_trailing_newline_added') throw new Error(cause)

  const server = await startServer()
  const { baseUrl, token } = server
  const pool = await createPoolTransport(baseUrl)
  const transports = { http: createHttpTransport(baseUrl), pool: withRetry(pool.send), inside: server.transport }
  for (const [name, transport] of Object.entries(transports)) {
    for (const mode of ['off', 'required']) {
      const { vouchers } = createClient({ baseUrl, token, transport, secure: { mode } })
      const order = { template_id: 'tpl_coffee', external_issue_id: `${name}-${mode}`, recipient_user_id: 'user-1' }
      const issued = await vouchers.issue(order, { timeoutMs: 20_000 })
      if (!issued.ok) throw new Error(`${name} ${mode} ${issued.code} ${issued.message}`)
      await server.receive('voucher_issued')
    }
  }
  const session = createSecureSession({ mode: 'required', send: server.transport })
  const headers = { authorization: `Bearer ${token}` }
  const outcome = await session.send({ method: 'GET', path: '/api/v1/vouchers/templates', headers })
  if (!outcome.ok) throw new Error(`secure ${outcome.code}`)
  for await (const line of (await server.operator.activity()).data) if (!line) throw new Error('activity')
  await server.requests.wait({ endpoint: 'vouchers.issue' })
  server.faults.add({ endpoint: 'vouchers.issue', kind: 'delay', delay_ms: 1 })
  await server.client.vouchers.issue({ template_id: 'tpl_coffee', external_issue_id: 'z', recipient_user_id: 'u' })
  await server.restore(await server.snapshot())
  await server.reset()
  const applications = await server.client.apps.list()
  if (!applications.ok) throw new Error(applications.code)
  await pool.close()
  await server.close()
}

void main()
