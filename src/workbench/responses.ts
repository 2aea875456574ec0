/** A response of `--respond`: a status, or none. */
export type ScriptedResponse = number | 'timeout'

/** Returns the responses in their order; the last one repeats. */
export function scriptedResponses(
  responses: readonly [ScriptedResponse, ...ScriptedResponse[]],
): () => ScriptedResponse {
  let at = 0
  return () => responses[Math.min(at++, responses.length - 1)] as ScriptedResponse
}

/** Parses `200,500,timeout`; undefined if the list is malformed. */
export function parseScript(text: string): readonly [ScriptedResponse, ...ScriptedResponse[]] | undefined {
  const responses = text.split(',').map((it): ScriptedResponse | undefined => {
    if (it.trim() === 'timeout') return 'timeout'
    return /^[2-5]\d\d$/.test(it.trim()) ? Number(it) : undefined
  })
  return responses.includes(undefined) ? undefined : (responses as [ScriptedResponse, ...ScriptedResponse[]])
}
