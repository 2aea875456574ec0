// Compiles the html templates of the page, so that neither their text nor htm has to be loaded (1 KB with gzip).
import htm from 'htm'
import { parseAst } from 'rolldown/parseAst'

const NO_HTM = '\0no-htm'

/** Plugin that replaces each template tagged `html` by calls of Preact's h. */
export const compiledTemplates = {
  name: 'compiled-templates',
  resolveId: (id) => (id === 'htm/preact' ? NO_HTM : undefined),
  load: (id) => (id === NO_HTM ? 'export const html = undefined' : undefined),
  transform: (code, id) => (/inspector[\\/]page[\\/].*\.ts$/.test(id) ? compileTemplates(code) : undefined),
}

/** Replaces the templates of a TypeScript module. */
export function compileTemplates(code) {
  const templates = templatesIn(parseAst(code, { lang: 'ts' }))
  return templates.length === 0
    ? code
    : `import { h as element } from 'preact'\n${compile(code, templates, 0, code.length)}`
}

/** Finds all tagged templates below a node, outer ones before inner ones. */
function templatesIn(node) {
  if (Array.isArray(node)) return node.flatMap(templatesIn)
  if (typeof node?.type !== 'string') return []
  const found = node.type === 'TaggedTemplateExpression' && node.tag.name === 'html' ? [node] : []
  return [...found, ...Object.values(node).flatMap(templatesIn)]
}

function compile(code, templates, start, end) {
  const inside = templates.filter((it) => it.start >= start && it.end <= end)
  const outer = inside.filter((it) => !inside.some((other) => other.start < it.start && it.end <= other.end))
  let at = start
  const parts = outer.map((it) => {
    const before = code.slice(at, it.start)
    at = it.end
    return before + compileTemplate(code, inside, it.quasi)
  })
  return parts.join('') + code.slice(at, end)
}

function compileTemplate(code, templates, { quasis, expressions }) {
  const values = expressions.map((it) => new Expression(compile(code, templates, it.start, it.end)))
  return show(
    element(
      quasis.map((it) => it.value.cooked),
      ...values,
    ),
  )
}

/** Source text in place of a value. htm copies the members of a value that it spreads: here one with the text as name. */
class Expression {
  #text
  constructor(text) {
    this.#text = text
    this[`...${text}`] = true
  }
  get text() {
    return this.#text
  }
  toString() {
    throw new TypeError(`A template must not join text and an expression: ${this.text}`)
  }
}

const element = htm.bind((...parts) => new Expression(`element(${parts.map(show).join(', ')})`))

function show(value) {
  if (value instanceof Expression) return value.text
  if (Array.isArray(value)) return `[${value.map(show).join(', ')}]`
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  const members = Object.entries(value).map(([name, it]) =>
    name.startsWith('...') ? name : `${JSON.stringify(name)}: ${show(it)}`,
  )
  return `{ ${members.join(', ')} }`
}
