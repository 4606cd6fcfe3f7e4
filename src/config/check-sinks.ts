import type { SchemaIssue, SinkType } from '../sink/index.ts'
import type { ConfigDocument, Path } from './document.ts'
import { problemsOf } from './issues.ts'
import type { Problem } from './problem.ts'
import type { SinkConfig } from './schema.ts'
import { nearest, suggest } from './suggest.ts'

export type SinkTypes = Readonly<Record<string, () => Promise<SinkType>>>

/** The types of the sinks whose type is known, by the sinks' names. */
export async function loadTypes(
  document: ConfigDocument,
  sinkTypes: SinkTypes,
): Promise<ReadonlyMap<string, SinkType>> {
  const types = new Map<string, SinkType>()
  for (const [name, { value }] of document.at(['sinks'])?.entries ?? []) {
    const type = value.entries?.get('type')?.value.value
    const load = typeof type === 'string' && Object.hasOwn(sinkTypes, type) ? sinkTypes[type] : undefined
    if (load) types.set(name, await load())
  }
  return types
}

/** Checked even when other parts are wrong, so that nothing is left for a second round. */
export async function checkSinks(
  document: ConfigDocument,
  types: ReadonlyMap<string, SinkType>,
  { known, pluginsFailed }: { known: readonly string[]; pluginsFailed: boolean },
): Promise<{ sinks: SinkConfig[]; problems: Problem[] }> {
  const sinks: SinkConfig[] = []
  const problems: Problem[] = []
  for (const [name, { value }] of document.at(['sinks'])?.entries ?? []) {
    const section = value.value as Record<string, unknown> | null
    if (!value.entries || typeof section?.['type'] !== 'string') continue
    const { type } = section as { type: string }
    const sinkType = types.get(name)
    if (!sinkType) {
      // It may be that of a plug-in that could not be loaded, which is told already.
      if (!pluginsFailed || nearest(type, known)) problems.push(unknownType(document, name, type, known))
      continue
    }
    const result = await readSink(name, sinkType, section)
    const subject = {
      document,
      schema: sinkType.config,
      prefix: ['sinks', name],
      alsoKnown: ['type', 'messages', 'queue'],
    }
    if ('issues' in result) problems.push(...problemsOf(subject, result.issues))
    else sinks.push(result.sink)
    if (isRetired(section['url'])) problems.push(retired(document, ['sinks', name, 'url']))
  }
  return { sinks, problems }
}

/** Connectors of Office 365 in Teams, which Microsoft has turned off. */
function isRetired(url: unknown): boolean {
  if (typeof url !== 'string' || !URL.canParse(url)) return false
  const { hostname, pathname } = new URL(url)
  return (
    hostname.endsWith('.webhook.office.com') ||
    (hostname === 'outlook.office.com' && /^\/webhook\//.test(pathname))
  )
}

function retired(document: ConfigDocument, path: Path): Problem {
  return document.problem(path, 'Microsoft has retired such connectors of Teams: nothing arrives any more', {
    severity: 'warning',
    hint: 'in the channel of Teams add the workflow "Post to a channel when a webhook request is received", and write its URL here, with preset: teams',
  })
}

/** A sink's section as its type reads it. */
export async function readSink(
  name: string,
  { config }: SinkType,
  section: Readonly<Record<string, unknown>>,
): Promise<{ sink: SinkConfig } | { issues: readonly SchemaIssue[] }> {
  const { type, messages: _m, queue: _q, ...options } = section as Record<string, unknown> & { type: string }
  const result = (await config['~standard'].validate(options)) as {
    value?: unknown
    issues?: readonly SchemaIssue[]
  }
  if (result.issues) return { issues: result.issues }
  return { sink: { name, type, options: result.value, source: JSON.stringify({ type, ...options }) } }
}

function unknownType(
  document: ConfigDocument,
  name: string,
  type: string,
  known: readonly string[],
): Problem {
  const path = ['sinks', name, 'type']
  const written = document.at(path)?.written
  if (written !== undefined) return document.problem(path, `what ${written} stands for is no sink type`)
  return document.problem(path, `there is no sink type "${type}"`, { hint: typeHint(type, known) })
}

/** Services that the webhook sink writes to: its presets, by what people call them. */
const PRESETS: Readonly<Record<string, string>> = {
  teams: 'teams',
  msteams: 'teams',
  'ms-teams': 'teams',
  'microsoft-teams': 'teams',
  discord: 'discord',
  pagerduty: 'pagerduty',
  mattermost: 'mattermost',
  'google-chat': 'google-chat',
  googlechat: 'google-chat',
  gchat: 'google-chat',
  alertmanager: 'alertmanager',
}

function typeHint(type: string, known: readonly string[]): string {
  const word = type.toLowerCase().replaceAll('_', '-')
  const preset = Object.hasOwn(PRESETS, word) ? PRESETS[word] : undefined
  if (preset !== undefined && known.includes('webhook')) return `write type: webhook and preset: ${preset}`
  const hint = suggest(type, known, 'there are')
  if (nearest(type, known) !== undefined && hint !== undefined) return hint
  return [...(hint === undefined ? [] : [hint]), 'others come by plug-ins, which plugins: names'].join('; ')
}
