/** An answer of `--respond`: a status, or none at all. */
export type ScriptedAnswer = number | 'timeout'

/** Answers in their order; the last one stays. */
export function scripted(answers: readonly [ScriptedAnswer, ...ScriptedAnswer[]]): () => ScriptedAnswer {
  let at = 0
  return () => answers[Math.min(at++, answers.length - 1)] as ScriptedAnswer
}

/** `200,500,timeout`; undefined when it is no such list. */
export function parseScript(text: string): readonly [ScriptedAnswer, ...ScriptedAnswer[]] | undefined {
  const answers = text.split(',').map((it): ScriptedAnswer | undefined => {
    if (it.trim() === 'timeout') return 'timeout'
    return /^[2-5]\d\d$/.test(it.trim()) ? Number(it) : undefined
  })
  return answers.includes(undefined) ? undefined : (answers as [ScriptedAnswer, ...ScriptedAnswer[]])
}
