// Generates the JSON Schemas of template and scenario files from the schemas of the contract.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'rolldown'

const input = fileURLToPath(new URL('../cli/schemas/file-schemas.ts', import.meta.url))

/** Writes the schemas to the folder `schemas` of `outdir`. */
export async function writeSchemas(outdir) {
  const { output } = await build({ input, platform: 'node', write: false })
  const [{ code }] = output
  const { fileSchemas } = await import(`data:text/javascript,${encodeURIComponent(code)}`)
  const folder = join(outdir, 'schemas')
  mkdirSync(folder, { recursive: true })
  for (const [name, schema] of Object.entries(fileSchemas))
    writeFileSync(join(folder, name), `${JSON.stringify(schema, withoutOwnKeywords)}\n`)
}

/** Drops the keywords of the contract that JSON Schema does not have; `x-expected` becomes a description. */
function withoutOwnKeywords(_name, value) {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const { 'x-expected': expected, 'x-openapi': _openapi, ...rest } = value
  return expected === undefined ? rest : { description: expected, ...rest }
}
