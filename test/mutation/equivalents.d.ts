/** Changes of one line that no test can notice; see equivalents.txt. */
export interface Equivalent {
  readonly from: string
  readonly to: readonly string[]
  readonly reason: string
}
export const equivalents: Readonly<Record<string, readonly Equivalent[]>>
