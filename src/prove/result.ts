export type Weight = 'money' | 'secrets' | 'manners'

export interface Finding {
  /** Name of the row of the judge, such as `goods_given_away`. */
  readonly finding: string
  readonly weight: Weight
  readonly variants: readonly string[]
  readonly sentence: string
  readonly timeline: readonly {
    readonly at_ms: number
    readonly who: 'program' | 'call' | 'delivery' | 'prove'
    readonly text: string
  }[]
  /** The variant that shows it again, for `--only`. */
  readonly only: string
  readonly cure: string
}

export interface ProveReport {
  readonly runs: {
    readonly undisturbed: number
    readonly variants: number
    readonly held: number
    readonly no_effect: number
    readonly not_run: number
  }
  readonly calls: readonly { readonly call: string; readonly status: number }[]
  readonly deliveries: readonly { readonly delivery: string; readonly type: string }[]
  /** Result of each variant: `held`, `no effect`, `not judged`, `not run`, or the names of findings. */
  readonly results: readonly { readonly variant: string; readonly result: string; readonly duration_ms: number }[]
  /** In the order of their weight. */
  readonly findings: readonly Finding[]
  readonly remarks: readonly string[]
  readonly not_proved: readonly string[]
}
