// The reference of P5, the maximum of Fastify for a call like verify: the same Fastify options, the same body schema
// compiled by the same validator, and a response of the same schema and size written by fast-json-stringify, without a
// check of a credential, a store, a log and metrics.
import fastify from 'fastify'
import * as Type from 'typebox'
import { Compile } from 'typebox/compile'
import { dataExample } from '../../../src/contract/openapi/examples.js'
import { vouchers } from '../../../src/contract/vouchers.js'
import { underTest } from './under-test.js'

const app = fastify({
  logger: false,
  requestIdHeader: false,
  bodyLimit: 65_536,
  requestTimeout: 15_000,
  keepAliveTimeout: 65_000,
  http: { headersTimeout: 10_000, connectionsCheckingInterval: 2_000 },
})
app.setValidatorCompiler(({ schema }) => {
  const validator = Compile(schema)
  return (value) => validator.Check(value)
})

const data = dataExample(vouchers.verify)

app.post(
  vouchers.verify.path,
  {
    schema: {
      body: vouchers.verify.body,
      response: {
        200: Type.Object({ success: Type.Boolean(), data: vouchers.verify.output, requestId: Type.String() }),
      },
    },
  },
  async (request) => ({ success: true, data, requestId: request.id }),
)

const baseUrl = await app.listen({ host: '127.0.0.1', port: 0 })
underTest({ baseUrl }, () => app.close())
