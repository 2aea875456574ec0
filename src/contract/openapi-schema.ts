import type { TSchema } from 'typebox'
import { application } from './apps.js'
import { bot, botDetail, botMetrics, deliveredVoucher } from './bots.js'
import { chat, message, transcriptMessage } from './chats.js'
import { type FailureCode, failures } from './errors.js'
import { fault, requestLogEntry, review } from './platform.js'
import { template, validity } from './templates.js'
import { createdToken, token } from './tokens.js'
import { update } from './updates.js'
import { credential, issuedVoucher, redemption, verification, voucher } from './vouchers.js'
import { delivery, deliveryMode, webhookInfo } from './webhook.js'

export type Json = string | number | boolean | null | readonly Json[] | { readonly [member: string]: Json }
export type JsonObject = { readonly [member: string]: Json }

/** Records that more than one place refers to, by the name that they get in the document. */
const records: Readonly<Record<string, TSchema>> = {
  Application: application,
  Token: token,
  CreatedToken: createdToken,
  Template: template,
  Validity: validity,
  Credential: credential,
  Voucher: voucher,
  IssuedVoucher: issuedVoucher,
  Verification: verification,
  Redemption: redemption,
  Bot: bot,
  BotDetail: botDetail,
  BotMetrics: botMetrics,
  DeliveredVoucher: deliveredVoucher,
  Chat: chat,
  Message: message,
  TranscriptMessage: transcriptMessage,
  Update: update,
  DeliveryMode: deliveryMode,
  WebhookInfo: webhookInfo,
  Delivery: delivery,
  Review: review,
  Fault: fault,
  RequestLogEntry: requestLogEntry,
}
const nameOf = new Map<unknown, string>(Object.entries(records).map(([name, schema]) => [schema, name]))

export const refTo = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` })

/** A schema of the contract as JSON Schema 2020-12: named records by reference, `x-expected` as the description. */
export function schemaOf(schema: unknown): Json {
  const name = nameOf.get(schema)
  return name === undefined ? inlineSchemaOf(schema) : refTo(name)
}

function inlineSchemaOf(schema: unknown): Json {
  if (Array.isArray(schema)) return schema.map(schemaOf)
  if (typeof schema !== 'object' || schema === null) return schema as Json
  const members = Object.entries(schema).map(([name, value]) => [name, schemaOf(value)] as const)
  const { 'x-expected': expected, ...rest } = Object.fromEntries(members)
  return expected === undefined ? rest : { description: expected, ...rest }
}

/** `components.schemas`: the records, the envelopes and the failure table. */
export function componentSchemas(): JsonObject {
  const requestId: JsonObject = { type: 'string', description: 'also in the header X-Request-Id' }
  return {
    ...Object.fromEntries(Object.entries(records).map(([name, schema]) => [name, inlineSchemaOf(schema)])),
    FailureCode: {
      type: 'string',
      enum: Object.keys(failures),
      description: Object.entries(failures)
        .map(([code, { status, message, advice }]) => `- \`${code}\` (${status}): ${message} ${advice}`)
        .join('\n'),
    },
    Failure: {
      type: 'object',
      required: ['success', 'code', 'message', 'retryable', 'requestId'],
      properties: {
        success: { const: false },
        code: refTo('FailureCode'),
        message: { type: 'string' },
        retryable: { type: 'boolean', description: 'whether the very same call, sent again, may succeed' },
        details: { type: 'object', description: 'what the code is about; VALIDATION_FAILED lists `errors`' },
        requestId,
      },
    },
    RequestId: requestId,
  }
}

/** The body of a success. */
export function successEnvelope(data: Json): JsonObject {
  return {
    type: 'object',
    required: ['success', 'data', 'requestId'],
    properties: { success: { const: true }, data, requestId: refTo('RequestId') },
  }
}

/** The body of a failure with one of these codes. */
export function failureEnvelope(codes: readonly FailureCode[]): JsonObject {
  return { allOf: [refTo('Failure'), { type: 'object', properties: { code: { enum: codes } } }] }
}

/** `components.examples`: what a failure looks like, by code. */
export function componentExamples(): JsonObject {
  const requestId = 'req_01JZ0000000000000000000000'
  return Object.fromEntries(
    Object.entries(failures).map(([code, { message, retryable }]) => [
      code,
      { value: { success: false, code, message, retryable, requestId } },
    ]),
  )
}

/** The examples of a response, by reference: each stands once in the document. */
export function failureExamples(codes: readonly FailureCode[]): JsonObject {
  return Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }]))
}
