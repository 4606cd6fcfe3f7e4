import type { SchemaIssue, SinkType } from '../sink/index.ts'
import { crossCheck } from './cross-check.ts'
import { type ConfigDocument, type Interpolation, readDocument } from './document.ts'
import { problemsOf } from './issues.ts'
import type { Problem } from './problem.ts'
import { type Config, ConfigFile, type SinkConfig } from './schema.ts'
import { suggestion } from './suggest.ts'

export interface LoadOptions extends Interpolation {
  /** How the file is called in problems. */
  file: string
  text: string
  /** Loads a sink type by its name; a configuration loads only those that it names. */
  sinkTypes: Readonly<Record<string, () => Promise<SinkType>>>
}

export type Loaded = { ok: true; config: Config; warnings: Problem[] } | { ok: false; problems: Problem[] }

/** Reads and checks a configuration: everything that is wrong with it at once, or a configuration that can be trusted. */
export async function loadConfig(options: LoadOptions): Promise<Loaded> {
  const document = readDocument(options.file, options.text, options)
  const { value } = document
  if (document.problems.length > 0) return { ok: false, problems: document.problems }
  const parsed = ConfigFile.safeParse(value ?? {})
  const problems = parsed.success
    ? crossCheck(parsed.data, document)
    : problemsOf(document, parsed.error.issues, ConfigFile, [])
  const sinks = await checkSinks(value, options, document, problems)
  const errors = problems.filter(({ severity }) => severity === 'error')
  if (!parsed.success || errors.length > 0) return { ok: false, problems }
  return { ok: true, config: { ...parsed.data, sinks }, warnings: problems }
}

/** Checked even when other parts are wrong, so that nothing has to be found out in a second round. */
async function checkSinks(
  value: unknown,
  options: LoadOptions,
  document: ConfigDocument,
  problems: Problem[],
): Promise<SinkConfig[]> {
  const sinks = (value as { sinks?: unknown } | null)?.sinks
  if (typeof sinks !== 'object' || sinks === null) return []
  const checked: SinkConfig[] = []
  for (const [name, section] of Object.entries(sinks)) {
    if (typeof section !== 'object' || section === null || typeof section.type !== 'string') continue
    const sink = await checkSink(name, section as { type: string }, options, document, problems)
    if (sink) checked.push(sink)
  }
  return checked
}

async function checkSink(
  name: string,
  { type, ...section }: { type: string },
  { sinkTypes }: LoadOptions,
  document: ConfigDocument,
  problems: Problem[],
): Promise<SinkConfig | undefined> {
  const load = Object.hasOwn(sinkTypes, type) ? sinkTypes[type] : undefined
  if (!load) {
    problems.push(
      document.problem(
        ['sinks', name, 'type'],
        `there is no sink type "${type}"${suggestion(type, Object.keys(sinkTypes))}`,
      ),
    )
    return undefined
  }
  const { config } = await load()
  const result = (await config['~standard'].validate(section)) as {
    value?: unknown
    issues?: readonly SchemaIssue[]
  }
  if (!result.issues) return { name, type, options: result.value }
  problems.push(...problemsOf(document, result.issues, config, ['sinks', name]))
  return undefined
}
