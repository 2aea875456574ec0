import type { Context } from '../../command/context.js'
import { type Group, leaf } from '../../command/leaf.js'
import { updateConfig } from '../../config/config.js'
import { type Permission, type ProjectFile, permissionOf, type SkippedFile } from '../../config/project-file.js'
import { type Failure, fail } from '../../failures/failure.js'
import { plainLine, textOrJson } from '../../output/text.js'

interface ProjectReport {
  readonly path: string | null
  readonly base_url: string | null
  /** True if the user has allowed calls to base_url; null if the file names no server. */
  readonly allowed: boolean | null
  readonly reason: Permission['reason'] | 'no project file'
  readonly content: ProjectFile['members']
  readonly passed_over: readonly SkippedFile[]
}

const sentences: Readonly<Record<ProjectReport['reason'], (it: ProjectReport) => string>> = {
  'no project file': () => 'No voucherctl.json applies here.',
  'no server': (it) => `${it.path} names no server.`,
  'local server': (it) => `${it.path} may name ${it.base_url}: it is a running server of yours.`,
  'server of the profile': (it) => `${it.path} may name ${it.base_url}: your profile names the same server.`,
  allowed: (it) => `${it.path} may name ${it.base_url}: you allowed it.`,
  'changed since': (it) => `${it.path} may not name ${it.base_url}: it has changed since you allowed it.`,
  'not allowed': (it) => `${it.path} may not name ${it.base_url}: you have not allowed it.`,
}

const view = {
  headline: (it: ProjectReport) => sentences[it.reason](it),
  body: ({ content, passed_over: passedOver }: ProjectReport) =>
    [
      ...Object.entries(content).map(([name, value]) => plainLine(`${name}: ${textOrJson(value)}`)),
      ...passedOver.map(({ path, why }) => plainLine(`Ignored: ${path}. ${why}`)),
    ].join('\n'),
  next: (it: ProjectReport) => (it.allowed === false ? 'If you trust it: `voucherctl project allow`' : undefined),
}

/** Describes the project file. @param projects the list of allowed files, if this command has just changed them */
function show({ host, settings }: Context, projects = settings.config.projects): ProjectReport {
  const { project, passedOver, profile, config } = settings
  const none = { path: null, base_url: null, allowed: null, reason: 'no project file', content: {} } as const
  if (project === undefined) return { ...none, passed_over: passedOver }
  const { path, members } = project
  const permission = permissionOf(host, project, profile, { ...config, projects: projects ?? {} })
  const baseUrl = typeof members.base_url === 'string' ? members.base_url : null
  const allowed = baseUrl === null ? null : permission.allowed
  return { path, base_url: baseUrl, allowed, reason: permission.reason, content: members, passed_over: passedOver }
}

function find({ settings: { project, passedOver } }: Context): { ok: true; project: ProjectFile } | Failure {
  if (project !== undefined) return { ok: true, project }
  const reasons = passedOver.map(({ path, why }) => `${path} was ignored: ${why}`)
  const where = 'It is looked for from the working folder up to the root of the repository or your home folder.'
  return fail('PROJECT_FILE_NOT_FOUND', 'No voucherctl.json applies here.', reasons.join(' ') || where)
}

/** Allows or forbids the project file. A permission covers exactly the text that this command has read and shown. */
async function decide(context: Context, isAllowed: boolean) {
  const found = find(context)
  if (!found.ok) return found
  const { path, content, members } = found.project
  const server = members.base_url === undefined ? 'a server' : String(members.base_url)
  if (context.dryRun)
    return context.plan(isAllowed ? `let ${path} name ${server}` : `no longer let ${path} name a server`)
  let projects: Readonly<Record<string, string>> = {}
  const problem = await updateConfig(context.host, (config) => {
    const { [path]: _before, ...others } = config.projects ?? {}
    projects = isAllowed ? { ...others, [path]: content } : others
    return { ...config, projects }
  })
  return problem ?? { ok: true as const, data: show(context, projects) }
}

export const project: Group = {
  name: 'project',
  summary: "Whether this folder's voucherctl.json may name a server",
  commands: [
    leaf({
      name: 'show',
      summary: 'Show the project file that applies here, and whether it may name its server',
      examples: ['voucherctl project show', 'voucherctl project show --json'],
      view,
      run: async (context) => ({ ok: true, data: show(context) }),
    }),
    leaf({
      name: 'allow',
      summary: 'Let the project file name the server that credentials go to',
      notes: [
        'Somebody else may have written a voucherctl.json. No request, and no credential of a profile or the environment, goes to a server that only this file names until you allow it. The permission holds for the path and content: after a change it has to be allowed again.',
        'Not needed for a server that `voucherctl server list` shows, under exactly that address, or for that of your profile. `voucherctl project show` shows the file first.',
      ],
      examples: ['voucherctl project allow'],
      changes: true,
      view,
      run: (context) => decide(context, true),
    }),
    leaf({
      name: 'deny',
      summary: 'Take the permission back',
      examples: ['voucherctl project deny'],
      changes: true,
      view,
      run: (context) => decide(context, false),
    }),
  ],
}
