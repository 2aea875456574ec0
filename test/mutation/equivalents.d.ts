/** Changes of one line that no test can notice; see equivalents.js. */
export interface Equivalent {
  readonly from: string
  readonly to: string | readonly string[]
  readonly reason: string
}
export const equivalents: Readonly<Record<string, readonly Equivalent[]>>
