// Writes what a release offers into an empty folder: `node .ci/artefacts.js FOLDER`. The package is built twice,
// each time from nothing, and must have the same bytes.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { sectionOf } from './changelog.js'
import { sbomOf } from './sbom.js'

const folder = resolve(process.argv[2])
process.chdir(fileURLToPath(new URL('..', import.meta.url)))
const read = (path) => fs.readFileSync(path, 'utf8')
const manifest = JSON.parse(read('package.json'))
const { name, version } = manifest
const tarball = `${name}-${version}.tgz`

function pack() {
  const to = fs.mkdtempSync(join(tmpdir(), 'voucherctl-pack-'))
  try {
    fs.rmSync('dist', { recursive: true, force: true })
    execFileSync(process.execPath, ['src/build/build.js'], { stdio: ['ignore', 2, 2] })
    const args = ['pack', '--silent', '--ignore-scripts', '--offline', '--pack-destination', to]
    execFileSync('npm', args, { stdio: ['ignore', 'ignore', 2] })
    return fs.readFileSync(join(to, tarball))
  } finally {
    fs.rmSync(to, { recursive: true, force: true })
  }
}

const packed = pack()
if (!pack().equals(packed)) throw new Error(`Two builds of ${tarball} differ`)
const { packages } = JSON.parse(read('dist/build.json'))
const sbom = sbomOf(manifest, JSON.parse(read('package-lock.json')).packages, packages)
const notes = `# ${name} ${version}

${sectionOf(read('CHANGELOG.md'), version)}

## Check and install

\`\`\`sh
sha256sum --check SHA256SUMS
npm install --global --prefix ~/.local ./${tarball}
~/.local/bin/${name} quickstart
\`\`\`

On macOS, the first line is \`shasum -a 256 --check SHA256SUMS\`. \`${name}-${version}.cdx.json\` lists the packages in it (CycloneDX), \`THIRD-PARTY-LICENSES\` has their licences.
`
const files = {
  [tarball]: packed,
  [`${name}-${version}.cdx.json`]: `${JSON.stringify(sbom, null, 2)}\n`,
  'THIRD-PARTY-LICENSES': read('dist/THIRD-PARTY-LICENSES'),
  'NOTES.txt': notes,
}
const sums = Object.entries(files).map(([it, bytes]) => `${createHash('sha256').update(bytes).digest('hex')}  ${it}\n`)
fs.mkdirSync(folder, { recursive: true })
if (fs.readdirSync(folder).length > 0) throw new Error(`${folder} is not empty`)
for (const [file, bytes] of Object.entries({ ...files, SHA256SUMS: sums.join('') }))
  fs.writeFileSync(join(folder, file), bytes)
