import { checkWidth } from '../../config/check-width.ts'
import { shownOf } from '../../config/load.ts'
import type { Problem } from '../../config/problem.ts'
import { STANDARD_INPUT } from '../../config/read-text.ts'
import type { Config } from '../../config/schema.ts'
import { testsIn } from '../../dry-run/test-case.ts'
import { unknownNames } from '../../dry-run/test-file.ts'
import { builtInSinks } from '../../sink-types.ts'
import {
  type Configuration,
  configurationFile,
  type PluginOptions,
  pluginsOff,
  readConfiguration,
} from '../reading/configuration.ts'
import { showProblems } from '../reading/shown-problems.ts'
import { missingToShare } from '../sharing.ts'
import { counted } from '../table.ts'
import { BadConfiguration, UsageError } from '../usage-error.ts'
import { checkWithoutAbsent, describeAbsent, STAND_IN } from './check-absent.ts'
import { type Asked, CheckReport, withoutAbsent } from './check-report.ts'

export interface CheckOptions extends PluginOptions {
  config?: string
  context?: string
  offline?: boolean
  /** Warnings are failures. */
  strict?: boolean
  /** For machines. */
  json?: boolean
}

/**
 * Tells everything that is wrong with the configuration; asks the cluster, when there is one, whether the kinds exist and
 * may be read, the sinks whether deliveries could succeed, and Redis whether a start would take it.
 */
export async function check(options: CheckOptions): Promise<number> {
  const report = new CheckReport(options.json === true)
  const named = configurationFile(options.config)
  const name = named === '-' ? STANDARD_INPUT : (named ?? 'the built-in starter')
  const standIn = options.offline ? STAND_IN : undefined
  let configuration: Configuration
  try {
    configuration = await readConfiguration(named, builtInSinks, undefined, pluginsOff(options), standIn)
  } catch (error) {
    if (report.isJson) return unread(error, name, options, report)
    return checkWithoutAbsent(error, name, options.strict)
  }
  try {
    return await checkRead(configuration, name, options, report)
  } catch (error) {
    if (!report.isJson) throw error
    report.tell('error', (error as Error).message)
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
  report.tellProblems(warnings, configuration.shownWarnings)
  const wide = shownOf(checkWidth(configuration.document), configuration.document)
  report.tellProblems(wide, showProblems(wide, configuration.texts))
  const tests = shownOf(testProblems(configuration), configuration.document)
  report.tellProblems(tests, showProblems(tests, configuration.texts))
  // Only now: what asks is most of the program, and CI does without.
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
  if (report.errors > 0) report.say(`${name} has ${counted(report.errors, 'problem')}\n`)
  else {
    report.say(`${verdict(name, report.warnings)}: ${describeCounts(counts)}\n`)
    report.say(describeAbsent(warnings) + describeMissing(config))
    if (notAsked) report.say(`(the cluster was not asked whether the kinds exist: ${notAsked})\n`)
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

/** For machines: what is wrong with a configuration that cannot be used. */
function unread(error: unknown, file: string, { strict }: CheckOptions, report: CheckReport): number {
  if (!(error instanceof UsageError)) throw error
  if (!(error instanceof BadConfiguration)) {
    report.tell('error', error.message)
    return report.end({ file, exitCode: 2, absent: [] })
  }
  const { problems } = error
  report.tellProblems(problems, '')
  const absent = problems.filter((it) => it.absent).map(withoutAbsent)
  const isOnlyAbsent = absent.length > 0 && report.errors === 0
  const exitCode = isOnlyAbsent ? (strict && report.warnings > 0 ? 1 : 0) : 2
  return report.end({ file, exitCode, absent })
}

/** What is wrong with the tests under `tests:`; whether they hold, `kubeherald test` says. */
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

/** Not counted: the chart has it beside what is checked here. */
function describeMissing(config: Config): string {
  const missing = config.leases ? missingToShare(config) : []
  if (missing.length === 0) return ''
  return `(a start needs more, for "leases" shares its work with other processes: ${missing.join(', ')})\n`
}
