const rawBytes =
  'Verify the bytes as they came, before any parser: express.raw({ type: "*/*" }) in Express, a content type parser ' +
  'with parseAs "buffer" in Fastify, Buffer.concat over the chunks in node:http, request.arrayBuffer() with Fetch.'
const wholeFile = 'Write and read the body in binary mode, with a tool that changes nothing in it.'
const secretAsGiven =
  'Use the bytes of secret_token as they were given to the platform: nothing trimmed, added, decoded or encoded.'
const signedText = 'Sign and verify the timestamp of the header as it is written, a dot, then the raw body.'
const clocks = 'Compare both clocks (NTP). To check an old recording, set now to its time or raise the tolerance.'
const hexDigits =
  'Write the signature as 64 lower-case hex digits and nothing else; two are joined by a comma without a space.'

/** Every cause of a refused delivery: the refusals of verifyWebhook, and mistakes that change a signature. */
export const mismatchCauses = {
  missing_header: {
    explanation: 'One of the three headers did not arrive.',
    fix: 'Let proxies and gateways pass every X-Platform header, and check that the request comes from the platform.',
  },
  repeated_header: {
    explanation: 'A header arrived with several values, and nothing says which one was meant.',
    fix: 'Find the proxy that adds the header again. Two signatures belong into one header, with a comma and no space.',
  },
  malformed_timestamp: {
    explanation: 'The timestamp is not a plain number of seconds.',
    fix: 'Send Unix seconds: digits only, without sign, point, space or date.',
  },
  stale: { explanation: 'The timestamp is too old.', fix: clocks },
  future: { explanation: 'The timestamp lies ahead of this clock.', fix: clocks },
  malformed_signature: { explanation: 'The signature has no form that the platform writes.', fix: hexDigits },
  body_not_json: {
    explanation: 'The signature is right, but the body is not JSON in UTF-8.',
    fix: 'Send an update of the platform: a JSON object with an update_id.',
  },
  body_without_update_id: {
    explanation: 'The signature is right, but the body is no object with a whole update_id.',
    fix: 'Send an update of the platform: a JSON object with an update_id.',
  },
  update_id_mismatch: {
    explanation: 'The signature is right, but X-Platform-Update-Id names another update than the body.',
    fix: 'Take headers and body of one delivery. The header is not signed, so somebody may also have changed it on the way.',
  },
  planted_fault: { explanation: 'An operator planted it.', fix: 'Nothing is wrong: the server sends it again.' },
  timestamp_milliseconds: {
    explanation: 'One side wrote the timestamp in milliseconds, the other in seconds.',
    fix: 'Use Unix seconds, in the header and in what is signed: Math.floor(Date.now() / 1000).',
  },
  missing_dot: {
    explanation: 'The signature covers timestamp and body without the dot between them.',
    fix: signedText,
  },
  body_only: { explanation: 'The signature covers the body without the timestamp.', fix: signedText },
  signature_upper_case: { explanation: 'The signature is right, but written in upper-case hex.', fix: hexDigits },
  signature_base64: { explanation: 'The signature is right, but written in base64.', fix: hexDigits },
  signature_prefixed: {
    explanation: 'The signature is right, but written behind a prefix such as "sha256=".',
    fix: hexDigits,
  },
  old_secret: {
    explanation: 'The first secret did not sign this.',
    fix: 'Keep the old secret among those that verify until the last delivery that it signed has been repeated.',
  },
  empty_secret: {
    explanation:
      'The signature was made with an empty key: the variable of the secret was not set where it was signed.',
    fix: 'Set the secret where it is signed, and refuse to sign without one.',
  },
  secret_trailing_newline: {
    explanation:
      'The secret here has white space around it that the signing one has not: often the line end of a file.',
    fix: `Drop the line end of the file. ${secretAsGiven}`,
  },
  secret_trimmed: {
    explanation: 'The signing secret ended with a line break that the secret here has not.',
    fix: `Drop the line end of the file where it is signed. ${secretAsGiven}`,
  },
  secret_quoted: {
    explanation: 'The secret here is in quotes that are no part of it.',
    fix: `Drop the quotes: some env files keep them as part of the value. ${secretAsGiven}`,
  },
  secret_prefix: {
    explanation: 'One side dropped the prefix "whsec_" of the secret.',
    fix: `The prefix is part of the key. ${secretAsGiven}`,
  },
  secret_base64_decoded: {
    explanation: 'One side used the secret as it is written, the other decoded it from base64.',
    fix: secretAsGiven,
  },
  secret_hex_decoded: {
    explanation: 'One side used the secret as it is written, the other decoded it from hex.',
    fix: secretAsGiven,
  },
  body_trailing_newline_added: {
    explanation: 'The body here ends with a line break that was not signed: editors and echo add one.',
    fix: wholeFile,
  },
  body_trailing_newline_removed: {
    explanation: 'The signed body ended with a line break that is missing here: a shell or trim() drops it.',
    fix: wholeFile,
  },
  body_line_endings: {
    explanation: 'The line breaks of the body were changed between LF and CRLF.',
    fix: `${wholeFile} With curl, that is --data-binary; with git, an attribute -text.`,
  },
  body_bom_added: { explanation: 'The body here starts with a byte order mark that was not signed.', fix: wholeFile },
  body_bom_removed: {
    explanation: 'The signed body started with a byte order mark that is missing here: decoding to text drops it.',
    fix: rawBytes,
  },
  body_reserialised: {
    explanation: 'The body was parsed and written again: the same JSON, but other bytes than those that were signed.',
    fix: rawBytes,
  },
  body_stringified_twice: {
    explanation: 'The body here is the signed one wrapped in JSON once more.',
    fix: rawBytes,
  },
  body_base64: {
    explanation: 'The body here is the signed one in base64, as some gateways hand it over (isBase64Encoded).',
    fix: 'Decode it first: Buffer.from(event.body, "base64").',
  },
  body_latin1: {
    explanation: 'The body was decoded or encoded as Latin-1 (or Windows-1252) instead of UTF-8.',
    fix: rawBytes,
  },
  body_invalid_utf8_replaced: {
    explanation:
      'The body here holds U+FFFD, which decoders write for bytes that they cannot read: the bytes that were signed are probably lost.',
    fix: rawBytes,
  },
  body_object_text: {
    explanation: 'The body here is the text "[object Object]": a parsed object was made a string.',
    fix: rawBytes,
  },
  body_too_long: {
    explanation: 'The body here is longer than 64 KiB, so only mistakes in the signature were tried.',
    fix: 'Check the sender and the secret. Only a shorter body is examined, because anybody can send a long one.',
  },
  body_empty: {
    explanation: 'The body here is empty and the signed one was not: something read the stream before.',
    fix: rawBytes,
  },
} satisfies Record<string, { explanation: string; fix: string }>

export type MismatchCause = keyof typeof mismatchCauses
