/** One series of a scrape. */
export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface Family {
  readonly name: string
  readonly type: string
  readonly help: string
  readonly samples: readonly Sample[]
}

const TYPES = ['counter', 'gauge', 'histogram', 'summary', 'untyped']
const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*/
const LABEL = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|(?=\}))/
const VALUE = /^(?:NaN|[+-]Inf|[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)$/

/**
 * Parses the text format 0.0.4 of Prometheus, and checks the rules of `promtool check metrics`.
 * @throws Error that names the line, or the family with the rule that it breaks
 */
export function parseExposition(text: string): readonly Family[] {
  if (!text.endsWith('\n')) throw new Error('the last line has no line feed')
  const families = new Map<string, { help?: string; type?: string; samples: Sample[] }>()
  let current = ''
  for (const line of text.slice(0, -1).split('\n')) {
    const refuse = (rule: string): never => {
      throw new Error(`${rule}: ${line}`)
    }
    if (line === '') continue
    const comment = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line)
    if (line.startsWith('#') && comment === null) refuse('a comment must be HELP or TYPE')
    const sample = comment === null ? sampleOf(line, refuse) : undefined
    const name = comment?.[2] ?? familyOf((sample as Sample).name, families.get(current)?.type, current)
    if (name !== current && families.has(name)) refuse('the lines of a family must be together')
    current = name
    const family = families.get(name) ?? { samples: [] }
    families.set(name, family)
    if (sample !== undefined) {
      if (family.type === undefined) refuse('TYPE must precede the samples')
      family.samples.push(sample)
      continue
    }
    const [, kind, , rest = ''] = comment as RegExpExecArray
    if (NAME.exec(name)?.[0] !== name) refuse('invalid name')
    if (family.samples.length > 0) refuse('HELP and TYPE must precede the samples')
    if (kind === 'HELP') {
      if (family.help !== undefined) refuse('a family has one HELP')
      if (/\\(?![\\n])|\\$/.test(rest.replaceAll('\\\\', ''))) refuse('invalid escape')
      family.help = rest
    } else {
      if (family.type !== undefined) refuse('a family has one TYPE')
      if (!TYPES.includes(rest)) refuse('unknown type')
      family.type = rest
    }
  }
  const found = [...families].map(([name, { help = '', type = 'untyped', samples }]) => ({ name, help, type, samples }))
  for (const family of found) {
    const broken = ruleBrokenBy(family)
    if (broken !== undefined) throw new Error(`${family.name}: ${broken}`)
  }
  return found
}

function sampleOf(line: string, refuse: (rule: string) => never): Sample {
  const name = NAME.exec(line)?.[0] ?? refuse('invalid name')
  let rest = line.slice(name.length)
  const labels: Record<string, string> = {}
  if (rest.startsWith('{')) {
    rest = rest.slice(1)
    while (!rest.startsWith('}')) {
      const [all, label, escaped] = LABEL.exec(rest) ?? refuse('invalid label')
      if (Object.hasOwn(labels, label as string)) refuse('duplicate label')
      labels[label as string] = (escaped as string).replaceAll(/\\(.)/g, (_, it) => (it === 'n' ? '\n' : it))
      rest = rest.slice(all.length)
    }
    rest = rest.slice(1)
  }
  const [, value = '', timestamp] = /^ (\S+)(?: (-?\d+))?$/.exec(rest) ?? refuse('invalid value')
  if (!VALUE.test(value)) refuse('invalid value')
  if (timestamp !== undefined) refuse('a timestamp hides that a series is stale')
  return { name, labels, value: Number(value.replace('Inf', 'Infinity')) }
}

/** Returns the family of a sample, which for histograms and summaries has another name. */
function familyOf(sample: string, type: string | undefined, current: string): string {
  const suffixes = type === 'histogram' ? '_(?:bucket|sum|count)' : type === 'summary' ? '(?:_sum|_count)?' : ''
  return new RegExp(`^${current}${suffixes}$`).test(sample) ? current : sample
}

const UNITS: Readonly<Record<string, readonly string[]>> = {
  seconds: ['minutes', 'hours', 'days', 'weeks'],
  celsius: ['kelvins', 'fahrenheit', 'rankine'],
  meters: ['inches', 'yards', 'miles'],
  bytes: ['bits'],
  joules: ['calories'],
  grams: ['pounds', 'ounces'],
}
const BASES = [...Object.keys(UNITS), 'amperes', 'kelvin', 'metres', 'moles', 'volts']
const PREFIX = /^(?:pico|nano|micro|milli|centi|deci|deca|hecto|kilo|kibi|mega|mibi|giga|gibi|tera|tebi|peta|pebi)/
const ABBREVIATIONS = ['s', 'ms', 'us', 'ns', 'sec', 'b', 'kb', 'mb', 'gb', 'tb', 'pb', 'm', 'h', 'd']

/** Returns the rule that a family breaks: those of promtool, and those of counters and histograms in a scrape. */
function ruleBrokenBy({ name, type, help, samples }: Family): string | undefined {
  const parts = name.split('_')
  const labels = new Set(samples.flatMap((it) => Object.keys(it.labels)))
  const isHistogram = type === 'histogram'
  const has = (suffix: string) => name.endsWith(suffix)
  if (help === '') return 'no help text'
  if ((type === 'counter') !== has('_total')) return 'counters, and only they, end in _total'
  if (!isHistogram && has('_bucket')) return 'only a histogram may end in _bucket'
  if (!isHistogram && type !== 'summary' && (has('_count') || has('_sum')))
    return 'a gauge may not end in _count or _sum'
  if (!isHistogram && labels.has('le')) return 'only a histogram has the label le'
  if (type !== 'summary' && labels.has('quantile')) return 'only a summary has the label quantile'
  if (parts.slice(1).includes(type)) return 'the name may not include the type'
  if (name.includes(':')) return 'colons are reserved for rules'
  if ([name, ...labels].some((it) => /[a-z][A-Z]/.test(it))) return 'names are in snake case'
  if (parts.slice(1).some((it) => ABBREVIATIONS.includes(it))) return 'units are not abbreviated'
  if (parts.some((it) => Object.values(UNITS).flat().includes(it))) return 'units are base units'
  if (parts.some((it) => PREFIX.test(it) && BASES.includes(it.replace(PREFIX, '')))) return 'units are base units'
  const series = samples.map((it) => seriesOf(it))
  if (new Set(series).size < series.length) return 'duplicate series'
  if (type === 'counter' && samples.some(({ value }) => !(value >= 0))) return 'a counter is not negative'
  return isHistogram ? ruleBrokenByHistogram(name, samples) : undefined
}

const seriesOf = ({ name, labels }: Sample, without?: string): string =>
  JSON.stringify([
    name,
    Object.entries(labels)
      .filter(([label]) => label !== without)
      .sort(),
  ])

function ruleBrokenByHistogram(name: string, samples: readonly Sample[]): string | undefined {
  const groups = new Map<string, Sample[]>()
  for (const it of samples) {
    const key = seriesOf({ ...it, name }, 'le')
    groups.set(key, [...(groups.get(key) ?? []), it])
  }
  for (const group of groups.values()) {
    if (group.some((it) => it.name === name)) return 'a histogram has only buckets, sum and count'
    const of = (suffix: string) => group.filter((it) => it.name === `${name}_${suffix}`)
    const buckets = of('bucket')
    const bounds = buckets.map(({ labels: { le = '' } }) =>
      VALUE.test(le) ? Number(le.replace('Inf', 'Infinity')) : NaN,
    )
    const rises = (values: readonly number[], least: number) =>
      values.every((it, index) => index === 0 || it - (values[index - 1] as number) >= least)
    if (bounds.some(Number.isNaN) || !rises(bounds, Number.MIN_VALUE)) return 'the bounds of buckets rise'
    if (bounds.at(-1) !== Number.POSITIVE_INFINITY) return 'the last bucket is +Inf'
    if (
      !rises(
        buckets.map(({ value }) => value),
        0,
      )
    )
      return 'buckets are cumulative'
    if (of('sum').length !== 1 || of('count').length !== 1) return 'a histogram has one sum and one count'
    if (of('count')[0]?.value !== buckets.at(-1)?.value) return 'the count equals the last bucket'
  }
  return undefined
}

/** Returns the value of the series that has these labels, among others; undefined without one. */
export function valueOf(
  families: readonly Family[],
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  const found = families
    .flatMap(({ samples }) => samples)
    .filter((it) => it.name === name && Object.entries(labels).every(([label, value]) => it.labels[label] === value))
  if (found.length > 1) throw new Error(`${name} has ${found.length} series with ${JSON.stringify(labels)}`)
  return found[0]?.value
}
