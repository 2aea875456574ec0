const UNRELEASED = 'Unreleased'

/** The lines of a section of CHANGELOG.md, without its heading; an empty text if it has none. */
export function sectionOf(changelog, name) {
  const section = changelog.split(/^## /m).find((it) => it.split(/\s/, 1)[0] === name)
  return section?.slice(section.indexOf('\n')).trim() ?? ''
}

/** Makes the lines of "Unreleased" those of a version; an empty text if there are none. */
export const released = (changelog, version, day) =>
  sectionOf(changelog, UNRELEASED) && changelog.replace(/^## Unreleased$/m, `## Unreleased\n\n## ${version} (${day})`)
