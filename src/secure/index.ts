export { decodeBase64url, encodeBase64url } from '../values/base64url.js'
export type { SetTimer } from './client/deadline.js'
export type { ClientKeyPair } from './client/key.js'
export { agreeAsClient, clientKeyPairOf, makeClientKeyPair, nobleHkdf } from './client/key.js'
export type { Bootstrap, ClientSession, DisabledBootstrap } from './client/negotiation.js'
export { bootstrapRequest, readBootstrap, readSession, sessionRequest } from './client/negotiation.js'
export type { DowngradeProtection, SecureMode, SecureSessionOptions } from './client/options.js'
export { isPin } from './client/options.js'
export type { SecureSession, SecureSuccess } from './client/session.js'
export { createSecureSession } from './client/session.js'
export type { SealedRequest } from './dispatch.js'
export { openResponse, sealRequest } from './dispatch.js'
export type { Envelope, EnvelopeHead, ParsedEnvelope, SealedMessage } from './envelope.js'
export { additionalData, open, parseEnvelope, seal } from './envelope.js'
export type { ClientCode, Phase, SecureFailure, SecureFailureCode } from './failure.js'
export type { HttpRequest, HttpResponse, Send } from './http.js'
export type { InnerMethod, InnerPart, InnerRefusal, InnerRequest } from './inner-request.js'
export { encodeInnerRequest, isLogicalPath, readInnerRequest } from './inner-request.js'
export { encodeInnerResponse, isBusinessSuccess, readInnerResponse } from './inner-response.js'
export type { Hkdf, SessionContext, SessionKeys } from './key-schedule.js'
export { deriveKeys, hkdfInfo } from './key-schedule.js'
export { isCanonicalOrigin, isOriginAllowed } from './origin.js'
export { decodePublicKey, kidOf, pinOf } from './public-key.js'
export type { DispatchContext, DispatchOpening, DispatchReading } from './server/dispatch.js'
export { checkDispatchHead, openDispatch, readDispatch, sealResponse } from './server/dispatch.js'
export type { ServerKey } from './server/key.js'
export { loadServerKey, makeServerPrivateKey, nodeHkdf } from './server/key.js'
export type {
  BootstrapResponse,
  ServerSession,
  SessionCreation,
  SessionRequest,
  SessionResponse,
  SessionSettings,
} from './server/session.js'
export { createServerSession, describeServer } from './server/session.js'
export type { Direction, RandomBytes, SecureCode, SecureRefusal } from './suite.js'
export {
  CLIENT_TIMEOUT_MS,
  CLOCK_SKEW_MS,
  MAX_ENVELOPE_BYTES,
  MEDIA_TYPE,
  PROTOCOL_VERSION,
  paths,
  RENEW_BEFORE_MS,
  SESSION_LIFETIME_MS,
  SUITE,
  secureCodes,
} from './suite.js'
