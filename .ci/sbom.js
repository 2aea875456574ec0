// Describes the packages of the bundle as a software bill of materials, in CycloneDX 1.6. Without a time and a serial
// number, so that the same bundle has the same description.
const LICENCE_ID = /^[\w.+-]+$/

const licencesOf = (license) => [LICENCE_ID.test(license) ? { license: { id: license } } : { expression: license }]
const purlOf = ({ name, version }) => `pkg:npm/${name.replace('@', '%40')}@${version}`

/** The checksum of a package as the lock file has it. */
function hashesOf({ name, version, purl }, locked) {
  const entry = Object.entries(locked).find(
    ([path, it]) => path.endsWith(`node_modules/${name}`) && it.version === version,
  )
  if (entry === undefined && purl === undefined) throw new Error(`${name} ${version} is not in package-lock.json`)
  const [, hash] = entry?.[1].integrity?.split('sha512-') ?? []
  return hash === undefined
    ? {}
    : { hashes: [{ alg: 'SHA-512', content: Buffer.from(hash, 'base64').toString('hex') }] }
}

/**
 * @param manifest content of package.json
 * @param locked entries of package-lock.json
 * @param packages what the build bundled
 */
export function sbomOf(manifest, locked, packages) {
  const describe = (it, scope) => ({
    type: 'library',
    'bom-ref': it.purl ?? purlOf(it),
    name: it.name,
    version: it.version,
    scope,
    ...hashesOf(it, locked),
    licenses: licencesOf(it.license),
    purl: it.purl ?? purlOf(it),
  })
  const installed = Object.entries(manifest.optionalDependencies ?? {}).map(([name, version]) =>
    describe({ name, version, license: locked[`node_modules/${name}`].license }, 'optional'),
  )
  const components = [...packages.map((it) => describe(it, 'required')), ...installed]
  const ref = purlOf(manifest)
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      component: {
        type: 'application',
        'bom-ref': ref,
        name: manifest.name,
        version: manifest.version,
        licenses: licencesOf(manifest.license),
        purl: ref,
      },
    },
    components,
    dependencies: [{ ref, dependsOn: components.map((it) => it['bom-ref']) }],
  }
}
