/** A candidate for completion or a prompt, with its summary. */
export interface Word {
  readonly value: string
  readonly summary: string
}
