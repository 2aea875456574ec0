/** A response of `--respond`: an HTTP status, or `timeout` for no response. */
export type ScriptedResponse = number | 'timeout'

/** Returns a function that returns the responses one after the other; the last one repeats. */
export function scriptedResponses(
  responses: readonly [ScriptedResponse, ...ScriptedResponse[]],
): () => ScriptedResponse {
  let at = 0
  return () => responses[Math.min(at++, responses.length - 1)] as ScriptedResponse
}

/** Parses a list such as `200,500,timeout`; undefined if it is malformed. */
export function parseScript(text: string): readonly [ScriptedResponse, ...ScriptedResponse[]] | undefined {
  const responses = text.split(',').map((part): ScriptedResponse | undefined => {
    if (part.trim() === 'timeout') return 'timeout'
    return /^[2-5]\d\d$/.test(part.trim()) ? Number(part) : undefined
  })
  return responses.includes(undefined) ? undefined : (responses as [ScriptedResponse, ...ScriptedResponse[]])
}
