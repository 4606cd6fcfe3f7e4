import { checkBroadWatches } from '../../config/lint/reach.ts'
import { shownOf } from '../../config/load.ts'
import type { Problem } from '../../config/problem.ts'
import { STANDARD_INPUT } from '../../config/read-text.ts'
import type { Config } from '../../config/schema.ts'
import { allSinks } from '../../sink-types.ts'
import { counted } from '../../text/quantities.ts'
import { testsIn, unknownNames } from '../dry-run/test-files.ts'
import { missingToShare } from '../environment.ts'
import {
  type Configuration,
  configurationFile,
  type PluginOptions,
  pluginsOff,
  readConfiguration,
} from '../load-config/configuration.ts'
import { PLACEHOLDER } from '../load-config/placeholder-secrets.ts'
import { showProblems } from '../load-config/read-configuration.ts'
import type { OutputOptions } from '../output/format.ts'
import { BadConfiguration, UsageError } from '../usage-error.ts'
import { type Asked, CheckReport, withoutAbsent } from './check-report.ts'

interface CheckOptions extends PluginOptions, OutputOptions {
  config?: string
  context?: string
  offline?: boolean
  /** Warnings are failures. */
  strict?: boolean
}

/**
 * Reports all problems of the configuration; unless offline also whether the cluster has the kinds and grants the permissions, whether
 * deliveries to the sinks could succeed, and whether Redis permits a start.
 */
export async function check(options: CheckOptions): Promise<number> {
  const report = new CheckReport(options.output)
  const named = configurationFile(options.config)
  const name = named === '-' ? STANDARD_INPUT : (named ?? 'the built-in starter')
  const standIn = options.offline ? PLACEHOLDER : undefined
  let configuration: Configuration
  try {
    configuration = await readConfiguration(named, allSinks, undefined, pluginsOff(options), standIn)
  } catch (error) {
    if (report.isData) return unread(error, name, options, report)
    return checkWithoutAbsent(error, name, options.strict)
  }
  try {
    return await checkRead(configuration, name, options, report)
  } catch (error) {
    if (!report.isData) throw error
    report.add('error', (error as Error).message)
    const exitCode = error instanceof UsageError ? 2 : 1
    return report.end({ file: name, exitCode, absent: [] })
  }
}

async function checkRead(
  configuration: Configuration,
  name: string,
  options: CheckOptions,
  report: CheckReport,
): Promise<number> {
  const { config, warnings } = configuration
  report.addProblems(warnings, configuration.shownWarnings)
  const wide = shownOf(checkBroadWatches(configuration.document), configuration.document)
  report.addProblems(wide, showProblems(wide, configuration.texts))
  const tests = shownOf(testProblems(configuration), configuration.document)
  report.addProblems(tests, showProblems(tests, configuration.texts))
  // Loaded late: it is most of the program, and CI does not need it.
  const asked = options.offline
    ? NOT_ASKED
    : await (await import('./check-outside.ts')).ask(configuration, options, report)
  const { cluster, notAsked } = asked
  const counts = {
    watch: config.watch.length,
    sinks: Object.keys(config.written?.['sinks'] ?? {}).length,
    rules: config.rules.length,
  }
  const exitCode = report.errors > 0 ? 2 : options.strict && report.warnings > 0 ? 1 : 0
  if (report.errors > 0) report.print(`${name} has ${counted(report.errors, 'problem')}\n`)
  else {
    report.print(`${verdict(name, report.warnings)}: ${describeCounts(counts)}\n`)
    report.print(describeAbsent(warnings) + describeMissing(config))
    if (notAsked) report.print(`(the cluster was not asked whether the kinds exist: ${notAsked})\n`)
  }
  const absent = warnings.filter((it) => it.absent).map(withoutAbsent)
  return report.end({
    file: name,
    exitCode,
    absent,
    counts,
    ...(cluster && { cluster }),
    ...(notAsked !== undefined && { notAsked }),
  })
}

/** The report, as data, of a configuration with errors. */
function unread(error: unknown, file: string, { strict }: CheckOptions, report: CheckReport): number {
  if (!(error instanceof UsageError)) throw error
  if (!(error instanceof BadConfiguration)) {
    report.add('error', error.message)
    return report.end({ file, exitCode: 2, absent: [] })
  }
  const { problems } = error
  report.addProblems(problems, '')
  const absent = problems.filter((it) => it.absent).map(withoutAbsent)
  const isOnlyAbsent = absent.length > 0 && report.errors === 0
  const exitCode = isOnlyAbsent ? (strict && report.warnings > 0 ? 1 : 0) : 2
  return report.end({ file, exitCode, absent })
}

/** The problems of the tests under `tests:`; `kubeherald test` runs them. */
function testProblems({ document, config }: Configuration): readonly Problem[] {
  const { cases, problems } = testsIn(document)
  return [...problems, ...unknownNames(cases, config)]
}

const NOT_ASKED: Asked = { notAsked: '--offline' }

function verdict(name: string, warnings: number): string {
  return warnings === 0 ? `${name} is good` : `${name} is good, with ${counted(warnings, 'warning')}`
}

function describeCounts({ watch, sinks, rules }: { watch: number; sinks: number; rules: number }): string {
  const watched = counted(watch, 'watch entry', 'watch entries')
  return [watched, counted(sinks, 'sink'), counted(rules, 'rule')].join(', ')
}

/** Not an error: the Helm chart adds these keys. */
function describeMissing(config: Config): string {
  const missing = config.leases ? missingToShare(config) : []
  if (missing.length === 0) return ''
  return `(a start needs more, for "leases" shares its work with other processes: ${missing.join(', ')})\n`
}

/** Lists the missing variables and files that a configuration refers to. */
function describeAbsent(problems: readonly Problem[]): string {
  return problems
    .filter(({ absent }) => absent)
    .map((it) => `(not looked at: ${inOneLine(it)})\n`)
    .join('')
}

/** Reports a configuration whose only errors are missing variables or files, and returns the exit code. Throws other errors. */
function checkWithoutAbsent(error: unknown, file: string, strict = false): number {
  if (!(error instanceof BadConfiguration)) throw error
  const { problems } = error
  if (!problems.some(({ absent }) => absent) || problems.some((it) => it.severity === 'error')) throw error
  const warnings = problems.filter(({ absent }) => !absent)
  const lines = warnings.map((it) => `warning: ${inOneLine(it)}\n`)
  process.stdout.write(
    `${lines.join('')}${file} is good, as far as it can be read here\n${describeAbsent(problems)}`,
  )
  return strict && warnings.length > 0 ? 1 : 0
}

function inOneLine({ file, line, column, message }: Problem): string {
  return `${file}:${line}:${column}: ${message}`
}
