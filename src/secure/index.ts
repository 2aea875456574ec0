export { decodeBase64url, encodeBase64url } from './base64url.js'
export type { SetTimer } from './client/deadline.js'
export { encodeInnerRequest } from './client/inner-request.js'
export { agreeAsClient, type ClientKeyPair, clientKeyPairOf, makeClientKeyPair, nobleHkdf } from './client/key.js'
export {
  type Bootstrap,
  bootstrapRequest,
  type ClientSession,
  type DisabledBootstrap,
  readBootstrap,
  readSession,
  sessionRequest,
} from './client/negotiation.js'
export type { Latch, SecureMode, SecureSessionOptions } from './client/options.js'
export { isPin } from './client/pins.js'
export { createSecureSession, type SecureSession, type SecureSuccess } from './client/session.js'
export { openAnswer, type SealedRequest, sealRequest } from './dispatch.js'
export {
  additionalData,
  type Envelope,
  type EnvelopeHead,
  open,
  type ParsedEnvelope,
  parseEnvelope,
  type SealedMessage,
  seal,
} from './envelope.js'
export type { ClientCode, Phase, SecureFailure, SecureFailureCode } from './failure.js'
export type { HttpRequest, HttpResponse, Send } from './http.js'
export {
  type InnerMethod,
  type InnerPart,
  type InnerRefusal,
  type InnerRequest,
  isLogicalPath,
  readInnerRequest,
} from './inner-request.js'
export { encodeInnerResponse, isBusinessSuccess, readInnerResponse } from './inner-response.js'
export { deriveKeys, type Hkdf, hkdfInfo, type SessionContext, type SessionKeys } from './key-schedule.js'
export { isCanonicalOrigin, isOriginAllowed } from './origin.js'
export { decodePublicKey, kidOf, pinOf } from './public-key.js'
export {
  checkDispatchHead,
  type DispatchContext,
  type DispatchOpening,
  type DispatchReading,
  openDispatch,
  readDispatch,
  sealAnswer,
} from './server/dispatch.js'
export { loadServerKey, makeServerPrivateKey, nodeHkdf, type ServerKey } from './server/key.js'
export {
  type BootstrapAnswer,
  createServerSession,
  describeServer,
  type ServerSession,
  type SessionAnswer,
  type SessionCreation,
  type SessionRequest,
  type SessionSettings,
} from './server/session.js'
export {
  CLIENT_TIMEOUT_MS,
  CLOCK_SKEW_MS,
  type Direction,
  MAX_ENVELOPE_BYTES,
  MEDIA_TYPE,
  PROTOCOL_VERSION,
  paths,
  type RandomBytes,
  RENEW_BEFORE_MS,
  SESSION_LIFETIME_MS,
  type SecureCode,
  type SecureRefusal,
  SUITE,
  secureCodes,
} from './suite.js'
