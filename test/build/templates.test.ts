import { expect, test } from 'vitest'
import { compileTemplates } from '../../src/build/templates.js'

const compiled = (template: string) => compileTemplates(template).replace("import { h as element } from 'preact'\n", '')

test.each([
  ['html`<p>a → ${b as string}</p>`', 'element("p", null, "a → ", b as string)'],
  [
    'html`<a href=${to} hidden class="x">\n  b\n</a>`',
    'element("a", { "href": to, "hidden": true, "class": "x" }, "b")',
  ],
  ['html`<${Row} key=${k} />`', 'element(Row, { "key": k })'],
  ['html`<${Row}>é<//><i></i>`', '[element(Row, null, "é"), element("i", null)]'],
  [
    'html`<ul>${xs.map((it) => html`<li>${it}</li>`)}</ul>`',
    'element("ul", null, xs.map((it) => element("li", null, it)))',
  ],
  ['html`<${Row} ...${it} b />`', 'element(Row, { ...it, "b": true })'],
  ['f(html`<b></b>`, html`<i></i>`)', 'f(element("b", null), element("i", null))'],
])('template %j becomes %j', (template, expected) => {
  expect(compiled(template)).toBe(expected)
})

test('module without templates stays as it is', () => {
  expect(compileTemplates('const a: string = `<p>`')).toBe('const a: string = `<p>`')
})

test('template that joins text and an expression in an attribute is refused', () => {
  expect(() => compileTemplates('html`<p class="a ${b}"></p>`')).toThrow('must not join')
})
