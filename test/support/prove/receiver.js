// Receives deliveries: `node receiver.js PORT raw` verifies their bytes, `… parsed` verifies JSON that it has written anew.
import { createServer } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { verifyWebhook } from 'voucherctl/webhook'

const [, , port, way] = process.argv
const secrets = [process.env.VOUCHERCTL_WEBHOOK_SECRET]

createServer(async (request, response) => {
  const bytes = await buffer(request)
  const isDelivery = request.method === 'POST'
  const rawBody = isDelivery && way === 'parsed' ? Buffer.from(JSON.stringify(JSON.parse(bytes.toString()))) : bytes
  const isAccepted = !isDelivery || verifyWebhook({ headers: request.headers, rawBody, secrets }).ok
  response.writeHead(isAccepted ? 204 : 401).end()
}).listen(Number(port), '127.0.0.1')
